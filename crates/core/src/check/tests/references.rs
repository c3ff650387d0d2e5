//! The reference pass: paths that lead nowhere, and unknown names.

use super::fixture::CheckFixture;

const TOOLS: &str = r#"{
    "e": {},
    "rows": {"out": {"type": "object", "additionalProperties": false, "required": ["rows", "total"], "properties": {
        "rows": {"type": "array", "items": {"type": "object", "properties": {"id": {"type": "integer"}}}},
        "total": {"type": "integer"}}}},
    "open": {"out": {"type": "object", "properties": {"temp": {"type": "number"}}}}
}"#;

#[track_caller]
fn check(reference: &str, expected: &[&str]) {
    let text = format!(
        r#"{{"steps": [{{"id": "u", "tool": "rows"}}, {{"id": "o", "tool": "open"}}, {{"id": "each", "tool": "rows", "for_each": [1, 2]}}, {{"id": "s", "tool": "e", "args": {{"t": "{reference}"}}}}]}}"#
    );
    CheckFixture::with_tools(TOOLS).expect(&text, expected);
}

#[test]
fn paths_into_outputs() {
    check("${u.total}", &[]);
    check("${u.rows[0].id}", &[]);
    check("${u.rows[*].id}", &[]);
    check("${each[0].total}", &[]);
    check("${o.temp}", &[]);
    check(
        "${u.totl}",
        &[
            "PW0402 at /steps/3/args/t: `${u.totl}` leads nowhere: there is no field `totl` in the output of `u` (did you mean `total`?)",
        ],
    );
    check(
        "${u.nothing}",
        &[
            "PW0402 at /steps/3/args/t: `${u.nothing}` leads nowhere: there is no field `nothing` in the output of `u` (the fields are `rows`, `total`)",
        ],
    );
    check(
        "${u.rows[0].id.x}",
        &[
            "PW0402 at /steps/3/args/t: `${u.rows[0].id.x}` leads nowhere: there is no field `x` in `rows[0].id` in the output of `u` (`rows[0].id` in the output of `u` is an integer)",
        ],
    );
    check(
        "${u.total[*].x}",
        &[
            "PW0402 at /steps/3/args/t: `${u.total[*].x}` leads nowhere: there is no list to go through in `total` in the output of `u` (`total` in the output of `u` is an integer)",
        ],
    );
    check(
        "${u[0]}",
        &[
            "PW0402 at /steps/3/args/t: `${u[0]}` leads nowhere: there is no item 0 in the output of `u` (the output of `u` is an object)",
        ],
    );
    check(
        "${each.total}",
        &[
            "PW0402 at /steps/3/args/t: `${each.total}` leads nowhere: there is no field `total` in the output of `each` (`each` is a list: write `${each[*].total}` for this part of all items, `${each[0].total}` for the first one)",
        ],
    );
    check(
        "${o.tmep}",
        &[
            "?PW0406 at /steps/3/args/t: `${o.tmep}` reads the field `tmep` in the output of `o`, which the schema does not list (did you mean `temp`?)",
        ],
    );
    check(
        "${u.totl ?? 0}",
        &[
            "?PW0402 at /steps/3/args/t: `${u.totl ?? 0}` leads nowhere: there is no field `totl` in the output of `u` (did you mean `total`?)",
        ],
    );
    check(
        "${results.u.eror}",
        &[
            "PW0402 at /steps/3/args/t: `${results.u.eror}` leads nowhere: there is no field `eror` in the result of `u` (did you mean `error`?)",
        ],
    );
    check(
        "${u.total.0}",
        &[
            "PW0402 at /steps/3/args/t: `${u.total.0}` leads nowhere: there is no `0` in `total` in the output of `u` (`total` in the output of `u` is an integer)",
        ],
    );
    check(
        "${results.u.data.totl}",
        &[
            "PW0402 at /steps/3/args/t: `${results.u.data.totl}` leads nowhere: there is no field `totl` in `data` in the result of `u` (did you mean `total`?)",
        ],
    );
    check("${results.u.error.message}", &[]);
    check("${results.u.data.total}", &[]);
    check(
        "${u.totl + 1}",
        &[
            "PW0402 at /steps/3/args/t: `${u.totl + 1}` leads nowhere: there is no field `totl` in the output of `u` (did you mean `total`?)",
        ],
    );
}

