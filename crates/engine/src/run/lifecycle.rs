//! The lifecycle of a run: the completeness of its plan and the reasons for an early end.

use planwright_core::StepId;

use crate::backend::ToolError;
use crate::options::PlanState;

/// The completeness of the plan and the reasons why a run ends early.
#[derive(Debug)]
pub(super) struct Lifecycle {
    /// True while steps may be added.
    open: bool,
    /// True while the plan is provisional, so only steps without effects may start.
    provisional: bool,
    cancelled: bool,
    /// True once the run drains: calls in flight may end, nothing new starts.
    draining: bool,
    stuck: bool,
    time_limit_error: Option<ToolError>,
    /// The step whose failure stopped the run.
    stopped_by: Option<StepId>,
}

impl Lifecycle {
    pub(super) fn new(plan: PlanState) -> Self {
        Self {
            open: plan != PlanState::Complete,
            provisional: plan == PlanState::Provisional,
            cancelled: false,
            draining: false,
            stuck: false,
            time_limit_error: None,
            stopped_by: None,
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.open
    }

    pub(super) fn is_provisional(&self) -> bool {
        self.provisional
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.cancelled
    }

    pub(super) fn is_draining(&self) -> bool {
        self.draining
    }

    pub(super) fn is_stuck(&self) -> bool {
        self.stuck
    }

    pub(super) fn time_limit_error(&self) -> Option<&ToolError> {
        self.time_limit_error.as_ref()
    }

    pub(super) fn stopped_by(&self) -> Option<&StepId> {
        self.stopped_by.as_ref()
    }

    /// Records that no further steps follow.
    pub(super) fn close(&mut self) {
        self.open = false;
    }

    /// Makes a provisional plan definite. Returns false if it already was.
    pub(super) fn accept_plan(&mut self) -> bool {
        std::mem::take(&mut self.provisional)
    }

    pub(super) fn cancel(&mut self) {
        // A cancelled run accepts no further steps: an open one would wait for them and never end.
        self.cancelled = true;
        self.open = false;
    }

    pub(super) fn drain(&mut self) {
        self.draining = true;
        // As in a cancelled run, no further steps can start.
        self.open = false;
    }

    pub(super) fn end_as_stuck(&mut self) {
        self.stuck = true;
    }

    pub(super) fn end_by_time_limit(&mut self, error: Option<ToolError>) {
        self.time_limit_error = error;
        self.open = false;
    }

    /// Records the first step whose failure stops the run.
    pub(super) fn stop_after(&mut self, step: Option<StepId>) {
        // Calls that are still in flight may fail later, but the first failure is the one that stopped the run.
        if self.stopped_by.is_none() {
            self.stopped_by = step;
        }
    }
}
