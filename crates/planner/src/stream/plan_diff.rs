//! Comparison of two versions of a plan, step by step.

use std::collections::BTreeSet;

use planwright_core::{CheckContext, CheckedPlan, StepId, check};

/// Returns whether a run of `before` can continue with `now`: `now` begins with the steps of `before`, unchanged in meaning, inputs
/// and settings, and no step that may have started waits for anything else.
pub(super) fn extends(before: &CheckedPlan, now: &CheckedPlan, context: &CheckContext<'_>) -> bool {
    let steps = before.steps().len();
    if now.steps().len() < steps {
        return false;
    }
    // Later steps may change what earlier ones mean, so the beginning is checked on its own.
    let (beginning, _) = check(now.plan().beginning(steps), context);
    let mut pairs = before.steps().iter().zip(now.steps());
    beginning.is_some_and(|beginning| beginning.digest() == before.digest())
        && pairs.all(|(old, new)| {
            // Steps that cannot have started may wait for anything.
            !before.can_start_speculatively(old.index as usize)
                || (old.dependencies == new.dependencies
                    && old.initial_dependencies == new.initial_dependencies)
        })
}

/// Returns the steps of `before` whose results `now` cannot reuse: steps that are missing or changed, steps that wait for
/// different steps, and all steps that depend on one of these.
pub(super) fn discarded_steps(before: &CheckedPlan, now: &CheckedPlan) -> Vec<StepId> {
    let mut discarded: BTreeSet<usize> = (0..before.steps().len())
        .filter(|step| !is_unchanged(*step, before, now))
        .collect();
    loop {
        let more: Vec<usize> = before
            .steps()
            .iter()
            .filter(|step| {
                let mut dependencies = step.dependencies.iter();
                dependencies.any(|dependency| discarded.contains(&(dependency.on as usize)))
            })
            .map(|step| step.index as usize)
            .filter(|step| !discarded.contains(step))
            .collect();
        if more.is_empty() {
            break;
        }
        discarded.extend(more);
    }
    let steps = before.plan().steps.iter().enumerate();
    steps
        .filter(|(index, _)| discarded.contains(index))
        .map(|(_, step)| step.id.clone())
        .collect()
}

fn is_unchanged(step: usize, before: &CheckedPlan, now: &CheckedPlan) -> bool {
    let Some(id) = before.plan().steps.get(step).map(|step| step.id.as_str()) else {
        return false;
    };
    let Some(index) = now.step_index(id).map(|index| index as usize) else {
        return false;
    };
    // Ids, since the index of a step may differ between the plans.
    let dependencies = |plan: &CheckedPlan, step: usize| -> BTreeSet<String> {
        let checked = plan.steps().get(step);
        let dependencies = checked.into_iter().flat_map(|step| &step.dependencies);
        let ids =
            dependencies.filter_map(|dependency| plan.plan().steps.get(dependency.on as usize));
        ids.map(|step| step.id.to_string()).collect()
    };
    now.step_digest(index) == before.step_digest(step)
        && dependencies(before, step) == dependencies(now, index)
}
