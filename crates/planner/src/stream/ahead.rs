//! A run that is ahead of its plan: the steps that change nothing, while the rest is still being written.

use std::sync::Arc;

use planwright_core::Value;
use planwright_core::plan::Mode;
use planwright_engine::journal::HeldBack;
use planwright_engine::{Engine, RunHandle, StampedEvent, Start};
use tokio::sync::mpsc::UnboundedReceiver;

use super::same::goes_on;
use crate::create::{CreatedPlan, Creation, beginning};

/// How many steps are looked at while the plan is being written: each time the whole beginning is checked.
const MOST_STEPS: usize = 200;

/// A run that is ahead of its plan.
#[derive(Debug)]
pub(super) struct Ahead {
    pub(super) handle: RunHandle,
    pub(super) events: UnboundedReceiver<StampedEvent>,
    pub(super) journal: HeldBack,
    /// With how many steps it began.
    pub(super) first: usize,
    /// The plan as far as it runs.
    pub(super) plan: CreatedPlan,
    /// How often it was extended.
    pub(super) grown: usize,
}

impl Ahead {
    /// Begins, where the plan is to be run, is sound as far as it is written, and has a step that may start.
    pub(super) fn begin(
        written: String,
        creation: &Creation<'_>,
        engine: &Engine,
        run: &Arc<str>,
    ) -> Option<Self> {
        let plan = beginning(written, creation)?;
        let first = plan.checked.steps().len();
        if plan.checked.plan().mode != Mode::Run {
            return None;
        }
        if first > MOST_STEPS || !(0..first).any(|step| plan.checked.may_start_early(step)) {
            return None;
        }
        let journal = HeldBack::new();
        // What else belongs into its first entry is known when the plan is.
        let start = Start::new(Arc::clone(run), plan.checked.clone())
            .with_journal(Arc::new(journal.clone()), Value::Null)
            .tentative();
        let (handle, events) = engine.launch(start);
        Some(Self {
            handle,
            events,
            journal,
            first,
            plan,
            grown: 0,
        })
    }

    /// Takes in further steps, where the plan is sound with them and what has started stays as it is. Whether it did.
    pub(super) fn grow(&mut self, written: String, creation: &Creation<'_>) -> bool {
        if let Some(plan) = beginning(written, creation)
            && plan.checked.steps().len() <= MOST_STEPS
            && plan.checked.steps().len() > self.plan.checked.steps().len()
            && goes_on(&self.plan.checked, &plan.checked, &creation.check)
        {
            self.extend(plan);
            return true;
        }
        false
    }

    /// Goes on with a longer plan.
    pub(super) fn extend(&mut self, plan: CreatedPlan) {
        // A run that has ended has a reason, which its summary tells.
        let _ = self.handle.extend(plan.checked.clone());
        self.plan = plan;
        self.grown += 1;
    }
}
