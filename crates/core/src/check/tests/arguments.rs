//! The passes of arguments, by name and by position.

use super::fixture::{CheckFixture, plan};
use crate::check::name_arguments;

const TOOLS: &str = r#"{
    "u": {"out": {"type": "object", "properties": {"total": {"type": "integer"}, "rows": {"type": "array", "items": {"type": "object"}}, "name": {"type": "string"}}, "required": ["total", "rows"]}},
    "plain": {},
    "w": {"in": {"type": "object", "properties": {
        "when": {"type": "boolean"}, "text": {"type": "string"}, "count": {"type": "number", "minimum": 3},
        "tags": {"type": "array", "items": {"type": "string"}, "minItems": 2},
        "deep": {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"enum": ["x", "y"]}}, "required": ["a"], "additionalProperties": false},
        "either": {"anyOf": [{"type": "object", "properties": {"k": {"const": "n"}, "v": {"type": "number"}}, "required": ["k"]}, {"type": "object", "properties": {"k": {"const": "t"}, "v": {"type": "string"}}, "required": ["k"]}]}
    }, "additionalProperties": false}},
    "needs": {"in": {"type": "object", "properties": {"value": {"type": "string"}}, "required": ["value"]}},
    "none": {"in": {"type": "object", "additionalProperties": false}},
    "broken": {"in": {"$ref": "https://example.com/schema.json"}}
}"#;

#[track_caller]
fn check(args: &str, expected: &[&str]) {
    let text = format!(
        r#"{{"steps": [{{"id": "u", "tool": "u"}}, {{"id": "p", "tool": "plain"}}, {{"id": "s", "tool": "w", "args": {args}}}]}}"#
    );
    CheckFixture::with_tools(TOOLS).expect(&text, expected);
}

#[test]
fn literals() {
    check(
        r#"{"when": true, "tags": ["a", "b"], "deep": {"a": 1}}"#,
        &[],
    );
    check(
        r#"{"when": "yes", "deep": {"b": "z", "c": 1}, "txet": ""}"#,
        &[
            r#"PW0501 at /steps/2/args/when: the argument `when` of the tool `w` does not fit: `"yes"` is text, not a boolean (write `true`)"#,
            "PW0501 at /steps/2/args/deep: the argument `deep` of the tool `w` does not fit: the field `a` is missing (it takes an integer)",
            r#"PW0501 at /steps/2/args/deep/b: the argument `deep.b` of the tool `w` does not fit: `"z"` is none of `"x"`, `"y"`"#,
            "PW0501 at /steps/2/args/deep/c: the argument `deep` of the tool `w` does not fit: the field `c` is not known (the fields are `a`, `b`)",
            "PW0503 at /steps/2/args/txet: the tool `w` has no parameter `txet` (did you mean `text`?)",
        ],
    );
}

