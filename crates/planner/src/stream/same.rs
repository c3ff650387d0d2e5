//! Which steps of a plan are still the same in another.

use std::collections::BTreeSet;

use planwright_core::{CheckContext, CheckedPlan, StepId, check};

/// Whether `now` is `before` with further steps, so that a run of `before` can go on with it: its first steps mean the same, what
/// the plan is given and how it goes about it included, and those that may have started wait for nothing else.
pub(super) fn goes_on(before: &CheckedPlan, now: &CheckedPlan, context: &CheckContext<'_>) -> bool {
    let steps = before.steps().len();
    if now.steps().len() < steps {
        return false;
    }
    let (beginning, _) = check(now.plan().beginning(steps), context);
    let mut pairs = before.steps().iter().zip(now.steps());
    beginning.is_some_and(|beginning| beginning.digest() == before.digest())
        && pairs.all(|(old, new)| {
            !before.may_start_early(old.index as usize)
                || (old.dependencies == new.dependencies && old.first_waits == new.first_waits)
        })
}

/// The steps of `before` whose results are of no use to `now`: those that it does not have, or has otherwise, or that wait for others
/// than they did, or for one of these.
pub(super) fn forgotten(before: &CheckedPlan, now: &CheckedPlan) -> Vec<StepId> {
    let mut gone: BTreeSet<usize> = (0..before.steps().len())
        .filter(|step| !is_same(*step, before, now))
        .collect();
    loop {
        let more: Vec<usize> = before
            .steps()
            .iter()
            .filter(|step| {
                let mut waits = step.dependencies.iter();
                waits.any(|dependency| gone.contains(&(dependency.on as usize)))
            })
            .map(|step| step.index as usize)
            .filter(|step| !gone.contains(step))
            .collect();
        if more.is_empty() {
            break;
        }
        gone.extend(more);
    }
    let steps = before.plan().steps.iter().enumerate();
    steps
        .filter(|(index, _)| gone.contains(index))
        .map(|(_, step)| step.id.clone())
        .collect()
}

fn is_same(step: usize, before: &CheckedPlan, now: &CheckedPlan) -> bool {
    let Some(id) = before.plan().steps.get(step).map(|step| step.id.as_str()) else {
        return false;
    };
    let Some(there) = now.step_index(id).map(|there| there as usize) else {
        return false;
    };
    let waits = |plan: &CheckedPlan, step: usize| -> BTreeSet<String> {
        let checked = plan.steps().get(step);
        let waits = checked.into_iter().flat_map(|step| &step.dependencies);
        let ids = waits.filter_map(|wait| plan.plan().steps.get(wait.on as usize));
        ids.map(|step| step.id.to_string()).collect()
    };
    now.step_digest(there) == before.step_digest(step) && waits(before, step) == waits(now, there)
}
