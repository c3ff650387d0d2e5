//! A run in the list of runs.

use planwright::engine::RunId;
use planwright::format::RunListingV1;
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
    pub(crate) steps: usize,
    pub(crate) steps_ended: usize,
    pub(crate) calls: usize,
    /// The number of calls without a decision.
    pub(crate) waiting: usize,
    pub(crate) imported: bool,
    /// The process that has the run.
    pub(crate) pid: Option<u32>,
}

impl RunRow {
    pub(crate) fn new(
        info: &RunInfo,
        plan: Option<&str>,
        owner: &RunOwner,
        waiting: usize,
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
            steps_ended: info.done.min(info.steps),
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
