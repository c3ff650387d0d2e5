//! Orders of steps, for dialects that know none but the one that data makes.

use std::collections::HashSet;

use planwright_core::plan::{Action, Ordering, Source, Step};
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

fn sources_of(step: &Step) -> HashSet<&str> {
    let mut sources = HashSet::new();
    let value = match &step.action {
        Action::Value(node) => Some(node),
        Action::Tool(_) | Action::Plan(_) => None,
    };
    for node in value.into_iter().chain([&step.args]) {
        node.each_reference(&mut |reference| {
            for read in reference.reads() {
                if let Source::Step(id) = &read.source {
                    sources.insert(id.as_str());
                }
            }
        });
    }
    sources
}
