//! Replay of a stored run's journal, without calls, and the labels for the flow policy that its results have by that.

use std::collections::VecDeque;
use std::sync::Arc;

use planwright_core::check::{CheckedPlan, Policy};
use planwright_core::flow::{self, FlowContext, FlowReport, PlannerLabel, ValueLabels};
use planwright_core::{Catalog, Object, PlanDigest, StepId, Tool, Value};
use planwright_engine::RunId;
use planwright_engine::journal::{Entry, Record};
use planwright_engine::options::{PlanState, RunOptions};
use planwright_engine::run::{ReplayError, ReplayHeader, ReplayReport, replay};
use planwright_engine::{Durations, RunSummary, SecretValues};

use super::{StoredRun, StoredRunError};
use crate::format::{ChoiceV1, FlowModeV1, PlanTextV1, ProcessV1, RetainedStepV1};
use crate::loaded_plan::LoadedPlan;

impl StoredRun {
    /// Replays the run from its inputs, verifies that all decisions are the same, and returns the summary.
    ///
    /// # Errors
    ///
    /// The journal has other decisions, or cannot be read.
    pub fn replayed(&self, id: &RunId) -> Result<ReplayReport, ReplayError<StoredRunError>> {
        let mut opener = Opener {
            plan: self.run.plan.clone(),
            vars: self.run.vars.clone(),
            extensions: extensions(&self.entries),
        };
        replay(id, &self.entries, |digest, header| {
            opener.open(digest, header)
        })
    }

    /// Returns the latest plan, checked against the tools that its latest process recorded.
    ///
    /// # Errors
    ///
    /// The plan is not sound any more.
    pub fn latest_plan(&self) -> Result<CheckedPlan, StoredRunError> {
        let tools = self.process.iter().flat_map(|process| &process.tools);
        checked(&self.plan, &self.vars, &tools.map(Tool::from).collect())
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

/// Reads the starting states of the run's processes, in order.
struct Opener {
    plan: PlanTextV1,
    vars: Object,
    /// For each process, the digest and the number of steps of each extension of the plan.
    extensions: VecDeque<Vec<(PlanDigest, usize)>>,
}

/// Returns the extensions of the plan by process.
fn extensions(entries: &[Entry]) -> VecDeque<Vec<(PlanDigest, usize)>> {
    let mut processes: VecDeque<Vec<_>> = VecDeque::new();
    for entry in entries {
        match &entry.record {
            Record::Opened { .. } => processes.push_back(Vec::new()),
            Record::Extended { digest, steps } => {
                if let Some(process) = processes.back_mut() {
                    process.push((digest.clone(), *steps));
                }
            }
            Record::Sent { .. }
            | Record::Answered { .. }
            | Record::Aborted { .. }
            | Record::Asked { .. }
            | Record::Decided { .. }
            | Record::Chosen { .. }
            | Record::TimerFired { .. }
            | Record::Closed
            | Record::Draining
            | Record::Cancelled
            | Record::OutOfTime
            | Record::Paused { .. }
            | Record::Resumed
            | Record::Settled { .. }
            | Record::Ended { .. } => {}
        }
    }
    processes
}

impl Opener {
    /// Returns the starting state of the next process.
    fn open(
        &mut self,
        digest: &PlanDigest,
        header: &Value,
    ) -> Result<ReplayHeader, StoredRunError> {
        let process = ProcessV1::from_value(header)?;
        let idle = process.idle();
        let options = process.run_options();
        if let Some(plan) = process.plan {
            self.plan = plan;
        }
        if let Some(vars) = process.vars {
            self.vars = vars;
        }
        let tools = process.tools.iter().map(Tool::from).collect();
        let choices = process.choices.iter().map(ChoiceV1::choice);
        let grown = self.extensions.pop_front().unwrap_or_default();
        let whole = checked(&self.plan, &self.vars, &tools)?;
        let plan = match process.beginning {
            Some(steps) => self.as_far_as(digest, steps, &whole, &tools)?,
            None => whole.clone(),
        };
        let extensions = grown
            .iter()
            .map(|(digest, steps)| self.as_far_as(digest, *steps, &whole, &tools))
            .collect::<Result<_, _>>()?;
        let secret_values = if whole.outside().is_empty() {
            SecretValues::new()
        } else {
            SecretValues::masked()
        };
        Ok(ReplayHeader {
            plan,
            options: RunOptions {
                plan_state: if process.beginning.is_some() {
                    PlanState::Provisional
                } else {
                    PlanState::Complete
                },
                durations: Durations::from(&process.durations),
                secret_values,
                ..options
            },
            choices: choices.collect::<Result<_, _>>()?,
            forgotten: process
                .forgotten
                .iter()
                .map(|step| StepId::new(step.as_str()))
                .collect(),
            idle,
            revokes_consent: process.revokes_consent,
            extensions,
        })
    }

    /// Returns the beginning of the plan with this number of steps.
    fn as_far_as(
        &self,
        digest: &PlanDigest,
        steps: usize,
        whole: &CheckedPlan,
        catalog: &Catalog,
    ) -> Result<CheckedPlan, StoredRunError> {
        if digest == whole.digest() {
            return Ok(whole.clone());
        }
        let mut loaded = LoadedPlan::from_stored(&self.plan, self.vars.clone());
        loaded.plan = loaded.plan.map(|plan| plan.beginning(steps));
        let (plan, _) = loaded.check(catalog, &Policy::new().allow_all_releases());
        plan.filter(|plan| plan.digest() == digest)
            .ok_or(StoredRunError::Unsound)
    }
}

fn checked(
    plan: &PlanTextV1,
    vars: &Object,
    catalog: &Catalog,
) -> Result<CheckedPlan, StoredRunError> {
    let loaded = LoadedPlan::from_stored(plan, vars.clone());
    let (plan, _) = loaded.check(catalog, &Policy::new().allow_all_releases());
    plan.ok_or(StoredRunError::Unsound)
}
