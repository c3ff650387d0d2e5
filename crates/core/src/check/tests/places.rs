//! Places of diagnostics, and safe fixes, which have only one possible meaning.

use super::fixture::{CheckFixture, plan};
use crate::check::{CheckedPlan, check as check_plan};
use crate::plan::Output;
use crate::{Plan, Step};

const STEPS: &str = r#"{"steps": [
    {"id": "a", "tool": "e"},
    {"id": "b", "tool": "e", "args": {"x": ["${a.v}", {"y": "to ${a} and ${results.a.success}"}], "z": "${c}"}},
    {"id": "c", "tool": "e", "on_error": "${results.c.error}"},
    {"id": "d", "value": {"v": "${b ?? c}"}, "when": "${a.v > b.v}", "for_each": "${b.list}"},
    {"id": "e", "tool": "e", "args": {"v": "${item}"}, "for_each": "${d}"}
], "output": {"v": "${d}"}}"#;

/// Returns the positions stored in the reads of each step, then those of the output.
fn known(plan: &CheckedPlan) -> Vec<Vec<Option<u32>>> {
    let of_step = |step: &Step| {
        let mut known = Vec::new();
        step.each_node(&mut |node, _| {
            node.each_reference(&mut |reference| {
                known.extend(reference.reads().iter().map(|read| read.step_position()));
            });
        });
        known
    };
    let mut all: Vec<_> = plan.plan().steps.iter().map(of_step).collect();
    if let Output::Value(node) = &plan.plan().output {
        let mut known = Vec::new();
        node.each_reference(&mut |reference| {
            known.extend(reference.reads().iter().map(|read| read.step_position()));
        });
        all.push(known);
    }
    all
}

#[track_caller]
fn check(plan: Plan, expected: &[&[Option<u32>]]) -> CheckedPlan {
    let fixture = CheckFixture::with_tools(r#"{"e": {}}"#);
    let (checked, diagnostics) = check_plan(plan, &fixture.context());
    let checked = checked.unwrap_or_else(|| panic!("{diagnostics:?}"));
    assert_eq!(known(&checked), expected);
    checked
}

#[test]
fn reads_store_the_positions_of_their_steps() {
    check(
        plan(STEPS),
        &[
            &[],
            &[Some(0), Some(0), Some(0), Some(2)],
            &[Some(2)],
            // Expressions are shared with other plans, so their reads use ids.
            &[Some(1), Some(2), None, None, Some(1)],
            &[None, Some(3)],
            &[Some(3)],
        ],
    );
}

#[test]
fn positions_belong_to_one_plan() {
    let (first, _) = CheckFixture::with_tools(r#"{"e": {}}"#).check(STEPS);
    let mut moved = first.expect("a sound plan").plan().clone();
    moved.steps.reverse();
    let before = plan(STEPS).steps;
    assert_eq!(
        moved.steps.iter().rev().collect::<Vec<_>>(),
        before.iter().collect::<Vec<_>>()
    );
    check(
        moved,
        &[
            &[None, Some(1)],
            &[Some(3), Some(2), None, None, Some(3)],
            &[Some(2)],
            &[Some(4), Some(4), Some(4), Some(2)],
            &[],
            &[Some(1)],
        ],
    );
}

const TOOLS: &str = r#"{
    "w": {"in": {"type": "object", "properties": {"text": {"type": "string"}, "count": {}, "counts": {}}, "additionalProperties": false}},
    "shop.list": {},
    "mail.list": {},
    "mail.send": {}
}"#;

/// Compares the fixes for a plan of this one step.
#[track_caller]
fn check_fix(step: &str, expected: &[&str]) {
    let (_, diagnostics) =
        CheckFixture::with_tools(TOOLS).check(&format!(r#"{{"steps": [{step}]}}"#));
    assert!(diagnostics.has_errors(), "in {step}");
    let fixes: Vec<String> = diagnostics
        .iter()
        .filter_map(|diagnostic| diagnostic.fix.as_ref())
        .map(|fix| format!("{:?} at {}: {}", fix.part, fix.pointer, fix.replacement))
        .collect();
    assert_eq!(fixes, expected, "in {step}");
}

#[test]
fn a_parameter_that_only_one_is_near_to() {
    check_fix(
        r#"{"id": "s", "tool": "w", "args": {"txet": "a"}}"#,
        &["Key at /steps/0/args/txet: text"],
    );
    check_fix(r#"{"id": "s", "tool": "w", "args": {"coun": 1}}"#, &[]);
    check_fix(r#"{"id": "s", "tool": "w", "args": {"other": 1}}"#, &[]);
}

#[test]
fn a_parameter_that_is_given_already() {
    check_fix(
        r#"{"id": "s", "tool": "w", "args": {"txet": "a", "text": "b"}}"#,
        &[],
    );
    check_fix(
        r#"{"id": "s", "tool": "w", "args": {"txet": "a", "count": 1}}"#,
        &["Key at /steps/0/args/txet: text"],
    );
}

#[test]
fn a_tool_that_only_one_is_near_to() {
    check_fix(
        r#"{"id": "s", "tool": "sned"}"#,
        &["Value at /steps/0/tool: send"],
    );
    check_fix(
        r#"{"id": "s", "tool": "mail.lsit"}"#,
        &["Value at /steps/0/tool: mail.list"],
    );
    check_fix(r#"{"id": "s", "tool": "lsit"}"#, &[]);
}
