//! What a plan is given.

use super::sketch::World;

#[test]
fn inputs() {
    let tools = r#"{"e": {}}"#;
    let plan = r#"{"inputs": {"n": {"type": "integer"}, "list": {"type": "array", "items": {"type": "string"}, "default": ["a", 1]}}, "steps": [{"id": "a", "tool": "e", "args": {"v": "${inputs.n}"}}]}"#;
    let default = "PW0506 at /inputs/list/default/1: the default of the input `list` does not fit its schema: `1` is a number, not text";
    let unused =
        "?PW0801 at /inputs/list: the input `list` is never read (take it away, or refer to it)";
    World::with_tools(tools).expect(
        plan,
        &[
            "PW0206 at /inputs/n: the input `n` is not given and has no default (give it a value, or declare a default)",
            unused,
            default,
        ],
    );
    World::with_tools(tools).given(r#"{"n": "many", "m": 1}"#).expect(
        plan,
        &[
            "?PW0205: a value is given for `m`, which the plan does not know (the inputs are `list`, `n`)",
            r#"PW0506 at /inputs/n: what the input `n` is given does not fit its schema: `"many"` is text, not an integer"#,
            unused,
            default,
        ],
    );
    World::with_tools(tools).expect(
        r#"{"inputs": {"n": {"type": "integre", "default": 1}}, "steps": [{"id": "a", "tool": "e", "args": {"v": "${inputs}"}}]}"#,
        &["?PW0505 at /inputs/n: the schema of the input `n` is malformed: `\"integre\"` cannot stand at `/type` (until it is mended, any value is taken)"],
    );
}

#[test]
fn values() {
    let world = World::with_tools(r#"{"e": {}}"#).given(r#"{"a": 5, "x": true}"#);
    let (checked, _) = world.check(
        r#"{"inputs": {"a": {"default": 1}, "b": {"default": 2}}, "steps": [{"id": "s", "tool": "e", "args": {"v": "${inputs.a + inputs.b}", "x": "${inputs.x}"}}]}"#,
    );
    let checked = checked.expect("a sound plan");
    let values = crate::Value::from(checked.inputs().clone());
    assert_eq!(values.to_json(), r#"{"a":5,"b":2,"x":true}"#);
}

#[test]
fn variables_are_no_inputs() {
    let world = World::with_tools(r#"{"e": {}}"#);
    let plan = |declared: &str, read: &str| {
        format!(
            r#"{{{declared}, "steps": [{{"id": "s", "tool": "e", "args": {{"v": "{read}"}}}}]}}"#
        )
    };
    let unused = "?PW0801 at /inputs/x: the input `x` is never read (take it away, or refer to it)";
    world.expect(&plan(r#""variables": {"x": 1}"#, "${vars.x}"), &[]);
    world.expect(&plan(r#""variables": {"x": 1}"#, "${vars}"), &[]);
    world.expect(
        &plan(r#""inputs": {"x": {"default": 1}}"#, "${vars}"),
        &[unused],
    );
    world.expect(
        &plan(r#""inputs": {"x": {"default": 1}}"#, "${vars.x}"),
        &["PW0205 at /steps/0/args/v: `${vars.x}` refers to the variable `x`, which nobody gives (declare `x` among the plan's inputs)"],
    );
}