#[test]
fn literals_beside_references() {
    check(r#"{"text": "${p}", "tags": ["${p}"]}"#, &[]);
    check(
        r#"{"text": "${p}", "count": 2}"#,
        &[
            "PW0501 at /steps/2/args/count: the argument `count` of the tool `w` does not fit: `2` is less than `3`",
        ],
    );
    check(
        r#"{"tags": ["${p}", 7], "deep": {"a": "${u.total}", "b": "z"}, "more": 1}"#,
        &[
            r#"PW0501 at /steps/2/args/tags/1: the argument `tags[1]` of the tool `w` does not fit: `7` is a number, not text (write `"7"`)"#,
            r#"PW0501 at /steps/2/args/deep/b: the argument `deep.b` of the tool `w` does not fit: `"z"` is none of `"x"`, `"y"`"#,
            "PW0503 at /steps/2/args/more: the tool `w` has no parameter `more` (the parameters are `count`, `deep`, `either`, `tags`, `text`, `when`)",
        ],
    );
    // The intended alternative depends on the reference.
    check(r#"{"either": {"k": "${p}", "v": "text"}}"#, &[]);
    check(
        r#"{"text": "${p}", "either": {"k": "n", "v": "text"}}"#,
        &[
            r#"PW0501 at /steps/2/args/either: the argument `either` of the tool `w` does not fit: `{"k":"n","v":"text"}` fits none of the alternatives"#,
        ],
    );
}

#[test]
fn missing_and_superfluous() {
    CheckFixture::with_tools(TOOLS).expect(
        r#"{"steps": [{"id": "a", "tool": "needs"}, {"id": "b", "tool": "needs", "args": {"v": "${a}"}}, {"id": "c", "tool": "none"}, {"id": "d", "tool": "none", "args": {"x": 1}}]}"#,
        &[
            "PW0502 at /steps/0: the tool `needs` needs the argument `value` (it takes text)",
            "PW0502 at /steps/1/args: the tool `needs` needs the argument `value` (it takes text)",
            "?PW0503 at /steps/1/args/v: the tool `needs` lists no parameter `v` (leave it out, the tool may ignore it; the only parameter is `value`)",
            "PW0503 at /steps/3/args/x: the tool `none` has no parameter `x` (it takes no parameters)",
        ],
    );
}

#[test]
fn types_of_references() {
    check(
        r#"{"when": "${p.x}", "text": "${u.name}", "count": "${u.total}", "tags": "${u.rows}"}"#,
        &[],
    );
    check(
        r#"{"when": "${u.rows}", "text": "${u.total}", "deep": {"a": "${u.name}"}}"#,
        &[
            "PW0504 at /steps/2/args/when: the argument `when` of the tool `w` takes a boolean, but `${u.rows}` gives a list of objects",
            "PW0504 at /steps/2/args/text: the argument `text` of the tool `w` takes text, but `${u.total}` gives an integer (write `${string(u.total)}`)",
            "PW0504 at /steps/2/args/deep/a: the argument `deep.a` of the tool `w` takes an integer, but `${u.name}` gives text (the field `total` of `u` fits)",
        ],
    );
    // A whole output may arrive as text.
    check(r#"{"text": "${u}"}"#, &[]);
    check(
        r#"{"when": "${u}", "count": "n ${u.total}", "tags": {"a": "${p}"}, "deep": ["${p}"]}"#,
        &[
            "PW0504 at /steps/2/args/when: the argument `when` of the tool `w` takes a boolean, but `${u}` gives an object",
            "PW0504 at /steps/2/args/count: the argument `count` of the tool `w` takes a number, but a reference inside of text gives text (a reference that stands alone keeps its type)",
            "PW0501 at /steps/2/args/tags: the argument `tags` of the tool `w` takes a list of texts, not an object",
            "PW0501 at /steps/2/args/deep: the argument `deep` of the tool `w` takes an object, not a list",
        ],
    );
    check(
        r#"{"when": "${u.total ?? u.name}", "text": "${u.total ?? u.name}"}"#,
        &[
            "PW0504 at /steps/2/args/when: the argument `when` of the tool `w` takes a boolean, but `${u.total ?? u.name}` gives an integer or text",
        ],
    );
}

#[test]
fn texts_and_objects_lead_to_lists() {
    let fixture = CheckFixture::with_tools(TOOLS);
    fixture.expect(
        r#"{"steps": [{"id": "u", "tool": "u"}, {"id": "a", "tool": "plain", "for_each": "${u.name}"}, {"id": "b", "tool": "plain", "for_each": "${u}"}]}"#,
        &[
            r"PW0504 at /steps/1/for_each: `for_each` of `a` goes over a list, not over text (write `${u.name.split('\n')}` for its lines, or `${json(u.name)}` if it is the JSON of a list)",
            "PW0504 at /steps/2/for_each: `for_each` of `b` goes over a list, not over an object (write `${u.rows}`)",
        ],
    );
}

#[test]
fn lists_to_go_over() {
    let fixture = CheckFixture::with_tools(TOOLS);
    fixture.expect(
        r#"{"steps": [{"id": "u", "tool": "u"}, {"id": "a", "tool": "plain", "for_each": "${u.rows}"}, {"id": "b", "tool": "plain", "for_each": "${u.total}"}, {"id": "c", "tool": "plain", "for_each": "abc"}]}"#,
        &[
            "PW0504 at /steps/2/for_each: `for_each` of `b` goes over a list, not over an integer",
            r#"PW0504 at /steps/3/for_each: `for_each` of `c` goes over a list, not over `"abc"`"#,
        ],
    );
}

#[test]
fn schemas_that_are_malformed() {
    CheckFixture::with_tools(TOOLS).expect(
        r#"{"steps": [{"id": "a", "tool": "broken", "args": {"x": 1}}, {"id": "b", "tool": "broken"}]}"#,
        &["?PW0505 at /steps/0/tool: the input schema of the tool `broken` is malformed: a `$ref` leads outside the schema, or to a part that does not exist (its arguments are not checked)"],
    );
}

#[test]
fn schemas_that_are_malformed_somewhere() {
    let fixture = CheckFixture::with_tools(
        r#"{"broken": {"in": {"$ref": "https://example.com/schema.json"}}, "partly": {"in": {"type": "object", "properties": {"n": {"minimum": "three"}}}}}"#,
    );
    fixture.expect(r#"{"steps": [{"id": "a", "tool": "broken"}]}"#, &["?PW0505 at /steps/0/tool: the input schema of the tool `broken` is malformed: a `$ref` leads outside the schema, or to a part that does not exist (its arguments are not checked)"]);
    fixture.expect(
        r#"{"steps": [{"id": "a", "tool": "partly", "args": {"n": 1}}]}"#,
        &[r#"?PW0505 at /steps/0/tool: the input schema of the tool `partly` is malformed: `"three"` is not allowed at `/properties/n/minimum` (its arguments are not checked)"#],
    );
    fixture.expect(
        r#"{"steps": [{"id": "a", "tool": "partly", "args": {"m": 1}}]}"#,
        &["?PW0503 at /steps/0/args/m: the tool `partly` lists no parameter `m` (leave it out, the tool may ignore it; the only parameter is `n`)"],
    );
}

#[test]
fn values_that_may_arrive_as_text() {
    let fixture = CheckFixture::with_tools(
        r#"{"number": {"out": {"type": "integer"}}, "object": {"out": {"type": "object", "properties": {"n": {"type": "integer"}, "m": {"type": "integer"}, "t": {"type": "string"}, "any": {}}}},
            "text": {"in": {"properties": {"v": {"type": "string"}}}}, "count": {"in": {"properties": {"v": {"type": "integer"}}}}, "truth": {"in": {"properties": {"v": {"type": "boolean"}}}},
            "flag": {"out": {"type": "object", "properties": {"f": {"type": "boolean"}, "any": {}}}},
            "only": {"out": {"type": "object", "properties": {"c-d": {"type": "string"}}}}, "needs": {"in": {"properties": {"v": {}}, "required": ["v"]}}}"#,
    );
    let check = |steps: &str, expected: &[&str]| {
        let text = format!(
            r#"{{"input": {{"o": {{"a": 1}}}}, "steps": [{{"id": "n", "tool": "number"}}, {{"id": "o", "tool": "object", "writes": "state.o"}}, {{"id": "f", "tool": "flag"}}, {{"id": "c", "tool": "only"}}, {steps}]}}"#
        );
        fixture.expect(&text, expected);
    };
    check(r#"{"id": "s", "tool": "text", "args": {"v": "${o}"}}"#, &[]);
    check(
        r#"{"id": "s", "tool": "text", "args": {"v": "${slots.state.o}"}}"#,
        &[],
    );
    // The text of the answer arrives, not the JSON of the object.
    check(r#"{"id": "s", "tool": "text", "args": {"v": "${c}"}}"#, &[]);
    check(
        r#"{"id": "s", "tool": "text", "args": {"v": "${string(c)}"}}"#,
        &[],
    );
    check(
        r#"{"id": "s", "tool": "text", "args": {"v": "${n}"}}"#,
        &[
            "PW0504 at /steps/4/args/v: the argument `v` of the tool `text` takes text, but `${n}` gives an integer (write `${string(n)}`)",
        ],
    );
    check(
        r#"{"id": "s", "tool": "text", "args": {"v": "${inputs.o}"}}"#,
        &[
            r#"PW0504 at /steps/4/args/v: the argument `v` of the tool `text` takes text, but `${inputs.o}` gives `{"a":1}`"#,
        ],
    );
    check(
        r#"{"id": "s", "tool": "count", "args": {"v": "${o}"}}"#,
        &[
            "PW0504 at /steps/4/args/v: the argument `v` of the tool `count` takes an integer, but `${o}` gives an object (its fields `n`, `m` fit)",
        ],
    );
    check(
        r#"{"id": "s", "tool": "truth", "args": {"v": "${f}"}}"#,
        &[
            "PW0504 at /steps/4/args/v: the argument `v` of the tool `truth` takes a boolean, but `${f}` gives an object (its field `f` fits)",
        ],
    );
    check(
        r#"{"id": "s", "tool": "needs"}"#,
        &["PW0502 at /steps/4: the tool `needs` needs the argument `v`"],
    );
}

const POSITIONAL_TOOLS: &str = r##"{
    "search": {"in": {"type": "object", "properties": {
        "limit": {"type": "integer"}, "query": {"type": "string"}, "from": {"type": "string"}
    }, "required": ["query"]}},
    "nested": {"in": {"$ref": "#/$defs/a", "$defs": {"a": {"type": "object", "properties": {"x": {}, "y": {}}}}}},
    "any": {},
    "none": {"in": {"type": "object", "additionalProperties": false}}
}"##;

/// Returns the named arguments of `step` after the check.
#[track_caller]
fn named(step: &str) -> String {
    let text = format!(r#"{{"steps": [{{"id": "p", "value": "x"}}, {step}]}}"#);
    let (checked, diagnostics) = CheckFixture::with_tools(POSITIONAL_TOOLS).check(&text);
    let checked = checked.unwrap_or_else(|| panic!("{diagnostics:?}"));
    let step = &checked.plan().steps[1];
    assert!(step.positional.is_empty());
    let crate::plan::NodeKind::Object(fields) = &step.args.kind else {
        panic!("{:?}", step.args);
    };
    let fields = fields.iter().map(|field| match field.value.as_literal() {
        Some(value) => format!("{}={value}", field.key),
        None => format!("{}=?", field.key),
    });
    fields.collect::<Vec<String>>().join(" ")
}

#[track_caller]
fn refused(step: &str, expected: &[&str]) {
    let text = format!(r#"{{"steps": [{step}]}}"#);
    CheckFixture::with_tools(POSITIONAL_TOOLS).expect(&text, expected);
}

#[test]
fn required_parameters_come_first() {
    let cases = [
        (r#""tool": "search", "positional": ["a"]"#, r#"query="a""#),
        (
            r#""tool": "search", "positional": ["a", 1, "b"]"#,
            r#"query="a" limit=1 from="b""#,
        ),
        (
            r#""tool": "search", "positional": ["${p}"], "args": {"from": "b"}"#,
            r#"query=? from="b""#,
        ),
        (
            r#""tool": "search", "positional": ["a"], "args": {"from": "${p}"}"#,
            r#"query="a" from=?"#,
        ),
        (r#""tool": "nested", "positional": [1, [2]]"#, "x=1 y=[2]"),
    ];
    for (step, wanted) in cases {
        assert_eq!(named(&format!(r#"{{"id": "s", {step}}}"#)), wanted);
    }
}

#[test]
fn unnamed_arguments_are_reported() {
    refused(
        r#"{"id": "s", "tool": "search", "positional": ["a", 1, "b", "c"]}"#,
        &[
            "PW0507 at /steps/0/positional/3: an argument has no name: it is number 4 of those for the tool `search`, which has 3 parameters (the parameters are `from`, `limit`, `query`)",
        ],
    );
    refused(
        r#"{"id": "s", "tool": "search", "positional": ["a"], "args": {"query": "b"}}"#,
        &[
            "PW0507 at /steps/0/positional/0: an argument has no name: its parameter `query` of the tool `search` is given by name as well (give it once)",
        ],
    );
    refused(
        r#"{"id": "s", "tool": "any", "positional": ["a"]}"#,
        &[
            "PW0507 at /steps/0/positional/0: an argument has no name: the tool `any` names no parameters that it could be meant for (write `any(name=value)`, or declare them)",
        ],
    );
    refused(
        r#"{"id": "s", "tool": "none", "positional": ["a"]}"#,
        &[
            "PW0507 at /steps/0/positional/0: an argument has no name: the tool `none` names no parameters that it could be meant for (the tool takes no arguments)",
        ],
    );
    refused(
        r#"{"id": "s", "value": 1, "positional": ["a"]}"#,
        &[
            "PW0507 at /steps/0/positional/0: an argument has no name: the step `s` calls no tool that could name it (give it a name)",
        ],
    );
}

#[test]
fn other_diagnostics_are_reported_as_well() {
    refused(
        r#"{"id": "s", "tool": "search", "positional": [1, "${gone}"]}"#,
        &[
            r#"PW0501 at /steps/0/positional/0: the argument `query` of the tool `search` does not fit: `1` is a number, not text (write `"1"`)"#,
            "PW0204 at /steps/0/positional/1: `${gone}` refers to the step `gone`, which is not in the plan (the only step is `s`)",
        ],
    );
    refused(
        r#"{"id": "s", "tool": "elsewhere", "positional": ["${s}"]}"#,
        &[
            "PW0201 at /steps/0/tool: there is no tool `elsewhere` (the tools are `any`, `nested`, `none`, `search`)",
            "PW0301 at /steps/0/positional/0: the step `s` waits for itself (remove its reference to itself)",
        ],
    );
}

#[test]
fn plans_in_steps_are_named_as_well() {
    let fixture = CheckFixture::with_tools(POSITIONAL_TOOLS);
    let mut outer = plan(
        r#"{"steps": [{"id": "s", "plan": {"steps": [{"id": "i", "tool": "search", "positional": ["a", 1, 2, 3]}]}}]}"#,
    );
    let diagnostics = name_arguments(&mut outer, &fixture.catalog);
    assert_eq!(diagnostics.len(), 1);
}

#[test]
fn formats_of_literals() {
    let fixture = CheckFixture::with_tools(
        r#"{"o": {"out": {"type": "object", "properties": {"day": {"type": "string"}}}},
            "t": {"in": {"type": "object", "properties": {"day": {"type": "string", "format": "date"}, "to": {"type": "array", "items": {"type": "string", "format": "email"}}}}}}"#,
    );
    fixture.expect(
        r#"{"steps": [{"id": "o", "tool": "o"}, {"id": "s", "tool": "t", "args": {"day": "tomorrow", "to": ["ann@example.org", "ann", "${o.day}"]}}]}"#,
        &[
            "PW0501 at /steps/1/args/day: the argument `day` of the tool `t` does not fit: `\"tomorrow\"` does not have the format `date`",
            "PW0501 at /steps/1/args/to/1: the argument `to[1]` of the tool `t` does not fit: `\"ann\"` does not have the format `email`",
        ],
    );
    fixture.expect(
        r#"{"steps": [{"id": "o", "tool": "o"}, {"id": "s", "tool": "t", "args": {"day": "${o.day}", "to": []}}, {"id": "u", "tool": "t", "args": {"day": "2026-02-28"}}]}"#,
        &[],
    );
}

/// A number of rows that a tool of statements does not know would be lost.
#[test]
fn limits_beside_statements() {
    let tools = r#"{"sql": {"in": {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}}}"#;
    let fixture = CheckFixture::with_tools(tools);
    let check = |args: &str, field: &str, help: &str| {
        fixture.expect(
            &format!(r#"{{"steps": [{{"id": "n", "value": {{"v": 3}}}}, {{"id": "s", "tool": "sql", "args": {{{args}}}}}]}}"#),
            &[&format!("PW0503 at /steps/1/args/{field}: the tool `sql` lists no parameter `{field}` ({help})")],
        );
    };
    check(
        r#""query": "SELECT a FROM t;", "limit": 10"#,
        "limit",
        r#"leave it out, and write `"query": "SELECT a FROM t LIMIT 10"`"#,
    );
    check(
        r#""query": "select a from t", "max_rows": "${n.v}""#,
        "max_rows",
        r#"leave it out, and write `"query": "select a from t LIMIT ${n.v}"`"#,
    );
    check(
        r#""query": "SELECT a FROM t LIMIT 5", "limit": 10"#,
        "limit",
        "leave it out, and write `LIMIT` into `query`, which is SQL",
    );
    check(
        r#""query": "SELECT a FROM t WHERE b > ${n.v}", "offset": 10"#,
        "offset",
        "leave it out, and write `OFFSET` into `query`, which is SQL",
    );
    fixture.expect(
        r#"{"steps": [{"id": "s", "tool": "sql", "args": {"query": "DELETE FROM t", "limit": 10}}]}"#,
        &["?PW0503 at /steps/0/args/limit: the tool `sql` lists no parameter `limit` (leave it out, the tool may ignore it; the only parameter is `query`)"],
    );
}

mod undos {
    use std::sync::Arc;

    use super::super::fixture::{CheckFixture, catalog, plan};
    use crate::check::{CheckContext, Policy, check};
    use crate::plan::{
        Action, Alternative, Field, Form, Name, Node, OnFailure, PlanTarget, Read, Reference,
        Segment, Source, Undo,
    };
    use crate::{ConfiguredUndo, Place, Plan, StepId};

    const TOOLS: &str = r#"{
    "create": {"in": {"type": "object", "properties": {"title": {"type": "string"}}, "additionalProperties": false},
               "out": {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"], "additionalProperties": false}},
    "delete": {"in": {"type": "object", "properties": {"id": {"type": "string"}, "count": {"type": "integer"}}, "required": ["id"], "additionalProperties": false}}
}"#;

    /// The plan of one step that `tool` undoes with `args`, each a name and the read of its value.
    fn undone_by(text: &str, tool: &str, args: &[(&str, &str, &str)]) -> Plan {
        let mut plan = plan(text);
        let fields = args.iter().map(|(name, source, key)| Field {
            key: (*name).into(),
            value: Node::reference(Reference {
                text: format!("${{{source}.{key}}}").into(),
                place: Place::NOWHERE,
                form: Form::First(vec![Alternative::Read(Read::part(
                    Source::Step(StepId::new(*source)),
                    vec![Segment::key(*key)],
                ))]),
            }),
        });
        plan.steps[0].undo = Some(Box::new(Undo {
            tool: Name {
                text: tool.into(),
                place: Place::NOWHERE,
            },
            args: Node::object(fields.collect(), Place::NOWHERE),
        }));
        plan
    }

    fn messages(plan: Plan, policy: &Policy) -> Vec<String> {
        let catalog = catalog(TOOLS);
        let context = CheckContext::new(&catalog).with_policy(policy);
        let (_, found) = check(plan, &context);
        let found = found.iter().filter(|found| found.is_error());
        found
            .map(|found| format!("{} {}", found.code, found.message))
            .collect()
    }

    #[test]
    fn an_undo_is_checked_as_a_call() {
        let step = r#"{"steps": [{"id": "a", "tool": "create", "args": {"title": "x"}}]}"#;
        let check = |tool: &str, args: &[(&str, &str, &str)], expected: &[&str]| {
            let found = messages(undone_by(step, tool, args), &Policy::new());
            assert_eq!(found, expected, "{tool} {args:?}");
        };
        check("delete", &[("id", "output", "id")], &[]);
        check("delete", &[("id", "arguments", "title")], &[]);
        check(
            "delete",
            &[],
            &["PW0502 the tool `delete` needs the argument `id`"],
        );
        check(
            "remove",
            &[("id", "output", "id")],
            &["PW0201 there is no tool `remove`"],
        );
        check(
            "delete",
            &[("id", "output", "key")],
            &[
                "PW0402 `${output.key}` leads nowhere: there is no field `key` in the output of the call to undo",
            ],
        );
        check(
            "delete",
            &[("id", "output", "id"), ("count", "arguments", "title")],
            &[
                "PW0504 the argument `count` of the tool `delete` takes an integer, but `${arguments.title}` gives text",
            ],
        );
        // It knows no other step, and not the step itself.
        check(
            "delete",
            &[("id", "a", "id")],
            &[
                "PW0204 `${a.id}` refers to the step `a`, and an undo knows only the call that it undoes",
            ],
        );
    }

    #[test]
    fn an_undo_of_the_configuration_is_checked_once_for_its_tool() {
        let undo = |tool: &str, key: &str| {
            let plan = undone_by(
                r#"{"steps": [{"id": "a", "tool": "create"}]}"#,
                tool,
                &[("id", "output", key)],
            );
            plan.steps[0].undo.as_deref().cloned().unwrap()
        };
        let compare = |configured: &Undo, steps: &str, expected: &[&str]| {
            let catalog = catalog(TOOLS).map(|tool| {
                tool.undo = (&*tool.name == "create").then(|| {
                    Arc::new(ConfiguredUndo {
                        undo: Arc::new(configured.clone()),
                        set_in: "mine.toml:2".into(),
                    })
                });
            });
            let text = format!(r#"{{"steps": [{steps}]}}"#);
            let (_, found) = check(plan(&text), &CheckContext::new(&catalog));
            let found = found.iter();
            let found: Vec<String> = found
                .map(|found| format!("{} at {}: {}", found.code, found.pointer, found.message))
                .collect();
            assert_eq!(found, expected, "{steps}");
        };
        let calls = r#"{"id": "a", "tool": "create"}, {"id": "b", "tool": "create"}"#;
        compare(&undo("delete", "id"), calls, &[]);
        let remove = undo("remove", "id");
        let unknown = "PW0201 at /steps/0/tool: the undo of `test.create` in mine.toml:2: there is no tool `remove`";
        compare(&remove, calls, &[unknown]);
        let impossible = "PW0402 at /steps/0/tool: the undo of `test.create` in mine.toml:2: `${output.key}` leads nowhere: there is no field `key` in the output of the call to undo";
        compare(&undo("delete", "key"), calls, &[impossible]);
        // A plan that does not use the tool is not concerned.
        compare(
            &remove,
            r#"{"id": "a", "tool": "delete", "args": {"id": "x"}}"#,
            &[],
        );
    }

    #[test]
    fn an_undo_of_a_denied_tool_is_denied() {
        let step = r#"{"steps": [{"id": "a", "tool": "create"}]}"#;
        let plan = undone_by(step, "delete", &[("id", "output", "id")]);
        let policy = Policy::new().deny("delete");
        assert_eq!(
            messages(plan, &policy),
            ["PW0602 the policy denies the tool `delete`"]
        );
    }

    #[test]
    fn only_a_call_has_an_undo() {
        let plan = undone_by(r#"{"steps": [{"id": "a", "value": 1}]}"#, "delete", &[]);
        assert_eq!(
            messages(plan, &Policy::new()),
            ["PW0107 the step `a` has an undo and calls no tool"]
        );
    }

    #[test]
    fn an_inner_plan_is_undone_only_with_the_run_around_it() {
        let check = |on_failure: OnFailure, step: &str, expected: &[&str]| {
            let inner = r#"{"steps": [{"id": "b", "tool": "create"}]}"#;
            let text = format!(r#"{{"steps": [{{"id": "a", {step} "plan": {inner}}}]}}"#);
            let mut plan = plan(&text);
            plan.on_failure = on_failure;
            if let Action::Plan(call) = &mut plan.steps[0].action
                && let PlanTarget::Inline(inner) = &mut call.target
            {
                inner.on_failure = OnFailure::Revert;
            }
            assert_eq!(messages(plan, &Policy::new()), expected, "{text}");
        };
        let handled = r#""on_error": 1,"#;
        check(OnFailure::Revert, "", &[]);
        check(OnFailure::Revert, r#""for_each": [1, 2],"#, &[]);
        let prefix = "PW0107 the plan that the step `a` runs has `on_failure: revert`, but";
        let around = format!("{prefix} the plan around it does not, so nothing is undone");
        check(OnFailure::KeepGoing, "", &[&around]);
        check(OnFailure::Stop, handled, &[&around]);
        let kept = format!("{prefix} the step handles its failure, so nothing is undone");
        check(OnFailure::Revert, handled, &[&kept]);
    }

    #[test]
    fn an_undo_is_part_of_the_meaning_of_its_plan() {
        let fixture = CheckFixture::with_tools(TOOLS);
        let step = r#"{"steps": [{"id": "a", "tool": "create"}]}"#;
        let digest = |plan: Plan| {
            let (checked, _) = fixture.check_plan(plan);
            checked.unwrap().digest().clone()
        };
        let with = undone_by(step, "delete", &[("id", "output", "id")]);
        let other = undone_by(step, "delete", &[("id", "arguments", "title")]);
        let digests = [digest(plan(step)), digest(with.clone()), digest(other)];
        assert_eq!(digests[1], digest(with.clone()));
        assert!(digests[0] != digests[1] && digests[1] != digests[2]);
        let (checked, _) = fixture.check_plan(with);
        let checked = checked.unwrap();
        let tool = checked.steps()[0].undo.as_ref().unwrap();
        assert_eq!(&*tool.name, "delete");
    }
}
