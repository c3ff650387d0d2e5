//! The expected times of the steps of a plan, from which the time that a run has left is estimated.

use std::collections::HashSet;
use std::time::Duration;

use planwright_core::PlanDigest;
use planwright_core::check::CheckedPlan;

use super::cost_model::CostModel;
use crate::durations::Durations;
use crate::schedule::ConcurrencyLimits;

/// The expected times of one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepTime {
    /// The time of its action: of one item, or one round.
    pub once: Duration,
    /// The number of its items, if they are known before the run; 1 without a loop.
    pub items: u64,
    /// The maximum number of concurrent items.
    pub parallelism: u64,
    /// The longest path from its end to that of the plan.
    pub after: Duration,
}

impl StepTime {
    /// Returns the time that a number of its items takes.
    pub fn of_items(&self, items: u64) -> Duration {
        let waves = items.div_ceil(self.parallelism.max(1));
        self.once
            .saturating_mul(u32::try_from(waves).unwrap_or(u32::MAX))
    }
}

/// The expected times of the steps of `plan`, in plan order; `None` if it calls a tool whose duration is not known.
pub fn step_times(
    plan: &CheckedPlan,
    durations: &Durations,
    limits: &ConcurrencyLimits,
) -> Option<Vec<StepTime>> {
    if !are_known(plan, durations, &mut HashSet::new()) {
        return None;
    }
    let mut costs = CostModel::new(durations, limits);
    // The longest path from each step to the end is what still has to pass once the step has ended.
    let after = costs.paths(plan, 0).after;
    let steps = plan.plan().steps.iter().zip(plan.steps());
    let times = steps.zip(after).map(|((step, checked), after)| {
        let over = step.for_each.as_ref();
        let items = over.and_then(|for_each| for_each.over.as_literal()?.as_list());
        StepTime {
            once: Duration::from_micros(costs.action(step, checked)),
            items: items.map_or(1, |items| items.len() as u64),
            parallelism: costs.parallelism(step, checked),
            after: Duration::from_micros(after),
        }
    });
    Some(times.collect())
}

/// Returns true if the durations of all tools that a plan calls are known. `seen` has the digests of the plans that
/// were visited.
fn are_known(plan: &CheckedPlan, durations: &Durations, seen: &mut HashSet<PlanDigest>) -> bool {
    plan.steps()
        .iter()
        .all(|step| match (&step.tool, &step.plan) {
            (Some(tool), _) => durations.of(&tool.server, &tool.name).is_some(),
            (None, Some(inner)) => {
                // A plan may run the same inner plan many times, and nested plans would multiply the visits.
                !seen.insert(inner.digest().clone()) || are_known(inner, durations, seen)
            }
            (None, None) => true,
        })
}
