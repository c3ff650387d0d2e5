//! How far a run is, told to who waits for it.

use std::fmt;
use std::sync::Arc;

use planwright_core::check::CheckedPlan;
use planwright_core::{StepId, Value};
use planwright_engine::run::StepStatus;
use planwright_engine::{RunEvent, StampedEvent};
use planwright_mcp::Caller;

use super::answer::stale_because;
use planwright::loaded_plan::recalled;
use planwright::stored::StaleStep;

/// Counts the steps of a run, and tells its caller of each that ends.
pub(super) struct Progress {
    steps: usize,
    done: usize,
    /// The step that nobody wrote, which does not count.
    recalled: Option<StepId>,
    told: Option<(Arc<dyn Caller>, Value)>,
}

impl Progress {
    /// Of a run of `plan`; `told`: who hears of it, and by which token.
    pub(super) fn new(plan: &CheckedPlan, told: Option<(Arc<dyn Caller>, Value)>) -> Self {
        let mut progress = Self {
            steps: 0,
            done: 0,
            recalled: recalled(plan).cloned(),
            told,
        };
        progress.expect(plan.steps().len());
        progress
    }

    /// Takes in how many steps the run has.
    fn expect(&mut self, steps: usize) {
        self.steps = steps.saturating_sub(usize::from(self.recalled.is_some()));
    }

    pub(super) fn steps(&self) -> usize {
        self.steps
    }

    pub(super) fn done(&self) -> usize {
        self.done
    }

    /// Takes an event in. Whether the count has changed.
    pub(super) fn event(&mut self, event: &StampedEvent) -> bool {
        match &event.event {
            RunEvent::RunStarted { steps, .. } | RunEvent::PlanExtended { steps } => {
                self.expect(*steps);
                true
            }
            RunEvent::StepEnded {
                at, tool, status, ..
            } if at.inside.is_none()
                && at.item.is_none()
                && at.round.is_none()
                && self.recalled.as_ref() != Some(&at.step) =>
            {
                self.done += 1;
                // Several instances have the same steps.
                self.steps = self.steps.max(self.done);
                self.tell(&at.to_string(), tool.as_deref(), *status);
                true
            }
            _ => false,
        }
    }

    /// Names the steps that are run again, before anything is called.
    pub(super) fn announce(&self, rerun: &[StaleStep]) {
        let steps: Vec<String> = rerun
            .iter()
            .map(|stale| format!("`{}` is run again: {}", stale.step, stale_because(stale)))
            .collect();
        if !steps.is_empty() {
            self.notify(&steps.join("; "));
        }
    }

    fn tell(&self, step: &str, tool: Option<&str>, status: StepStatus) {
        let tool = tool.map_or(String::new(), |tool| format!(" ({tool})"));
        self.notify(&format!("{step}{tool} {status}"));
    }

    fn notify(&self, message: &str) {
        let Some((caller, token)) = &self.told else {
            return;
        };
        caller.notify(
            "notifications/progress",
            Value::object([
                ("progressToken", token.clone()),
                ("progress", Value::from(self.done as u64)),
                ("total", Value::from(self.steps as u64)),
                ("message", Value::from(message)),
            ]),
        );
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Progress")
            .field("done", &self.done)
            .field("steps", &self.steps)
            .finish_non_exhaustive()
    }
}
