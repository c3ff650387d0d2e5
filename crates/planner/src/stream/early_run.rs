//! A run that starts before its plan is complete, the calls it makes early, and the steps that the complete plan shares
//! with it.

use std::collections::BTreeSet;
use std::sync::Arc;

use planwright_core::plan::Mode;
use planwright_core::{CheckContext, CheckedPlan, StepId, Value, check};
use planwright_engine::RunId;
use planwright_engine::event::Address;
use planwright_engine::journal::BufferedJournal;
use planwright_engine::{RunEvent, ToolError};

use super::launcher::{LaunchError, LaunchRequest, LaunchedRun, RunLauncher};
use crate::create::{CreatedPlan, PlanRequest, check_beginning};

/// Returns true if a run of `before` can continue with `now`: `now` begins with the steps of `before`, unchanged in meaning,
/// inputs and settings, and no step that may have started has other dependencies.
pub(super) fn extends(before: &CheckedPlan, now: &CheckedPlan, context: &CheckContext<'_>) -> bool {
    let steps = before.steps().len();
    if now.steps().len() < steps {
        return false;
    }
    // Later steps may change what earlier ones mean, so the beginning is checked on its own.
    let (beginning, _) = check(now.plan().beginning(steps), context);
    let mut pairs = before.steps().iter().zip(now.steps());
    beginning.is_some_and(|beginning| beginning.digest() == before.digest())
        && pairs.all(|(old, new)| {
            // Steps that cannot have started may have new dependencies.
            !before.can_start_speculatively(old.index as usize)
                || (old.dependencies == new.dependencies
                    && old.initial_dependencies == new.initial_dependencies)
        })
}

/// Returns the steps of `before` whose results `now` cannot reuse: steps that are missing or changed, steps that wait for
/// different steps, and all steps that depend on one of these.
pub(super) fn discarded_steps(before: &CheckedPlan, now: &CheckedPlan) -> Vec<StepId> {
    let mut discarded: BTreeSet<usize> = (0..before.steps().len())
        .filter(|step| !is_unchanged(*step, before, now))
        .collect();
    // A plan may list a step before those that it depends on, so one pass does not find all.
    loop {
        let more: Vec<usize> = before
            .steps()
            .iter()
            .filter(|step| {
                let mut dependencies = step.dependencies.iter();
                dependencies.any(|dependency| discarded.contains(&(dependency.on as usize)))
            })
            .map(|step| step.index as usize)
            .filter(|step| !discarded.contains(step))
            .collect();
        if more.is_empty() {
            break;
        }
        discarded.extend(more);
    }
    let steps = before.plan().steps.iter().enumerate();
    steps
        .filter(|(index, _)| discarded.contains(index))
        .map(|(_, step)| step.id.clone())
        .collect()
}

fn is_unchanged(step: usize, before: &CheckedPlan, now: &CheckedPlan) -> bool {
    let Some(id) = before.plan().steps.get(step).map(|step| step.id.as_str()) else {
        return false;
    };
    let Some(index) = now.step_index(id).map(|index| index as usize) else {
        return false;
    };
    // Ids, since the index of a step may differ between the plans.
    let dependencies = |plan: &CheckedPlan, step: usize| -> BTreeSet<String> {
        let checked = plan.steps().get(step);
        let dependencies = checked.into_iter().flat_map(|step| &step.dependencies);
        let ids =
            dependencies.filter_map(|dependency| plan.plan().steps.get(dependency.on as usize));
        ids.map(|step| step.id.to_string()).collect()
    };
    now.step_digest(index) == before.step_digest(step)
        && dependencies(before, step) == dependencies(now, index)
}

/// Maximum number of steps to run early. The whole plan so far is checked each time, so the cost is quadratic.
const MAX_EARLY_STEPS: usize = 200;

/// A run with a provisional plan of the steps that have arrived so far.
pub(super) struct EarlyRun {
    pub(super) run: Box<dyn LaunchedRun>,
    pub(super) journal: BufferedJournal,
    /// Number of steps at the start.
    pub(super) first_steps: usize,
    /// The part of the plan that runs.
    pub(super) plan: CreatedPlan,
    /// Number of times the plan was extended.
    pub(super) extensions: usize,
}

