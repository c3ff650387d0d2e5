//! A run in the list of runs.

use std::time::SystemTime;

use planwright::engine::RunId;
use planwright::format::{RunListingV1, timestamp};
use planwright::service::{StepPhase, StepStates};
use planwright::store::RunInfo;
use planwright::stored::listing;
use serde::Serialize;

use crate::session::RunOwner;

/// A run in the list of runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct RunRow {
    pub(crate) id: RunId,
    pub(crate) plan: Option<String>,
    /// As in reports, or `running`, `interrupted`, or `unreadable`.
    pub(crate) status: &'static str,
    pub(crate) client: Option<String>,
    #[serde(skip)]
    pub(crate) owner: RunOwner,
    pub(crate) started: String,
    pub(crate) duration_ms: f64,
    /// The start of the time that the duration counts, without pauses, while a process drives the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) since: Option<String>,
    pub(crate) steps: usize,
    pub(crate) steps_ended: usize,
    pub(crate) calls: usize,
    /// The number of calls without a decision.
    pub(crate) waiting: usize,
    pub(crate) imported: bool,
    /// The process that has the run.
    pub(crate) pid: Option<u32>,
}

/// The progress of a run, as its journal has it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct KnownProgress {
    /// The number of steps that have ended; `None` if the journal was not read.
    pub(super) ended: Option<usize>,
    /// The start of the latest process, minus the duration before it.
    pub(super) since: Option<SystemTime>,
}

impl KnownProgress {
    /// Reads the states after some entries of a journal.
    pub(super) fn of(states: &StepStates, since: Option<SystemTime>) -> Self {
        let is_step = |address: &&str| !address.contains(['/', '@', '[', '#']);
        let steps = states.addresses().filter(is_step);
        let has_ended = |address: &&str| {
            matches!(
                states.step(address).phase,
                StepPhase::Succeeded | StepPhase::Failed | StepPhase::Skipped
            )
        };
        let ended = steps.filter(has_ended).count();
        Self {
            ended: Some(ended),
            since,
        }
    }
}

impl RunRow {
    pub(super) fn new(
        info: &RunInfo,
        plan: Option<&str>,
        owner: &RunOwner,
        waiting: usize,
        progress: &KnownProgress,
    ) -> Self {
        let RunListingV1 {
            status,
            imported,
            pid,
            created,
            duration_ms,
            ..
        } = listing(info);
        Self {
            id: info.id.clone(),
            plan: plan.map(str::to_owned),
            status,
            client: owner.client().map(str::to_owned),
            owner: owner.clone(),
            started: created,
            duration_ms,
            steps: info.steps,
            since: progress
                .since
                .filter(|_| info.holder.is_some())
                .map(timestamp),
            // A step that ended before the plan was replaced may not be in the plan any more.
            steps_ended: progress.ended.unwrap_or(info.done).min(info.steps),
            calls: info.calls,
            waiting,
            imported,
            pid,
        }
    }

    /// Marks the run as unreadable.
    pub(crate) fn unreadable(self) -> Self {
        Self {
            status: "unreadable",
            waiting: 0,
            ..self
        }
    }
}
