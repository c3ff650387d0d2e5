//! The order of steps, for dialects that express less of it than a plan.

use std::collections::HashSet;
use std::sync::Arc;

use planwright_core::plan::{Action, Form, OnFailure, Ordering, Source, Step};
use planwright_core::{Place, Plan};

use super::LossReport;
use crate::document::quote;

/// Reports each step that the step at `position` follows without reading its output.
pub(crate) fn report_order(plan: &Plan, position: usize, losses: &mut LossReport<'_>) {
    let Some(step) = plan.steps.get(position) else {
        return;
    };
    let sources = sources_of(step);
    let mut report = |other: &str, place: Place| {
        if !sources.contains(other) {
            let (step, other) = (quote(step.id.as_str()), quote(other));
            let what = format!("that step {step} comes after {other} without using its output");
            losses.error(place, &what);
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

/// Returns true if the step at `position` follows a step whose output it does not read.
pub(crate) fn follows_without_reading(plan: &Plan, position: usize) -> bool {
    let step = &plan.steps[position];
    let sources = sources_of(step);
    let before = position.checked_sub(1).map(|at| plan.steps[at].id.as_str());
    let before = before.filter(|_| plan.ordering == Ordering::Listed);
    let mut names = step.after.iter().map(|name| &*name.text).chain(before);
    names.any(|name| !sources.contains(name))
}

/// Reports the first step that runs although the step listed before it failed. Dialects that write listed order as a
/// chain of dependencies skip it.
pub(crate) fn report_chain(plan: &Plan, losses: &mut LossReport<'_>) {
    // With `keep_going`, an unrelated step runs after the failure of the previous one; a chain of dependencies would
    // skip it.
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
            losses.warning(step.place, &what);
            return;
        }
    }
}

/// The dependencies of each step: the names in `after`, the step listed before it if order counts, and the steps whose
/// outputs or results it reads. Names are as written, without duplicates.
///
/// The systems of some dialects infer no order from references.
pub(crate) fn dependencies(plan: &Plan) -> Vec<Vec<Arc<str>>> {
    let mut all = Vec::with_capacity(plan.steps.len());
    for (position, step) in plan.steps.iter().enumerate() {
        let mut seen = HashSet::new();
        let mut after: Vec<Arc<str>> = Vec::new();
        let mut add = |name: &Arc<str>| {
            if seen.insert(Arc::clone(name)) {
                after.push(Arc::clone(name));
            }
        };
        step.after.iter().for_each(|name| add(&name.text));
        let before = position.checked_sub(1).and_then(|at| plan.steps.get(at));
        if let Some(before) = before.filter(|_| plan.ordering == Ordering::Listed) {
            add(before.id.text());
        }
        step.args.each_reference(&mut |reference| {
            for read in reference.reads() {
                if let Source::Step(id) | Source::Result(id) = &read.source {
                    add(id.text());
                }
            }
        });
        all.push(after);
    }
    all
}

/// The steps whose failure makes `step` skipped, because it reads their outputs.
fn sources_of(step: &Step) -> HashSet<&str> {
    let mut sources = HashSet::new();
    let value = match &step.action {
        Action::Value(node) => Some(node),
        Action::Tool(_) | Action::Plan(_) => None,
    };
    for node in value.into_iter().chain([&step.args]) {
        node.each_reference(&mut |reference| {
            // Each of several alternatives may be missing, and a later one is not waited for.
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
