//! Effects of a new plan on a stored run: calls that the run must not forget, and results that the plan makes stale.

use std::collections::BTreeSet;
use std::sync::Arc;

use planwright_core::StepId;
use planwright_core::check::{CheckedPlan, DependencyKind};
use planwright_engine::StepStatus;
use planwright_engine::event::Address;
use planwright_engine::run::{History, PastCall};

use super::{StoredRunError, tools_of};

/// A call that happened, or may have, for a step that is not done, by a tool that must not be called twice for one thing. A plan that has
/// this step otherwise would make it again.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CalledStep {
    /// The step of the plan.
    pub step: StepId,
    /// The caller: the step itself, an item or round of it, or a step inside.
    pub at: Arc<Address>,
    /// The tool.
    pub tool: Arc<str>,
    /// True if it is known to have happened.
    pub happened: bool,
}

/// Returns the calls for `plan` that must not be forgotten, at most one for each step.
pub fn called_steps(history: &History, plan: &CheckedPlan) -> Vec<CalledStep> {
    let tools = tools_of(plan);
    let is_repeatable = |call: &PastCall| {
        let mut tools = tools.iter();
        tools.any(|tool| {
            tool.server == call.server && tool.name == call.tool && tool.is_repeatable()
        })
    };
    let is_outermost =
        |at: &Address| at.inside.is_none() && at.item.is_none() && at.round.is_none();
    let done: BTreeSet<&StepId> = history
        .steps()
        .filter(|(at, past)| {
            let end = past.settled.as_ref();
            is_outermost(at) && end.is_some_and(|end| end.status == StepStatus::Succeeded)
        })
        .map(|(at, _)| at.outermost())
        .collect();
    let mut pinned: Vec<CalledStep> = history
        .steps()
        .filter(|(at, _)| !done.contains(at.outermost()))
        .flat_map(|(at, past)| past.calls.iter().map(move |call| (at, call)))
        .filter(|(_, call)| call.happened() != Some(false) && !is_repeatable(call))
        .map(|(at, call)| CalledStep {
            step: at.outermost().clone(),
            at: Arc::clone(at),
            tool: Arc::clone(&call.tool),
            happened: call.happened().is_some(),
        })
        .collect();
    pinned.sort_by_key(|pinned| pinned.at.to_string());
    let mut seen = BTreeSet::new();
    pinned.retain(|pinned| seen.insert(pinned.step.clone()));
    pinned
}

/// A step that is done, whose result was computed from a step that the new plan changes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StaleStep {
    /// The step.
    pub step: StepId,
    /// The changed step that its result was computed from, directly or through others.
    pub from: StepId,
    /// True if one of its calls may have had an effect that another call would have again.
    pub has_effects: bool,
}

/// The steps of `now` whose results were computed from a step in `changed`, without those in `keep` and what was computed from
/// these alone. Steps that are not done are left out: they run in any case.
pub fn stale_steps(
    now: &CheckedPlan,
    changed: &[StepId],
    keep: &[Arc<str>],
    history: &History,
) -> Vec<StaleStep> {
    let steps = &now.plan().steps;
    let mut origins: Vec<Option<StepId>> = steps
        .iter()
        .map(|step| changed.contains(&step.id).then(|| step.id.clone()))
        .collect();
    // Dependencies may point backwards and forwards, so the marks spread until none is added.
    let mut spreads = true;
    while spreads {
        spreads = false;
        for (index, (step, checked)) in steps.iter().zip(now.steps()).enumerate() {
            if origins.get(index).is_some_and(Option::is_some) || keep.contains(step.id.text()) {
                continue;
            }
            let reads = |kind| matches!(kind, DependencyKind::Data | DependencyKind::Slot);
            let mut read = checked.dependencies.iter().filter(|one| reads(one.kind));
            let from = read.find_map(|one| origins.get(one.on as usize)?.clone());
            if let (Some(from), Some(origin)) = (from, origins.get_mut(index)) {
                *origin = Some(from);
                spreads = true;
            }
        }
    }
    let marked = steps.iter().zip(origins);
    marked
        .filter_map(|(step, from)| {
            let is_stale = !changed.contains(&step.id) && is_done(history, &step.id);
            Some(StaleStep {
                step: step.id.clone(),
                from: from.filter(|_| is_stale)?,
                has_effects: has_effects(history, now, &step.id),
            })
        })
        .collect()
}

/// Checks that each name in `keep` is a step whose result would be stale.
pub(super) fn check_keep(
    now: &CheckedPlan,
    changed: &[StepId],
    keep: &[Arc<str>],
    history: &History,
) -> Result<(), StoredRunError> {
    if keep.is_empty() {
        return Ok(());
    }
    let stale: BTreeSet<Arc<str>> = stale_steps(now, changed, &[], history)
        .iter()
        .map(|stale| Arc::clone(stale.step.text()))
        .collect();
    match keep.iter().find(|step| !stale.contains(*step)) {
        Some(step) => Err(StoredRunError::NotStale(step.to_string())),
        None => Ok(()),
    }
}

fn is_done(history: &History, step: &StepId) -> bool {
    let is_whole = |at: &Address| {
        at.step == *step && at.inside.is_none() && at.item.is_none() && at.round.is_none()
    };
    history.steps().any(|(at, past)| {
        let end = past.settled.as_ref();
        is_whole(at) && end.is_some_and(|end| end.status == StepStatus::Succeeded || end.handled)
    })
}

fn has_effects(history: &History, plan: &CheckedPlan, step: &StepId) -> bool {
    let tools = tools_of(plan);
    let is_repeatable = |call: &PastCall| {
        let mut tools = tools.iter();
        tools.any(|tool| {
            tool.server == call.server && tool.name == call.tool && tool.is_repeatable()
        })
    };
    history
        .steps()
        .filter(|(at, _)| at.outermost() == step)
        .flat_map(|(_, past)| &past.calls)
        .any(|call| call.happened() != Some(false) && !is_repeatable(call))
}
