//! Calls that a run must not forget, whatever its next plan says.

use std::collections::BTreeSet;
use std::sync::Arc;

use planwright_core::StepId;
use planwright_core::check::CheckedPlan;
use planwright_engine::StepStatus;
use planwright_engine::event::Address;
use planwright_engine::run::{History, PastCall};

use super::tools_of;

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
