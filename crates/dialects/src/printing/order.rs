//! Orders of steps, for dialects that say less of them than a plan may.

use std::collections::HashSet;

use planwright_core::plan::{Action, Form, OnFailure, Ordering, Source, Step};
use planwright_core::{Place, Plan};

use super::Unsaid;
use crate::document::quote;

/// Reports each step that the one at `position` comes after without taking data from it.
pub(crate) fn report_order(plan: &Plan, position: usize, unsaid: &mut Unsaid<'_>) {
    let Some(step) = plan.steps.get(position) else {
        return;
    };
    let sources = sources_of(step);
    let mut report = |other: &str, place: Place| {
        if !sources.contains(other) {
            let (step, other) = (quote(step.id.as_str()), quote(other));
            let what = format!("that step {step} comes after {other} without using its output");
            unsaid.error(place, &what);
        }
    };
    for name in &step.after {
        report(&name.text, name.place);
    }
    let before = position
        .checked_sub(1)
        .and_then(|before| plan.steps.get(before));
    if let Some(before) = before.filter(|_| plan.ordering == Ordering::Listed) {
        report(before.id.as_str(), step.place);
    }
}

/// Reports the first step that runs though the one listed before it failed, for dialects in which each step depends on the one
/// before it where order counts: there it is skipped.
pub(crate) fn report_chain(plan: &Plan, unsaid: &mut Unsaid<'_>) {
    if plan.ordering != Ordering::Listed || plan.on_failure != OnFailure::KeepGoing {
        return;
    }
    let pairs = plan.steps.iter().zip(plan.steps.iter().skip(1));
    for (before, step) in pairs {
        let id = before.id.as_str();
        let is_bound = sources_of(step).contains(id) || step.after.iter().any(|it| *it.text == *id);
        if !is_bound {
            let (step_id, before) = (quote(step.id.as_str()), quote(id));
            let what = format!("that step {step_id} runs though {before} before it failed");
            unsaid.warning(step.place, &what);
            return;
        }
    }
}

/// The steps without whose outputs `step` is skipped.
fn sources_of(step: &Step) -> HashSet<&str> {
    let mut sources = HashSet::new();
    let value = match &step.action {
        Action::Value(node) => Some(node),
        Action::Tool(_) | Action::Plan(_) => None,
    };
    for node in value.into_iter().chain([&step.args]) {
        node.each_reference(&mut |reference| {
            // Of several alternatives each may be missing, and a later one is not waited for.
            if matches!(&reference.form, Form::First(alternatives) if alternatives.len() > 1) {
                return;
            }
            for read in reference.reads() {
                if let Source::Step(id) = &read.source {
                    sources.insert(id.as_str());
                }
            }
        });
    }
    sources
}