#[test]
fn paths_into_values_that_are_known() {
    let fixture = CheckFixture::with_tools(TOOLS);
    fixture.expect(
        r#"{"variables": {"o": {"a": 1}}, "steps": [{"id": "s", "tool": "e", "args": {"v": "id=${inputs.o.zip}"}}]}"#,
        &["PW0402 at /steps/0/args/v: `${inputs.o.zip}` leads nowhere: there is no field `zip` in the input `o` (the only field is `a`)"],
    );
    fixture.expect(
        r#"{"steps": [{"id": "a", "value": {"x": "${u.total}", "y": 1}}, {"id": "u", "tool": "rows"}, {"id": "s", "tool": "e", "args": {"v": "${a.x}", "w": "${a.z}"}}]}"#,
        &["PW0402 at /steps/2/args/w: `${a.z}` leads nowhere: there is no field `z` in the output of `a` (the fields are `x`, `y`)"],
    );
    fixture.expect(
        r#"{"steps": [{"id": "u", "tool": "rows"}, {"id": "s", "for_each": "${u.rows}", "tool": "e", "args": {"v": "${item.id.x}", "i": "${index}"}}]}"#,
        &["PW0402 at /steps/1/args/v: `${item.id.x}` leads nowhere: there is no field `x` in `id` in `item` (`id` in `item` is an integer)"],
    );
}

#[test]
fn names_that_are_not_there() {
    let fixture = CheckFixture::with_tools(TOOLS);
    fixture.expect(
        r#"{"steps": [{"id": "s", "for_each": ["${item}"], "tool": "e", "args": {"a": "${last}"}}, {"id": "t", "tool": "e", "args": {"b": "${index}"}}], "output": {"x": "${item}"}}"#,
        &[
            "PW0404 at /steps/0/for_each/0: `${item}` refers to `item`, which does not exist here (`item` exists only in a step with `for_each`)",
            "PW0404 at /steps/0/args/a: `${last}` refers to `last`, which does not exist here (`last` exists only in a step with `repeat`)",
            "PW0404 at /steps/1/args/b: `${index}` refers to `index`, which does not exist here (`index` exists only in a step with `for_each` or `repeat`)",
            "PW0404 at /output/x: `${item}` refers to `item`, which does not exist here (`item` exists only in a step with `for_each`)",
        ],
    );
    fixture.expect(
        r#"{"steps": [{"id": "s", "tool": "e", "until": "${index > 2 && last.done}"}]}"#,
        &[],
    );
}

