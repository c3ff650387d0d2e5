//! Results that no plan of a run computes: those that stay although a new plan changes their sources, and those that a planner sets.
//!
//! The flow analysis of the plan cannot derive their labels, so the header of the process records them.

use std::collections::BTreeMap;
use std::sync::Arc;

use planwright_core::flow::StepLabels;

use crate::format::{ProcessV1, RetainedStepV1};

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
            self.0.retain(|path, _| !is_result_of(path, step));
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

/// Returns true if `path`, a step with the steps around its plan, is `step` or inside it.
pub fn is_result_of(path: &str, step: &str) -> bool {
    let inside = path.strip_prefix(step);
    inside.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
