//! The slot pass: unfilled slots and competing writers.

use super::fixture::CheckFixture;

const TOOLS: &str = r#"{"e": {}, "typed": {"out": {"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": false}}}"#;

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    CheckFixture::with_tools(TOOLS).expect(text, expected);
}

#[test]
fn unwritten() {
    check(
        r#"{"state": {"given": 1}, "steps": [{"id": "a", "tool": "e", "args": {"x": "${slots.state.never}", "y": "${slots.state.given}", "z": "${slots.state.givn}", "w": "${slots.data.x ?? 1}"}}]}"#,
        &[
            "?PW0407 at /steps/0/args/x: `${slots.state.never}` reads the slot `state.never`, which nothing fills (what reads it will be skipped)",
            "?PW0407 at /steps/0/args/z: `${slots.state.givn}` reads the slot `state.givn`, which nothing fills (did you mean `given`?)",
            "?PW0407 at /steps/0/args/w: `${slots.data.x ?? 1}` reads the slot `data.x`, which nothing fills (another alternative is taken)",
        ],
    );
    check(
        r#"{"state@1": {"x": {"a": 1}}, "state@2": {"y": 1}, "steps": [{"id": "a", "tool": "e", "args": {"v": "${slots.state.x.a}", "w": "${slots.state.x.b}"}}]}"#,
        &[
            "?PW0402 at /steps/0/args/w: `${slots.state.x.b}` leads nowhere: there is no field `b` in the slot `state.x` (the only field is `a`)",
        ],
    );
    check(
        r#"{"steps": [{"id": "t", "tool": "typed", "writes": "state.t"}, {"id": "a", "tool": "e", "args": {"v": "${slots.state.t.a}", "w": "${slots.state.t.b}"}}]}"#,
        &[
            "?PW0402 at /steps/1/args/w: `${slots.state.t.b}` leads nowhere: there is no field `b` in the slot `state.t` (the only field is `a`)",
        ],
    );
    check(
        r#"{"steps": [{"id": "a", "tool": "e", "writes": "inputs.x"}]}"#,
        &[
            "PW0404 at /steps/0/writes: the step `a` writes `inputs.x`, but inputs are never written (write to the state, or to a variable)",
        ],
    );
}

#[test]
fn variables_of_known_shape() {
    check(
        r#"{"steps": [{"id": "t", "tool": "typed", "writes": "vars.t"}, {"id": "a", "tool": "e", "args": {"v": "${vars.t.a}", "w": "${vars.t.b}"}}]}"#,
        &[
            "PW0402 at /steps/1/args/w: `${vars.t.b}` leads nowhere: there is no field `b` in the variable `t` (the only field is `a`)",
        ],
    );
}

