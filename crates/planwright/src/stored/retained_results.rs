//! Results that no plan of a run computes: those that stay although a new plan changes their sources, and those that a planner sets.
//!
//! The flow analysis of the plan cannot derive their labels, so the header of the process records them.

use std::collections::BTreeMap;
use std::sync::Arc;

use planwright_core::check::{CheckedPlan, Policy};
use planwright_core::flow::{self, FlowContext, FlowReport, PlannerLabel, StepLabels, ValueLabels};
use planwright_engine::run::{Choice, History};
use planwright_engine::{RunId, RunSummary};

use super::resume::resolve;
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

/// Returns the results that `choices` set, with their labels. `chooser` is the label of the planner that sets them, if a flow policy
/// knows it: the values of a clean planner need no label, as its literals.
///
/// # Errors
///
/// A choice names no step of the plan or the history, or several.
pub fn set_results(
    plan: &CheckedPlan,
    history: &History,
    choices: &[(Arc<str>, Choice)],
    chooser: Option<PlannerLabel>,
) -> Result<Vec<RetainedStepV1>, StoredRunError> {
    if chooser == Some(PlannerLabel::Clean) {
        return Ok(Vec::new());
    }
    let set = choices.iter();
    set.filter(|(_, choice)| matches!(choice, Choice::Set(_)))
        .map(|(step, _)| {
            let path: Arc<str> = resolve(plan, history, step)?.steps().into();
            let result = match chooser {
                Some(chooser) => {
                    let labels = ValueLabels::new(true, false);
                    RetainedStepV1::new(path, labels, FlowModeV1::from(chooser))
                }
                None => RetainedStepV1::unknown(path),
            };
            Ok(result.set())
        })
        .collect()
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

    /// Returns the flow of data in the latest plan under `policy`, with what its replay `summary` says about its results. Returns
    /// `None` without a flow policy, now or in the latest process, or if the plan is not sound any more.
    pub fn flow(&self, summary: &RunSummary, policy: &Policy) -> Option<FlowReport> {
        let mut flow = policy.flow.clone()?;
        flow.planner = self.planner()?;
        let labels = self.labels();
        let context = FlowContext {
            recalled: Some(&labels.recalled),
            retained: Some(&labels.retained),
            ..FlowContext::new(&flow, &policy.releases)
        };
        let mut report = flow::analyze(&self.latest_plan().ok()?, context);
        for (path, labels) in &summary.stated {
            report.apply_stated(path, *labels);
        }
        let mut unfitting = summary.unfitting.iter();
        report.exposes |= unfitting.any(|path| report.may_expose_by(path));
        Some(report)
    }
}
