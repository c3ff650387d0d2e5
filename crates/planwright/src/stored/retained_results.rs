//! Results that stay in a run although a new plan changes their sources, and their labels.
//!
//! The flow analysis of the new plan cannot derive their labels, so the header of the process records them.

use std::collections::BTreeMap;
use std::sync::Arc;

use planwright_core::check::Policy;
use planwright_core::flow::{self, FlowContext, PlannerLabel, StepLabels, ValueLabels};
use planwright_engine::RunId;

use super::{StoredRun, StoredRunError};
use crate::format::{FlowModeV1, ProcessV1, RetainedStepV1};

/// The retained results of a run, by step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RetainedResults(BTreeMap<Arc<str>, RetainedStepV1>);

impl RetainedResults {
    /// Returns the labels of the results.
    pub fn labels(&self) -> StepLabels {
        let retained = self.0.iter();
        retained
            .map(|(step, result)| (Arc::clone(step), result.labels()))
            .collect()
    }

    /// Returns the results, by step.
    pub fn iter(&self) -> impl Iterator<Item = &RetainedStepV1> {
        self.0.values()
    }

    /// Adds the results that a process retains, and removes those that it forgets.
    pub(super) fn add(&mut self, process: &ProcessV1) {
        for step in &process.forgotten {
            self.0.remove(step.as_str());
        }
        self.extend(process.retained.iter().cloned());
    }

    /// Adds results to those that stay.
    pub fn extend(&mut self, more: impl IntoIterator<Item = RetainedStepV1>) {
        let more = more.into_iter();
        self.0
            .extend(more.map(|result| (Arc::clone(&result.step), result)));
    }
}

impl StoredRun {
    /// Returns the results of `steps` with the labels that they have under `policy`, as the latest plan computed them. `asker` is
    /// the label of the planner that asks to keep them: the choice of an exposed planner is untrusted. Without a flow policy, now
    /// or in the previous process, the labels are unknown.
    ///
    /// # Errors
    ///
    /// The latest plan is not sound any more, or its replay makes other decisions than the journal has.
    pub fn retained_steps(
        &self,
        id: &RunId,
        steps: &[Arc<str>],
        policy: &Policy,
    ) -> Result<Vec<RetainedStepV1>, StoredRunError> {
        let (Some(asking), Some(author), false) = (&policy.flow, self.planner(), steps.is_empty())
        else {
            return Ok(steps.iter().cloned().map(RetainedStepV1::unknown).collect());
        };
        let asker = asking.planner;
        let mut flow = asking.clone();
        flow.planner = author;
        let earlier = self.retained.labels();
        let context = FlowContext {
            retained: Some(&earlier),
            ..FlowContext::new(&flow, &policy.releases)
        };
        let replayed = self.replayed(id);
        let summary = replayed
            .map_err(|error| StoredRunError::Unreadable(error.to_string()))?
            .summary;
        let known = flow::step_labels(&self.latest_plan()?, context, &summary.stated);
        let unknown = ValueLabels::new(true, true);
        let retained = steps.iter().map(|step| {
            let mut labels = known.get(step).copied().unwrap_or(unknown);
            if asker == PlannerLabel::Exposed {
                labels = labels.joined(ValueLabels::new(true, false));
            }
            RetainedStepV1::new(Arc::clone(step), labels, FlowModeV1::from(asker))
        });
        Ok(retained.collect())
    }
}