#[test]
fn missing_inputs_and_variables() {
    let fixture = CheckFixture::with_tools(TOOLS);
    fixture.expect(
        r#"{"inputs": {"city": {"default": "Oslo"}}, "steps": [{"id": "s", "tool": "e", "args": {"a": "${inputs.ctiy}", "b": "${inputs.city}", "c": "${vars.x}", "d": "${vars.x ?? 1}"}}]}"#,
        &[
            "PW0205 at /steps/0/args/a: `${inputs.ctiy}` refers to the input `ctiy`, which is not provided (did you mean `city`?)",
            "PW0205 at /steps/0/args/c: `${vars.x}` refers to the variable `x`, which is not provided (declare `x` among the plan's inputs)",
            "?PW0205 at /steps/0/args/d: `${vars.x ?? 1}` refers to the variable `x`, which is not provided (declare `x` among the plan's inputs)",
        ],
    );
    // A message may still provide the input.
    fixture.expect(
        r#"{"input": {"city": "Oslo"}, "steps": [{"id": "s", "tool": "e", "args": {"a": "${inputs.ctiy}", "b": "${inputs.city}"}}]}"#,
        &["?PW0205 at /steps/0/args/a: `${inputs.ctiy}` refers to the input `ctiy`, which is not provided (did you mean `city`?)"],
    );
    fixture.expect(
        r#"{"steps": [{"id": "s", "tool": "e", "writes": "vars.x"}, {"id": "t", "tool": "e", "args": {"a": "${vars.x}"}}]}"#,
        &[],
    );
    CheckFixture::with_tools(TOOLS)
        .inputs(r#"{"x": 1}"#)
        .expect(
            r#"{"steps": [{"id": "t", "tool": "e", "args": {"a": "${vars.x}"}}]}"#,
            &[],
        );
}

#[test]
fn self_references() {
    let fixture = CheckFixture::with_tools(TOOLS);
    let check = |step: &str, expected: &[&str]| {
        fixture.expect(
            &format!(r#"{{"steps": [{{"id": "u", "tool": "rows", {step}}}, {{"id": "o", "tool": "rows"}}]}}"#),
            expected,
        );
    };
    // A failed step has no output.
    check(r#""on_error": {"v": "${u.nope}"}"#, &[]);
    check(r#""on_error": {"v": "${results.u.data.nope}"}"#, &[]);
    check(
        r#""on_error": {"v": "${o.nope}"}"#,
        &[
            "PW0402 at /steps/0/on_error/v: `${o.nope}` leads nowhere: there is no field `nope` in the output of `o` (the fields are `rows`, `total`)",
        ],
    );
    // In `until`, the step reads the output of one round of one item.
    check(r#""until": "${u.total == 1}""#, &[]);
    check(
        r#""until": "${u.nope}""#,
        &[
            "PW0402 at /steps/0/until: `${u.nope}` leads nowhere: there is no field `nope` in the output of `u` (the fields are `rows`, `total`)",
        ],
    );
    check(
        r#""until": "${o.nope}""#,
        &[
            "PW0402 at /steps/0/until: `${o.nope}` leads nowhere: there is no field `nope` in the output of `o` (the fields are `rows`, `total`)",
        ],
    );
    check(r#""until": "${u.nope}", "for_each": [1]"#, &[]);
    check(
        r#""until": "${u.nope}", "on_error": {"v": "${u.nope}"}"#,
        &[
            "PW0402 at /steps/0/until: `${u.nope}` leads nowhere: there is no field `nope` in the output of `u` (the fields are `rows`, `total`)",
            "PW0402 at /steps/0/on_error/v: `${u.nope}` leads nowhere: there is no field `nope` in the output of `u` (the fields are `rows`, `total`)",
        ],
    );
}

#[test]
fn variables_that_have_bare_names() {
    let fixture = CheckFixture::with_tools(TOOLS);
    let check = |before: &str, steps: &str, expected: &[&str]| {
        fixture.expect(
            &format!(r#"{{{before} "steps": [{steps} {{"id": "s", "tool": "e", "args": {{"a": "${{inputs.ctiy}}"}}}}]}}"#),
            expected,
        );
    };
    let vars = r#"{"id": "w", "tool": "e", "writes": "vars.city"},"#;
    let state = r#"{"id": "w", "tool": "e", "writes": "state.city"},"#;
    check(
        "",
        "",
        &[
            "PW0205 at /steps/0/args/a: `${inputs.ctiy}` refers to the input `ctiy`, which is not provided (declare `ctiy` among the plan's inputs)",
        ],
    );
    check(
        "",
        vars,
        &[
            "PW0205 at /steps/1/args/a: `${inputs.ctiy}` refers to the variable `ctiy`, which is not provided (did you mean `city`?)",
        ],
    );
    check(
        "",
        state,
        &[
            "PW0205 at /steps/1/args/a: `${inputs.ctiy}` refers to the variable `ctiy`, which is not provided (declare `ctiy` among the plan's variables)",
        ],
    );
    check(
        r#""variables": {"city": 1},"#,
        "",
        &[
            "?PW0801 at /variables/city: the variable `city` is never read (remove it, or refer to it)",
            "PW0205 at /steps/0/args/a: `${inputs.ctiy}` refers to the variable `ctiy`, which is not provided (did you mean `city`?)",
        ],
    );
    check(
        r#""variables": {"town": 1},"#,
        state,
        &[
            "?PW0801 at /variables/town: the variable `town` is never read (remove it, or refer to it)",
            "PW0205 at /steps/1/args/a: `${inputs.ctiy}` refers to the variable `ctiy`, which is not provided (the only variable is `town`)",
        ],
    );
    check(
        r#""inputs": {"town": {"default": 1}},"#,
        vars,
        &[
            "?PW0801 at /inputs/town: the input `town` is never read (remove it, or refer to it)",
            "PW0205 at /steps/1/args/a: `${inputs.ctiy}` refers to the input `ctiy`, which is not provided (the only input is `town`)",
        ],
    );
    check(
        r#""input": {"town": 1},"#,
        vars,
        &[
            "?PW0205 at /steps/1/args/a: `${inputs.ctiy}` refers to the input `ctiy`, which is not provided (the only input is `town`)",
        ],
    );
    check(
        r#""inputs": {"town": {"default": 1}}, "input": {"city": 1},"#,
        "",
        &[
            "?PW0801 at /inputs/town: the input `town` is never read (remove it, or refer to it)",
            "PW0205 at /steps/0/args/a: `${inputs.ctiy}` refers to the input `ctiy`, which is not provided (did you mean `city`?)",
        ],
    );
    check(
        r#""state": {"town": 1},"#,
        "",
        &[
            "PW0205 at /steps/0/args/a: `${inputs.ctiy}` refers to the input `ctiy`, which is not provided (declare `ctiy` among the plan's inputs)",
        ],
    );
    fixture.expect(
        r#"{"steps": [{"id": "w", "tool": "e", "writes": "vars.city"}, {"id": "x", "tool": "e", "writes": "state.ctyi"}, {"id": "s", "tool": "e", "args": {"a": "${vars.ctiy}"}}]}"#,
        &["PW0205 at /steps/2/args/a: `${vars.ctiy}` refers to the variable `ctiy`, which is not provided (did you mean `city`?)"],
    );
}

#[test]
fn optional_parts_may_be_null() {
    let fixture = CheckFixture::with_tools(
        r#"{"rows": {"out": {"type": "object", "properties": {"total": {"type": "integer"}, "rows": {"type": "array", "items": {"type": "object", "properties": {"id": {"type": "integer"}}}}}}},
            "truth": {"in": {"properties": {"v": {"type": "boolean"}}}}, "list": {"in": {"properties": {"v": {"type": "array", "items": {"type": "boolean"}}}}}}"#,
    );
    let check = |tool: &str, reference: &str, expected: &[&str]| {
        fixture.expect(
            &format!(r#"{{"steps": [{{"id": "u", "tool": "rows"}}, {{"id": "s", "tool": "{tool}", "args": {{"v": "{reference}"}}}}]}}"#),
            expected,
        );
    };
    check(
        "truth",
        "${u.total}",
        &[
            "PW0504 at /steps/1/args/v: the argument `v` of the tool `truth` takes a boolean, but `${u.total}` gives an integer",
        ],
    );
    check(
        "truth",
        "${u.total?}",
        &[
            "PW0504 at /steps/1/args/v: the argument `v` of the tool `truth` takes a boolean, but `${u.total?}` gives an integer or null",
        ],
    );
    check("list", "${u.rows[*].id}", &[]);
    check("list", "${u.rows[*].id?}", &[]);
    check(
        "truth",
        "${u.rows[*].id}",
        &[
            "PW0504 at /steps/1/args/v: the argument `v` of the tool `truth` takes a boolean, but `${u.rows[*].id}` gives a list of integers",
        ],
    );
    check("truth", "${u.rows[*].id?}", &[]);
}

/// The advice for a wrong field is one that the argument takes.
#[test]
fn fields_for_arguments() {
    let tools = r#"{
        "text": {"in": {"type": "object", "properties": {"v": {"type": "string"}}}},
        "find": {"out": {"type": "object", "additionalProperties": false, "required": ["entities", "relations", "total"], "properties": {
            "entities": {"type": "array", "items": {"type": "object", "additionalProperties": false, "required": ["name"], "properties": {"name": {"type": "string"}}}},
            "relations": {"type": "array", "items": {"type": "object", "additionalProperties": false, "required": ["from"], "properties": {"from": {"type": "string"}}}},
            "total": {"type": "integer"}}}}
    }"#;
    let fixture = CheckFixture::with_tools(tools);
    let check = |path: &str, field: &str, help: &str| {
        fixture.expect(
            &format!(r#"{{"steps": [{{"id": "f", "tool": "find"}}, {{"id": "s", "tool": "text", "args": {{"v": "${{f.{path}}}"}}}}]}}"#),
            &[&format!("PW0402 at /steps/1/args/v: `${{f.{path}}}` leads nowhere: there is no field `{field}` in the output of `f` ({help})")],
        );
    };
    let joined = "write `${f.entities[*].name.join(', ')}` for one text of all items, or `\"for_each\": \"${f.entities[*].name}\"` and `${item}` here for a call with each";
    check("nodes[*].name", "nodes", joined);
    check("entitys[*].name", "entitys", joined);
    check("nodes[0].name", "nodes", "write `${f.entities[0].name}`");
    check("entitys[0].name", "entitys", "did you mean `entities`?");
    check("totl", "totl", "write `${string(f.total)}`");
    check(
        "nodes[*].title",
        "nodes",
        "the fields are `entities`, `relations`, `total`",
    );
}
