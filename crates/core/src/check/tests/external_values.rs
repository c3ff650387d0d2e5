//! External values: their allowed locations, and the tools that may receive them.

use super::fixture::CheckFixture;
use crate::check::{AllowList, Policy, Release};
use crate::plan::ExternalValue;

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