#[test]
fn only_replacing_writers_determine_the_type_of_a_slot() {
    let check = |writes: &str, slot: &str, is_known: bool| {
        let reader =
            format!(r#"{{"id": "a", "tool": "e", "args": {{"v": "${{slots.{slot}.b}}"}}}}"#);
        let diagnostic = format!(
            "?PW0402 at /steps/1/args/v: `${{slots.{slot}.b}}` leads nowhere: there is no field `b` in the slot `{slot}` (the only field is `a`)"
        );
        let expected: Vec<&str> = is_known
            .then_some(diagnostic.as_str())
            .into_iter()
            .collect();
        check(
            &format!(r#"{{"steps": [{{"id": "t", "tool": "typed", {writes}}}, {reader}]}}"#),
            &expected,
        );
    };
    check(r#""writes": "state.t""#, "state.t", true);
    check(r#""writes": "state.t", "method": "push""#, "state.t", false);
    check(r#""writes": "state.t && data.t""#, "data.t", true);
    // The last target receives the error.
    check(r#""writes": "state.t || state.f""#, "state.t", true);
    check(r#""writes": "state.t || state.f""#, "state.f", false);
}

#[test]
fn items_in_a_cycle() {
    // The type of `w` is asked for first, while `e` is still being inferred.
    check(
        r#"{"steps": [{"id": "x", "tool": "e", "args": {"v": "${w[0]}"}}, {"id": "w", "value": ["${e}"], "writes": "state.l"}, {"id": "e", "for_each": "${slots.state.l}", "value": ["${item}", "${item.name}"]}]}"#,
        &[
            "PW0301 at /steps/1/value/0: steps wait for each other in a cycle: `w` → `e` → `w` (`w` waits for `e` at `/steps/1/value/0`, `e` waits for `w` at `/steps/2/for_each`: `e` is listed after `w`, which probably should not refer to it)",
            "PW0402 at /steps/2/value/1: `${item.name}` leads nowhere: there is no field `name` in `item` (`item` is a list of lists)",
        ],
    );
}

#[test]
fn competing_writers() {
    check(
        r#"{"steps": [{"id": "a", "tool": "e", "writes": "state.x"}, {"id": "b", "tool": "e", "writes": "state.x.y"}]}"#,
        &[
            "?PW0802 at /steps/1/writes: the steps `a` and `b` both write `state.x.y` (`b` comes later in the plan and overwrites it: use two slots for both values)",
        ],
    );
    // One writer waits for the other.
    check(
        r#"{"steps": [{"id": "a", "tool": "e", "writes": "state.x"}, {"id": "m", "tool": "e", "after": ["a"]}, {"id": "b", "tool": "e", "args": {"v": "${m}"}, "writes": "state.x"}]}"#,
        &[],
    );
    // Only one writer runs.
    check(
        r#"{"steps": [{"id": "sort", "tool": "e", "writes": "state.a || state.b || state.c"}, {"id": "ha", "tool": "e", "args": {"v": "${slots.state.a}"}, "writes": "state.r"}, {"id": "mid", "tool": "e", "args": {"v": "${slots.state.b}"}, "writes": "state.m"}, {"id": "hb", "tool": "e", "args": {"v": "${slots.state.m}"}, "writes": "state.r"}, {"id": "hc", "tool": "e", "args": {"v": "${slots.state.c}"}, "writes": "state.r"}]}"#,
        &[],
    );
    // Both writers depend on the same branch.
    check(
        r#"{"steps": [{"id": "sort", "tool": "e", "writes": "state.a || state.b"}, {"id": "h1", "tool": "e", "args": {"v": "${slots.state.a}"}, "writes": "state.r"}, {"id": "h2", "tool": "e", "args": {"v": "${slots.state.a}"}, "writes": "state.r"}]}"#,
        &[
            "?PW0802 at /steps/2/writes: the steps `h1` and `h2` both write `state.r` (`h2` comes later in the plan and overwrites it: use two slots for both values)",
        ],
    );
    // The handler of one branch fills the slot of the other.
    check(
        r#"{"steps": [{"id": "pay", "tool": "e", "writes": "state.receipt || state.error"}, {"id": "fix", "tool": "e", "args": {"v": "${slots.state.error}"}, "writes": "state.receipt"}]}"#,
        &[],
    );
    // Writers that append, belong to other instances, or have a condition do not compete.
    check(
        r#"{"steps": [{"id": "a", "tool": "e", "writes": "state.x", "method": "push"}, {"id": "b", "tool": "e", "writes": "state.x", "method": "push"}]}"#,
        &[],
    );
    check(
        r#"{"steps": [{"id": "a", "tool": "e", "instance": "1", "writes": "state.x"}, {"id": "b", "tool": "e", "instance": "2", "writes": "state.x"}]}"#,
        &[],
    );
    check(
        r#"{"steps": [{"id": "c", "tool": "e"}, {"id": "a", "tool": "e", "when": "${c.x}", "writes": "state.x"}, {"id": "b", "tool": "e", "when": "${!c.x}", "writes": "state.x"}]}"#,
        &[],
    );
}

#[test]
fn long_paths() {
    let plan = |parts: usize| {
        let path = ".a".repeat(parts);
        format!(
            r#"{{"steps": [{{"id": "a", "tool": "e", "writes": "state{path}"}}, {{"id": "b", "tool": "gone"}}]}}"#
        )
    };
    check(
        &plan(513),
        &[
            "PW0003 at /steps/0/writes: the path of the slot has 513 parts, more than the 512 that are allowed (name the slot by fewer parts)",
        ],
    );
    check(
        &plan(100_000),
        &[
            "PW0003 at /steps/0/writes: the path of the slot has 100000 parts, more than the 512 that are allowed (name the slot by fewer parts)",
        ],
    );
    check(
        &plan(512),
        &["PW0201 at /steps/1/tool: there is no tool `gone` (the tools are `e`, `typed`)"],
    );
}

#[test]
fn slots_of_known_shape() {
    check(
        r#"{"state": {"x": {"a": 1}}, "steps": [{"id": "a", "tool": "e", "args": {"v": "${slots.state.x.a.b}"}}]}"#,
        &[
            "?PW0402 at /steps/0/args/v: `${slots.state.x.a.b}` leads nowhere: there is no field `b` in `a` in the slot `state.x` (what reads it will be skipped)",
        ],
    );
    // A step may write several slots with paths of different lengths.
    check(
        r#"{"steps": [{"id": "t", "tool": "typed", "writes": "state.deep.er && data.t && state.t"}, {"id": "a", "tool": "e", "args": {"v": "${slots.state.t.b}"}}]}"#,
        &[
            "?PW0402 at /steps/1/args/v: `${slots.state.t.b}` leads nowhere: there is no field `b` in the slot `state.t` (the only field is `a`)",
        ],
    );
    check(
        r#"{"steps": [{"id": "t", "tool": "typed", "writes": "data.t.b && state.t"}, {"id": "a", "tool": "e", "args": {"v": "${slots.state.t.b}"}}]}"#,
        &[
            "?PW0402 at /steps/1/args/v: `${slots.state.t.b}` leads nowhere: there is no field `b` in the slot `state.t` (the only field is `a`)",
        ],
    );
    check(
        r#"{"steps": [{"id": "t", "tool": "typed", "writes": "state.t.b && state.t"}, {"id": "a", "tool": "e", "args": {"v": "${slots.state.t}", "w": "${slots.state.t.c}"}}]}"#,
        &[
            "?PW0402 at /steps/1/args/w: `${slots.state.t.c}` leads nowhere: there is no field `c` in the slot `state.t` (the only field is `a`)",
        ],
    );
    // A field that one writer lacks may come from another.
    CheckFixture::with_tools(r#"{"e": {}, "one": {"out": {"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": false}}, "two": {"out": {"type": "object", "properties": {"b": {"type": "integer"}}, "additionalProperties": false}}}"#).expect(
        r#"{"steps": [{"id": "one", "tool": "one", "writes": "state.t", "when": true}, {"id": "two", "tool": "two", "writes": "state.t", "when": true}, {"id": "a", "tool": "e", "args": {"v": "${slots.state.t.b}", "w": "${slots.state.t.c}"}}]}"#,
        &["?PW0402 at /steps/2/args/w: `${slots.state.t.c}` leads nowhere: there is no field `c` in the slot `state.t` (the only field is `a`)"],
    );
}

#[test]
fn names_of_slots_nearby() {
    check(
        r#"{"steps": [{"id": "w", "tool": "e", "writes": "state.user && data.other"}, {"id": "a", "tool": "e", "args": {"v": "${slots.state.usr}", "w": "${slots.state.othr}"}}]}"#,
        &[
            "?PW0407 at /steps/1/args/v: `${slots.state.usr}` reads the slot `state.usr`, which nothing fills (did you mean `user`?)",
            "?PW0407 at /steps/1/args/w: `${slots.state.othr}` reads the slot `state.othr`, which nothing fills (what reads it will be skipped)",
        ],
    );
}

#[test]
fn schemas_of_slots() {
    const SCHEMAS: &str = r#""slot_schemas": {"state": {"type": "object", "properties": {"n": {"type": "integer"}, "user": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"], "additionalProperties": false}, "rows": {"type": "array", "items": {"type": "object", "required": ["id"]}}}, "required": ["n"], "additionalProperties": false}}"#;
    let check = |rest: &str, expected: &[&str]| check(&format!("{{{SCHEMAS}, {rest}}}"), expected);
    // Steps can fill what is missing.
    check(
        r#""state": {"user": {}}, "steps": [{"id": "a", "tool": "e", "writes": "state.user.name"}]"#,
        &[],
    );
    check(
        r#""state": {"n": "one", "m": 1, "rows": [{}]}, "steps": [{"id": "a", "tool": "e"}]"#,
        &[
            "PW0501 at /state: the initial value of `state.n` does not fit its schema: `\"one\"` is text, not an integer",
            "PW0501 at /state: the initial value of `state.rows[0]` does not fit its schema: the field `id` is missing",
            "PW0501 at /state: the initial value of `state` does not fit its schema: the field `m` is not known",
        ],
    );
    check(
        r#""steps": [{"id": "a", "value": "one", "writes": "state.n"}, {"id": "b", "tool": "typed", "writes": "state.n || state.user"}, {"id": "c", "tool": "e", "writes": "state.user.nam && state.m"}, {"id": "d", "value": 1, "writes": "data.n"}, {"id": "f", "value": "one", "writes": "state.rows", "method": "push"}]"#,
        &[
            "PW0501 at /steps/0/writes: the slot `state.n` takes an integer, but the step `a` gives `\"one\"` (write another value to it, or change its schema)",
            "PW0501 at /steps/1/writes: the slot `state.n` takes an integer, but the step `b` gives an object (write another value to it, or change its schema)",
            "?PW0802 at /steps/1/writes: the steps `a` and `b` both write `state.n` (`b` comes later in the plan and overwrites it: use two slots for both values)",
            "PW0105 at /steps/2/writes: the step `c` writes `state.user.nam`, but the schema has no `nam` (did you mean `name`?)",
            "PW0105 at /steps/2/writes: the step `c` writes `state.m`, but the schema has no `m` (the places are `n`, `rows`, `user`)",
            "?PW0802 at /steps/2/writes: the steps `b` and `c` both write `state.user.nam` (`c` comes later in the plan and overwrites it: use two slots for both values)",
        ],
    );
}
