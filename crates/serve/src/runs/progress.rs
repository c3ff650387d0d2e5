//! The progress of a run, reported to its caller.

use std::fmt;
use std::sync::Arc;

use planwright::loaded_plan::recalled;
use planwright::service::RunView;
use planwright::stored::StaleStep;
use planwright_core::check::CheckedPlan;
use planwright_core::{StepId, Value};
use planwright_engine::StampedEvent;
use planwright_engine::run::StepStatus;
use planwright_mcp::Caller;

use crate::response::answer::stale_reason;

/// Counts the steps of a run, and notifies its caller of each that ends.
pub(crate) struct ProgressReporter {
    view: RunView,
    /// The step that represents results of earlier runs, which does not count.
    recalled: Option<StepId>,
    is_recalled: bool,
    caller: Option<(Arc<dyn Caller>, Value)>,
}

impl ProgressReporter {
    /// Creates the progress of a run of `plan`, for a caller with its progress token.
    pub(crate) fn new(plan: &CheckedPlan, caller: Option<(Arc<dyn Caller>, Value)>) -> Self {
        Self {
            view: RunView::new(plan),
            recalled: recalled(plan).cloned(),
            is_recalled: false,
            caller,
        }
    }

    pub(crate) fn steps(&self) -> usize {
        let recalled_steps = usize::from(self.recalled.is_some());
        self.view.steps.saturating_sub(recalled_steps)
    }

    pub(crate) fn done(&self) -> usize {
        self.view.ended - usize::from(self.is_recalled)
    }

    /// Returns true if nothing happens before a person decides.
    pub(crate) fn waits_for_people(&self) -> bool {
        self.view.waits_for_people()
    }

    /// Applies an event. Returns true if the counts have changed.
    pub(crate) fn event(&mut self, event: &StampedEvent) -> bool {
        let before = (self.done(), self.steps());
        if let Some(ended) = self.view.event(event)
            && ended.at.inside.is_none()
        {
            if self.recalled.as_ref() == Some(&ended.at.step) {
                self.is_recalled = true;
            } else {
                let step = ended.at.to_string();
                self.report(&step, ended.tool.as_deref(), ended.status);
            }
        }
        before != (self.done(), self.steps())
    }

    /// Reports the steps that run again, before the first call.
    pub(crate) fn announce(&self, rerun: &[StaleStep]) {
        let steps: Vec<String> = rerun
            .iter()
            .map(|stale| format!("`{}` is run again: {}", stale.step, stale_reason(stale)))
            .collect();
        if !steps.is_empty() {
            self.notify(&steps.join("; "));
        }
    }

    fn report(&self, step: &str, tool: Option<&str>, status: StepStatus) {
        let tool = tool.map_or(String::new(), |tool| format!(" ({tool})"));
        self.notify(&format!("{step}{tool} {status}"));
    }

    fn notify(&self, message: &str) {
        let Some((caller, token)) = &self.caller else {
            return;
        };
        caller.notify(
            "notifications/progress",
            Value::object([
                ("progressToken", token.clone()),
                ("progress", Value::from(self.done() as u64)),
                ("total", Value::from(self.steps() as u64)),
                ("message", Value::from(message)),
            ]),
        );
    }
}

impl fmt::Debug for ProgressReporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProgressReporter")
            .field("view", &self.view)
            .finish_non_exhaustive()
    }
}
