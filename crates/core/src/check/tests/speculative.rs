//! Steps that may start before their plan is complete.

use super::fixture::{CheckFixture, plan};
use crate::check::Policy;
use crate::plan::Approval;
use crate::{Catalog, Tool};

/// A catalog with a trusted server, some of whose tools are read-only.
fn catalog() -> Catalog {
    let tool = |name: &str, change: &dyn Fn(&mut Tool)| {
        let mut tool = Tool::new("test", name);
        tool.annotations.trusted = true;
        tool.annotations.read_only = true;
        change(&mut tool);
        tool
    };
    Catalog::from_iter([
        tool("read", &|_| {}),
        tool("asked", &|tool| tool.approval = true),
        tool("write", &|tool| tool.annotations.read_only = false),
        tool("says", &|tool| tool.annotations.trusted = false),
    ])
}

fn fixture() -> CheckFixture {
    let fixture = CheckFixture {
        catalog: catalog(),
        policy: Policy::new().allow_all_releases(),
        ..CheckFixture::default()
    };
    fixture
        .plan(
            "reads",
            r#"{"steps": [{"id": "1", "tool": "read"}, {"id": "2", "value": 5}]}"#,
        )
        .plan(
            "writes",
            r#"{"steps": [{"id": "1", "tool": "read"}, {"id": "2", "tool": "write"}]}"#,
        )
}

/// Compares the steps that may start early.
#[track_caller]
fn check(text: &str, expected: &[&str]) {
    let (checked, diagnostics) = fixture().check(text);
    let checked = checked.unwrap_or_else(|| panic!("{diagnostics:?} in {text}"));
    let early: Vec<&str> = (0..checked.steps().len())
        .filter(|step| checked.can_start_speculatively(*step))
        .map(|step| checked.plan().steps[step].id.as_str())
        .collect();
    assert_eq!(early, expected, "in {text}");
    assert!(!checked.can_start_speculatively(checked.steps().len()));
}

#[test]
fn steps_that_certainly_have_no_effect() {
    check(
        r#"{"steps": [{"id": "r", "tool": "read"}, {"id": "a", "tool": "asked"}, {"id": "w", "tool": "write"}, {"id": "s", "tool": "says"}, {"id": "v", "value": "${r}"}]}"#,
        &["r", "v"],
    );
}

#[test]
fn sub_plans_whose_steps_all_may_start_early() {
    check(
        r#"{"steps": [{"id": "r", "plan": "reads"}, {"id": "w", "plan": "writes"}, {"id": "s", "plan": "reads", "scopes": ["vars"]}]}"#,
        &["r"],
    );
}

#[test]
fn nothing_from_outside() {
    check(
        r#"{"steps": [{"id": "e", "tool": "read", "args": {"x": "${env.HOME}"}}, {"id": "r", "tool": "read", "args": {"x": "home"}}]}"#,
        &["r"],
    );
}

#[test]
fn nothing_secret() {
    let steps = r#""steps": [{"id": "i", "tool": "read", "args": {"x": "${inputs.who}"}}, {"id": "r", "tool": "read"}]"#;
    check(
        &format!(r#"{{"inputs": {{"who": {{"type": "string", "default": "me"}}}}, {steps}}}"#),
        &["i", "r"],
    );
    check(
        &format!(
            r#"{{"inputs": {{"who": {{"type": "string", "default": "me"}}, "key": {{"writeOnly": true, "default": "x"}}}}, {steps}}}"#
        ),
        &["r"],
    );
}

#[test]
fn slots_whose_writers_are_there() {
    check(
        r#"{"data": {"k": 1}, "steps": [{"id": "a", "tool": "read", "args": {"x": "${slots.data.k}"}}]}"#,
        &[],
    );
    check(
        r#"{"steps": [{"id": "w", "tool": "read", "writes": "data.k"}, {"id": "a", "tool": "read", "args": {"x": "${slots.data.k}"}}]}"#,
        &["w", "a"],
    );
    check(
        r#"{"state": {"k": 1}, "steps": [{"id": "a", "tool": "read", "args": {"x": "${slots.state.k}"}}]}"#,
        &[],
    );
}

#[test]
fn steps_with_approval_do_not_start_early() {
    let mut plan = plan(r#"{"steps": [{"id": "r", "tool": "read"}, {"id": "s", "tool": "read"}]}"#);
    plan.steps[0].approval = Approval::Ask;
    let (checked, _) = fixture().check_plan(plan);
    let checked = checked.expect("a sound plan");
    assert!(!checked.can_start_speculatively(0) && checked.can_start_speculatively(1));
}
