//! The step positions stored in reads.

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
