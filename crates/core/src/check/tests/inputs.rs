//! Inputs and external values: their allowed locations, and the tools that may receive them.

use super::fixture::{CheckFixture, plan};
use crate::check::{AllowList, Policy, Release, check_without_inputs};
use crate::plan::ExternalValue;

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
            "PW0206 at /inputs/n: the input `n` is not given and has no default (give it a value (`--var n=…` on the command line), or declare a default)",
            unused,
            default,
        ],
    );
    CheckFixture::with_tools(tools).inputs(r#"{"n": "many", "m": 1}"#).expect(
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
        &["?PW0505 at /inputs/n: the schema of the input `n` is malformed: `\"integre\"` is not allowed at `/type` (any value is accepted until it is fixed)"],
    );
}

#[test]
fn inputs_that_are_given_later() {
    let fixture =
        CheckFixture::with_tools(r#"{"e": {"in": {"properties": {"v": {"type": "string"}}}}}"#);
    let expect = |text: &str, expected: &[&str]| {
        let found = check_without_inputs(plan(text), &fixture.context());
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(found, expected, "in {text}");
    };
    let steps = r#""steps": [{"id": "a", "tool": "e", "args": {"v": "${inputs.n}"}}]"#;
    expect(
        &format!(r#"{{"inputs": {{"n": {{"type": "string"}}}}, {steps}}}"#),
        &[],
    );
    expect(&format!("{{{steps}}}"), &[]);
    expect(
        &format!(r#"{{"inputs": {{"n": {{"type": "integer"}}}}, {steps}}}"#),
        &[
            "PW0504 at /steps/0/args/v: the argument `v` of the tool `e` takes text, but `${inputs.n}` gives an integer (write `${string(inputs.n)}`)",
        ],
    );
    expect(
        &format!(r#"{{"inputs": {{"m": {{"default": 1}}}}, {steps}}}"#),
        &[
            "PW0801 at /inputs/m: the input `m` is never read (remove it, or refer to it)",
            "PW0205 at /steps/0/args/v: `${inputs.n}` refers to the input `n`, which is not provided (the only input is `m`)",
        ],
    );
}

#[test]
fn values() {
    let fixture = CheckFixture::with_tools(r#"{"e": {}}"#).inputs(r#"{"a": 5, "x": true}"#);
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
    let check = |schema: &str, inputs: &str, message: &str| {
        let plan = format!(
            r#"{{"inputs": {{"k": {schema}}}, "steps": [{{"id": "a", "tool": "e", "args": {{"v": "${{inputs.k}}"}}}}]}}"#
        );
        let wanted = format!(
            "PW0506 at /inputs/k: what the input `k` is given does not fit its schema: {message}"
        );
        CheckFixture::with_tools(r#"{"e": {}}"#)
            .inputs(&format!(r#"{{"k": {inputs}}}"#))
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
        &format!("{hidden} is not an allowed value"),
    );
    check(
        &text(r#""const": "hunter1""#),
        secret,
        &format!("{hidden} is not an allowed value"),
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
        &format!("{hidden} is excluded by the schema"),
    );
}

#[test]
fn the_type_of_a_secret_does_not_tell_it() {
    let plan = r#"{"inputs": {"k": {"type": "string", "writeOnly": true}}, "steps": [{"id": "a", "tool": "n", "args": {"v": "${inputs.k}"}}]}"#;
    let tools = r#"{"n": {"in": {"properties": {"v": {"type": "number"}}}}}"#;
    CheckFixture::with_tools(tools).inputs(r#"{"k": "hunter2"}"#).expect(
        plan,
        &["PW0504 at /steps/0/args/v: the argument `v` of the tool `n` takes a number, but `${inputs.k}` gives text (write `${double(inputs.k)}` for the number in the text)"],
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

/// Checks a plan of these steps; two tools may receive `HOME`, and one of them `KEY`.
#[track_caller]
fn check(steps: &str, expected: &[&str]) {
    fixture().expect(&format!(r#"{{"steps": [{steps}]}}"#), expected);
}

fn fixture() -> CheckFixture {
    let mut mine = AllowList::from_iter(["a", "b"]);
    mine.set_in = Some("planwright.toml:7".into());
    let theirs = AllowList::from_iter(["a"]);
    let mut fixture = CheckFixture::with_tools(
        r#"{"a": {}, "b": {}, "c": {"in": {"type": "object", "properties": {"x": {}}}}}"#,
    );
    fixture.policy = Policy::new()
        .release(release(
            ExternalValue::Environment,
            "HOME",
            vec![mine.clone()],
        ))
        .release(release(ExternalValue::Secrets, "KEY", vec![mine, theirs]));
    fixture
}

fn release(what: ExternalValue, name: &str, tools: Vec<AllowList>) -> Release {
    Release {
        what,
        name: name.into(),
        tools,
    }
}

#[test]
fn the_arguments_of_tools_that_are_listed() {
    check(
        r#"{"id": "1", "tool": "a", "args": {"x": "${env.HOME}", "y": "key ${secrets.KEY}"}}, {"id": "2", "tool": "b", "args": {"x": ["${env.HOME}"]}}"#,
        &[],
    );
    check(
        r#"{"id": "1", "tool": "c", "args": {"x": "${env.HOME}"}}, {"id": "2", "tool": "b", "args": {"x": "${secrets.KEY}"}}"#,
        &[
            "PW0604 at /steps/0/args/x: the tool `test.c` may not be given `env.HOME` (it is for `a`, `b` in `planwright.toml:7`: add `test.c` there if it may have it)",
            "PW0604 at /steps/1/args/x: the tool `test.b` may not be given `secrets.KEY` (it is for `a`: add `test.b` there if it may have it)",
        ],
    );
    check(
        r#"{"id": "1", "tool": "a", "args": {"x": "${secrets.HOME}", "y": "${env.KEY}"}}"#,
        &[
            "PW0604 at /steps/0/args/x: the tool `test.a` may not be given `secrets.HOME` (if it may have it, write `[secrets.HOME]` with `tools = [\"test.a\"]` and `env = \"VARIABLE\"` or `file = \"PATH\"` in your own planwright.toml)",
            "PW0604 at /steps/0/args/y: the tool `test.a` may not be given `env.KEY` (if it may have it, write `KEY = [\"test.a\"]` below `[env]` in your own planwright.toml)",
        ],
    );
}

#[test]
fn positional_arguments() {
    check(
        r#"{"id": "1", "tool": "c", "positional": ["${env.HOME}"]}"#,
        &[
            "PW0604 at /steps/0/positional/0: the tool `test.c` may not be given `env.HOME` (it is for `a`, `b` in `planwright.toml:7`: add `test.c` there if it may have it)",
        ],
    );
}

#[test]
fn elsewhere_than_in_arguments() {
    let at = |pointer: &str| {
        format!(
            "PW0603 at {pointer}: `${{env.HOME}}` is used outside the arguments of a tool (external values can only be passed to tools: move it into the step that needs it)"
        )
    };
    check(
        r#"{"id": "1", "value": "${env.HOME}"}, {"id": "2", "tool": "a", "when": "${env.HOME}"}"#,
        &[&at("/steps/0/value"), &at("/steps/1/when")],
    );
    fixture().expect(
        r#"{"steps": [{"id": "1", "tool": "a"}], "output": {"home": "${env.HOME}"}}"#,
        &[&at("/output/home")],
    );
    let fixture = fixture().plan("p", r#"{"inputs": {"x": {}}, "steps": [{"id": "1", "tool": "a", "args": {"x": "${inputs.x}"}}]}"#);
    fixture.expect(
        r#"{"steps": [{"id": "1", "plan": "p", "args": {"x": "${env.HOME}"}}]}"#,
        &[&at("/steps/0/args/x")],
    );
}

#[test]
fn more_than_the_name() {
    check(
        r#"{"id": "1", "tool": "a", "args": {"x": "${env.HOME.x}", "y": "${env.HOME ?? 'none'}", "z": "${size(env.HOME)}", "w": "${env.HOME?}"}}"#,
        &[
            "PW0603 at /steps/0/args/x: `env.HOME` is a text, and `${env.HOME.x}` reads a part of it (write nothing after the name)",
            "PW0603 at /steps/0/args/y: `${env.HOME ?? 'none'}` computes with `env.HOME`, which can only be passed on (write the name alone, as the whole argument or in the middle of a text)",
            "PW0603 at /steps/0/args/z: `${size(env.HOME)}` computes with `env.HOME`, which can only be passed on (write the name alone, as the whole argument or in the middle of a text)",
            "PW0603 at /steps/0/args/w: `env.HOME` is a text, and `${env.HOME?}` reads a part of it (write nothing after the name)",
        ],
    );
}

#[test]
fn a_tool_that_there_is_not() {
    check(
        r#"{"id": "1", "tool": "nothing", "args": {"x": "${env.HOME}"}}"#,
        &["PW0201 at /steps/0/tool: there is no tool `nothing` (the tools are `a`, `b`, `c`)"],
    );
}

#[test]
fn whatever_is_asked_for() {
    let mut fixture = fixture();
    fixture.policy = Policy::new().allow_all_releases();
    fixture.expect(
        r#"{"steps": [{"id": "1", "tool": "c", "args": {"x": "${env.ANY}"}}]}"#,
        &[],
    );
}

#[test]
fn a_checked_plan_knows_its_reads() {
    let mut fixture = fixture();
    fixture.policy = Policy::new().allow_all_releases();
    let fixture = fixture.plan(
        "p",
        r#"{"steps": [{"id": "1", "tool": "c", "args": {"x": "${env.INNER}"}}]}"#,
    );
    let (checked, _) = fixture.check(
        r#"{"steps": [
            {"id": "1", "tool": "a", "args": {"x": "${secrets.KEY}", "y": ["${env.HOME} and ${env.HOME}"]}},
            {"id": "2", "plan": "p"}
        ]}"#,
    );
    let names: Vec<String> = checked
        .expect("a sound plan")
        .outside()
        .iter()
        .map(|(what, name)| format!("{what}.{name}"))
        .collect();
    assert_eq!(names, ["env.HOME", "env.INNER", "secrets.KEY"]);
}