impl EarlyRun {
    /// Starts the run if the plan is meant to run, passes the check so far, and has a step that may start early.
    ///
    /// # Errors
    ///
    /// The reason why no run with this plan starts.
    pub(super) fn start(
        text: String,
        creation: &PlanRequest<'_>,
        launcher: &dyn RunLauncher,
        run: &RunId,
    ) -> Result<Option<Self>, LaunchError> {
        let Some(plan) = check_beginning(text, creation) else {
            return Ok(None);
        };
        let first_steps = plan.checked.steps().len();
        if plan.checked.plan().mode != Mode::Run {
            return Ok(None);
        }
        // A run in which no step can start yet gains nothing.
        if first_steps > MAX_EARLY_STEPS
            || !(0..first_steps).any(|step| plan.checked.can_start_speculatively(step))
        {
            return Ok(None);
        }
        let journal = BufferedJournal::new();
        let run = launcher.launch(LaunchRequest {
            run: run.clone(),
            plan: plan.checked.clone(),
            // As long as only read-only calls are made, nothing needs to be durable: entries stay in memory, and the header follows with
            // the complete plan.
            journal: Some((Arc::new(journal.clone()), Value::Null)),
            history: None,
            is_provisional: true,
        })?;
        Ok(Some(Self {
            run,
            journal,
            first_steps,
            plan,
            extensions: 0,
        }))
    }

    /// Extends the run if the longer plan passes the check and leaves the started steps unchanged. Returns whether it did.
    pub(super) fn try_extend(&mut self, text: String, creation: &PlanRequest<'_>) -> bool {
        if let Some(plan) = check_beginning(text, creation)
            && plan.checked.steps().len() <= MAX_EARLY_STEPS
            && plan.checked.steps().len() > self.plan.checked.steps().len()
            && extends(&self.plan.checked, &plan.checked, &creation.check)
        {
            self.extend(plan);
            return true;
        }
        false
    }

    pub(super) fn extend(&mut self, plan: CreatedPlan) {
        self.run.extend(plan.checked.clone());
        self.plan = plan;
        self.extensions += 1;
    }
}

/// A read-only call sent before the plan was complete.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EarlyCall {
    /// The calling step.
    pub at: Arc<Address>,
    /// The tool name as written in the plan.
    pub tool: Arc<str>,
    /// The attempt number, counted from 1.
    pub attempt: u32,
    /// The call's arguments.
    pub args: Value,
    /// The failure or cancellation of the call, if it did not succeed.
    pub error: Option<ToolError>,
    /// True if the run of the complete plan uses the result.
    pub counts: bool,
}

/// Collects the early calls from run events.
#[derive(Debug, Default)]
pub(super) struct EarlyCallLog {
    pub(super) calls: Vec<EarlyCall>,
    /// Number of plan extensions seen.
    extensions: usize,
    /// Number of extensions that complete the plan, once known.
    complete_after: Option<usize>,
}

impl EarlyCallLog {
    /// Marks the plan as complete after `times` extensions.
    pub(super) fn complete_after(&mut self, times: usize) {
        self.complete_after = Some(times);
    }

    fn is_complete(&self) -> bool {
        self.complete_after
            .is_some_and(|times| self.extensions >= times)
    }

    /// Processes an event and returns whether an early call was sent.
    pub(super) fn observe(&mut self, event: &RunEvent) -> bool {
        match event {
            RunEvent::PlanExtended { .. } => self.extensions += 1,
            // Later calls belong to the complete plan, and are not early.
            RunEvent::AttemptStarted {
                at,
                tool,
                attempt,
                args,
            } if !self.is_complete() => {
                self.calls.push(EarlyCall {
                    at: Arc::clone(at),
                    tool: Arc::clone(tool),
                    attempt: *attempt,
                    args: args.clone(),
                    error: None,
                    counts: false,
                });
                return true;
            }
            RunEvent::AttemptEnded {
                at, attempt, error, ..
            } => {
                let mut calls = self.calls.iter_mut();
                if let Some(call) = calls.find(|call| call.at == *at && call.attempt == *attempt) {
                    call.error.clone_from(error);
                }
            }
            RunEvent::RunStarted { .. }
            | RunEvent::StepStarted { .. }
            | RunEvent::AttemptStarted { .. }
            | RunEvent::CallProgress { .. }
            | RunEvent::RetryScheduled { .. }
            | RunEvent::ApprovalAsked { .. }
            | RunEvent::ApprovalDecided { .. }
            | RunEvent::OutcomeUnknown { .. }
            | RunEvent::StepEnded { .. }
            | RunEvent::RunDraining
            | RunEvent::RunEnded { .. } => {}
        }
        false
    }

    /// Marks every early call as used.
    pub(super) fn use_all(&mut self) {
        for call in &mut self.calls {
            call.counts = true;
        }
    }

    /// Marks the successful early calls as used, except those of `discarded` steps.
    pub(super) fn use_answered(&mut self, discarded: &[StepId]) {
        for call in &mut self.calls {
            call.counts = call.error.is_none() && !discarded.contains(call.at.outermost());
        }
    }
}
