//! The states of steps in responses and events.

use std::sync::Arc;

use indexmap::IndexMap;
use planwright::format::milliseconds;
use planwright::service::{StepPhase, StepStates, StepView};
use serde::Serialize;

/// The state of a step. Absent and zero fields are left out, because a run may have ten thousand steps.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct StepStateEntry {
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<Arc<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    started_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_ms: Option<f64>,
    attempt: u32,
    /// The number of items that have ended, if it runs for each of a list.
    #[serde(skip_serializing_if = "is_zero")]
    items_ended: u64,
    /// The number of rounds that have started, if it repeats.
    #[serde(skip_serializing_if = "is_zero")]
    rounds: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl StepStateEntry {
    /// Converts the state of a step. Without a process that drives the run, no step is in progress.
    pub(crate) fn of(view: &StepView, is_driven: bool) -> Self {
        let status = match view.phase {
            StepPhase::Running | StepPhase::Retrying if !is_driven => StepPhase::Unknown,
            phase @ (StepPhase::Pending
            | StepPhase::Running
            | StepPhase::Waiting
            | StepPhase::Retrying
            | StepPhase::Succeeded
            | StepPhase::Failed
            | StepPhase::Skipped
            | StepPhase::NotRun
            | StepPhase::Cancelled
            | StepPhase::Unknown) => phase,
        };
        Self {
            status: status.as_str(),
            tool: view.tool.clone(),
            started_ms: view.started.map(milliseconds),
            ended_ms: view.ended.map(milliseconds),
            attempt: view.attempt,
            items_ended: view.items_ended,
            rounds: view.rounds,
            error: view.error.clone(),
        }
    }

    /// The states of the steps at `addresses`.
    pub(crate) fn all<'a>(
        states: &StepStates,
        addresses: impl Iterator<Item = &'a str>,
        is_driven: bool,
    ) -> IndexMap<String, Self> {
        addresses
            .map(|address| {
                let state = Self::of(&states.step(address), is_driven);
                (address.to_owned(), state)
            })
            .collect()
    }
}
