//! The input pass.

use super::fixture::CheckFixture;

#[test]
fn inputs() {
    let tools = r#"{"e": {}}"#;
    let plan = r#"{"inputs": {"n": {"type": "integer"}, "list": {"type": "array", "items": {"type": "string"}, "default": ["a", 1]}}, "steps": [{"id": "a", "tool": "e", "args": {"v": "${inputs.n}"}}]}"#;
    let default = "PW0506 at /inputs/list/default/1: the default of the input `list` does not fit its schema: `1` is a number, not text";
    let unused =
        "?PW0801 at /inputs/list: the input `list` is never read (remove it, or refer to it)";
    CheckFixture::with_tools(tools).expect(
        plan,
        &[
            "PW0206 at /inputs/n: the input `n` is not given and has no default (give it a value, or declare a default)",
            unused,
            default,
        ],
    );
    CheckFixture::with_tools(tools).given(r#"{"n": "many", "m": 1}"#).expect(
        plan,
        &[
            "?PW0205: a value is given for `m`, which the plan does not know (the inputs are `list`, `n`)",
            r#"PW0506 at /inputs/n: what the input `n` is given does not fit its schema: `"many"` is text, not an integer"#,
            unused,
            default,
        ],
    );
    CheckFixture::with_tools(tools).expect(
        r#"{"inputs": {"n": {"type": "integre", "default": 1}}, "steps": [{"id": "a", "tool": "e", "args": {"v": "${inputs}"}}]}"#,
        &["?PW0505 at /inputs/n: the schema of the input `n` is malformed: `\"integre\"` cannot stand at `/type` (any value is accepted until it is fixed)"],
    );
}

#[test]
fn values() {
    let fixture = CheckFixture::with_tools(r#"{"e": {}}"#).given(r#"{"a": 5, "x": true}"#);
    let (checked, _) = fixture.check(
        r#"{"inputs": {"a": {"default": 1}, "b": {"default": 2}}, "steps": [{"id": "s", "tool": "e", "args": {"v": "${inputs.a + inputs.b}", "x": "${inputs.x}"}}]}"#,
    );
    let checked = checked.expect("a sound plan");
    let values = crate::Value::from(checked.inputs().clone());
    assert_eq!(values.to_json(), r#"{"a":5,"b":2,"x":true}"#);
}

#[test]
fn variables_are_no_inputs() {
    let fixture = CheckFixture::with_tools(r#"{"e": {}}"#);
    let plan = |declared: &str, read: &str| {
        format!(
            r#"{{{declared}, "steps": [{{"id": "s", "tool": "e", "args": {{"v": "{read}"}}}}]}}"#
        )
    };
    let unused = "?PW0801 at /inputs/x: the input `x` is never read (remove it, or refer to it)";
    fixture.expect(&plan(r#""variables": {"x": 1}"#, "${vars.x}"), &[]);
    fixture.expect(&plan(r#""variables": {"x": 1}"#, "${vars}"), &[]);
    fixture.expect(
        &plan(r#""inputs": {"x": {"default": 1}}"#, "${vars}"),
        &[unused],
    );
    fixture.expect(
        &plan(r#""inputs": {"x": {"default": 1}}"#, "${vars.x}"),
        &["PW0205 at /steps/0/args/v: `${vars.x}` refers to the variable `x`, which is not provided (declare `x` among the plan's inputs)"],
    );
}

#[test]
fn a_secret_is_never_quoted() {
    let hidden = "the value, which is secret and not shown,";
    let check = |schema: &str, given: &str, message: &str| {
        let plan = format!(
            r#"{{"inputs": {{"k": {schema}}}, "steps": [{{"id": "a", "tool": "e", "args": {{"v": "${{inputs.k}}"}}}}]}}"#
        );
        let wanted = format!(
            "PW0506 at /inputs/k: what the input `k` is given does not fit its schema: {message}"
        );
        CheckFixture::with_tools(r#"{"e": {}}"#)
            .given(&format!(r#"{{"k": {given}}}"#))
            .expect(&plan, &[&wanted]);
    };
    let text = |rule: &str| format!(r#"{{"type": "string", "writeOnly": true, {rule}}}"#);
    let secret = r#""hunter2-S3CRET""#;
    check(
        &text(r#""minLength": 40"#),
        secret,
        &format!("{hidden} is shorter than 40 characters"),
    );
    check(
        &text(r#""pattern": "^[0-9]+$""#),
        secret,
        &format!("{hidden} does not match the pattern `^[0-9]+$`"),
    );
    check(
        &text(r#""enum": ["hunter1", "hunter3"]"#),
        secret,
        &format!("{hidden} is none of those that are allowed"),
    );
    check(
        &text(r#""const": "hunter1""#),
        secret,
        &format!("{hidden} is none of those that are allowed"),
    );
    check(
        &text(r#""format": "password""#),
        "4711",
        &format!("{hidden} is not text"),
    );
    check(
        r#"{"writeOnly": true, "oneOf": [{"type": "integer"}, {"type": "boolean"}]}"#,
        secret,
        &format!("{hidden} is not an integer or a boolean"),
    );
    // Secrets inside an object and inside list items.
    check(
        r#"{"properties": {"token": {"type": "string", "writeOnly": true, "maxLength": 3}}}"#,
        r#"{"token": "hunter2"}"#,
        &format!("{hidden} is longer than 3 characters"),
    );
    check(
        r#"{"type": "array", "items": {"type": "object", "properties": {"token": {"writeOnly": true, "additionalProperties": false}}}}"#,
        r#"[{"token": {"hunter2": 1}}]"#,
        &format!("{hidden} has a field that is not known"),
    );
    // A default that contains a secret is not quoted either.
    check(
        r#"{"not": {"type": "object"}, "properties": {"token": {"writeOnly": true}}}"#,
        r#"{"token": "hunter2"}"#,
        &format!("{hidden} is a value that is ruled out"),
    );
}

#[test]
fn the_type_of_a_secret_does_not_tell_it() {
    let plan = r#"{"inputs": {"k": {"type": "string", "writeOnly": true}}, "steps": [{"id": "a", "tool": "n", "args": {"v": "${inputs.k}"}}]}"#;
    let tools = r#"{"n": {"in": {"properties": {"v": {"type": "number"}}}}}"#;
    CheckFixture::with_tools(tools).given(r#"{"k": "hunter2"}"#).expect(
        plan,
        &["PW0504 at /steps/0/args/v: the argument `v` of the tool `n` takes a number, but `${inputs.k}` gives text"],
    );
}

#[test]
fn the_line_of_a_secret_default_is_not_shown() {
    let (_, diagnostics) = CheckFixture::with_tools(r#"{"e": {}}"#).check(
        r#"{"inputs": {"k": {"writeOnly": true, "minLength": 9, "default": "hunter2"}}, "steps": [{"id": "a", "tool": "e", "args": {"v": "${inputs.k}"}}]}"#,
    );
    let found = diagnostics.iter().next().unwrap();
    assert_eq!((&*found.pointer, found.span), ("/inputs/k/default", None));
    assert!(!found.message.contains("hunter2"), "{}", found.message);
}
