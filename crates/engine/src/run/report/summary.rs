//! The summary of a run, for reports, the gateway and people, and its output as a Rust type.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use indexmap::IndexMap;
use planwright_core::flow::{FlowReport, ValueLabels};
use planwright_core::plan::{Output, SlotKind};
use planwright_core::{Code, Diagnostic, Object, PlanDigest, Value};
use serde::de::DeserializeOwned;

use crate::address::Address;
use crate::backend::ToolError;
use crate::durations::Durations;
use crate::id::RunId;
use crate::journal::JournalError;
use crate::run::calls::attempts::count_selected;
use crate::run::journaling::history::PastCall;
use crate::run::outcome::{Outcome, RunStatus, SkipKind, SkipReason, StepStatus};
use crate::run::run_machine::RunMachine;
use crate::run::tasks::task::TaskData;
use crate::run::values::slots::Frame;
use crate::schedule::{TaskId, TaskState};

/// The summary of a run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RunSummary {
    /// The run's id.
    pub run: RunId,
    /// The plan's name.
    pub plan: Option<Arc<str>>,
    /// The plan's digest.
    pub digest: PlanDigest,
    /// The status.
    pub status: RunStatus,
    /// The duration.
    pub duration: Duration,
    /// The output that the plan selects.
    pub output: Value,
    /// The steps, in plan order; grouped by instance if there are several.
    pub steps: Vec<StepSummary>,
    /// Every call in the order of sending, except those of steps that a person has skipped or given a result.
    pub calls: Vec<CallSummary>,
    /// The final variables.
    pub vars: Value,
    /// The final state.
    pub state: Value,
    /// The final data.
    pub data: Value,
    /// The final state of each instance.
    pub instances: IndexMap<Arc<str>, Value>,
    /// The final data of each instance.
    pub instance_data: IndexMap<Arc<str>, Value>,
    /// Call durations: the initial ones, and those that the run has learned.
    pub durations: Durations,
    /// Warnings of the run, for example about missing paths that count as `null`.
    pub warnings: Vec<Diagnostic>,
    /// The total size of the run's values in bytes of JSON, as the budget of
    /// [`written_bytes`](crate::Guards::written_bytes) counts it.
    pub written_bytes: u64,
    /// The error of the journal that ended the run.
    pub journal_error: Option<JournalError>,
    /// True if the run has not ended: it was [handed over](crate::Canceller::hand_over) for another process to continue.
    pub is_handed_over: bool,
    /// The flow of data in the plan with the labels that servers have stated, if the plan was checked for it.
    pub flow: Option<FlowReport>,
    /// The labels that servers have stated for the outputs of steps, by the paths of the steps.
    pub stated: Vec<(Arc<str>, ValueLabels)>,
    /// The paths of the steps whose outputs violate their schemas.
    pub unfitting: Vec<Arc<str>>,
    /// The revert of the run, if its plan wants one after a failure.
    pub revert: Option<Box<RevertSummary>>,
}

/// The revert of a run that failed: another run undid what it did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RevertSummary {
    /// The run that reverts; `None` if there was nothing to undo, or it did not start.
    pub run: Option<RunId>,
    /// The status of that run.
    pub status: Option<RunStatus>,
    /// The reason why it did not start, as one clause.
    pub error: Option<String>,
    /// The steps, items and rounds whose calls happened and have no undo.
    pub unreverted: Vec<Arc<str>>,
    /// The steps, items and rounds with calls that may or may not have happened.
    pub in_doubt: Vec<Arc<str>>,
}

impl RevertSummary {
    /// Creates the summary of a revert that did not start.
    pub fn not_started(error: String) -> Self {
        Self {
            error: Some(error),
            ..Self::default()
        }
    }
}

/// The summary of a step, item or round.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StepSummary {
    /// The step, item or round.
    pub at: Arc<Address>,
    /// The tool, as the plan names it.
    pub tool: Option<Arc<str>>,
    /// The status.
    pub status: StepStatus,
    /// The arguments of its call, even if it was not made.
    pub args: Option<Value>,
    /// The output.
    pub output: Option<Value>,
    /// Content that is not text, as MCP writes it.
    pub content: Vec<Value>,
    /// The number of calls of its tool.
    pub attempts: u32,
    /// The time at which it began, since the start of the run.
    pub started: Option<Duration>,
    /// The time at which it ended, since the start of the run.
    pub ended: Option<Duration>,
    /// The error, if it failed.
    pub error: Option<ToolError>,
    /// True if the plan handles the failure, so the run has not failed by it.
    pub handled: bool,
    /// The reason why it did not run.
    pub reason: Option<SkipReason>,
    /// True if the run ended during a call of the step, or a call ended without an answer, so that it may have happened and must not be repeated
    /// without consent. A person decides what follows when the run is resumed.
    pub is_in_doubt: bool,
    /// Items, rounds, or the steps of an inner plan.
    pub parts: Vec<StepSummary>,
}

/// The summary of one call.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CallSummary {
    /// The step, item or round that called.
    pub at: Arc<Address>,
    /// The number of the attempt, from 1.
    pub attempt: u32,
    /// The tool.
    pub tool: Arc<str>,
    /// The arguments.
    pub args: Value,
    /// True if the tool answered without an error.
    pub ok: bool,
    /// The error, if it failed.
    pub error: Option<ToolError>,
}

impl CallSummary {
    /// Summarizes a call of a step that has changed since, or does not exist any more.
    fn forgotten(at: &Arc<Address>, call: &PastCall) -> Self {
        let answer = call.answer.as_ref();
        Self {
            at: Arc::clone(at),
            attempt: call.attempt,
            tool: Arc::clone(&call.tool),
            args: call.args.clone(),
            ok: answer.is_some_and(Result::is_ok),
            error: answer.and_then(|answer| answer.as_ref().err().cloned()),
        }
    }
}

impl RunMachine {
    /// The summary of the run so far, or of the whole run after its end.
    pub fn summary(&self) -> RunSummary {
        let roots: Vec<&Frame> = self.frames.roots().collect();
        let mut steps = Vec::with_capacity(roots.iter().map(|frame| frame.tasks.len()).sum());
        for frame in &roots {
            let tasks = frame.tasks.iter().flatten();
            steps.extend(tasks.filter_map(|task| self.step_summary(*task)));
        }
        let (plan, digest) = roots.first().map_or((None, PlanDigest::from("")), |frame| {
            let plan = &frame.plan;
            (plan.plan().name.clone(), plan.digest().clone())
        });
        let mut warnings = self.warnings.to_vec();
        let mut output_error = None;
        let output = self.selected(&roots, &mut output_error);
        let mut status = self.status(&steps);
        // A run that has failed or waits needs no second reason.
        if let Some(error) = output_error
            && status == RunStatus::Succeeded
        {
            status = RunStatus::Failed;
            warnings.push(error);
        }
        // With instances, each has its own slots, and only the shared ones belong to the run.
        let single = (roots.len() == 1).then(|| roots.first()).flatten();
        let slots = |kind: SlotKind| match single {
            Some(frame) if frame.instance.is_none() => frame.slots.all(kind),
            _ => self.frames.shared_slots().all(kind),
        };
        let mut summary = RunSummary {
            run: self.id().clone(),
            plan,
            digest,
            status,
            duration: self.now(),
            output,
            steps,
            calls: self.calls(),
            vars: slots(SlotKind::Vars),
            state: slots(SlotKind::State),
            data: slots(SlotKind::Data),
            instances: own_slots(&roots, SlotKind::State),
            instance_data: own_slots(&roots, SlotKind::Data),
            durations: self.options.durations.clone(),
            warnings,
            written_bytes: self.budgets.written.written(),
            journal_error: None,
            is_handed_over: false,
            flow: self.flow().cloned(),
            stated: self.stated_labels().to_vec(),
            unfitting: self.unfitting_steps().to_vec(),
            revert: None,
        };
        // The summary leaves the run, so it must not hold a secret.
        self.redactor.summary(&mut summary);
        summary
    }

    fn status(&self, steps: &[StepSummary]) -> RunStatus {
        // By the whole steps only: a failed item may be handled by its loop.
        let any = |status: StepStatus| steps.iter().any(|step| step.status == status);
        let failed = steps
            .iter()
            .any(|step| step.status == StepStatus::Failed && !step.handled);
        let is_unfinished = any(StepStatus::NotRun) || any(StepStatus::Cancelled);
        if self.lifecycle.is_cancelled() || self.lifecycle.is_draining() && is_unfinished {
            RunStatus::Cancelled
        } else if any(StepStatus::Waiting) || any(StepStatus::Unknown) {
            // A run that waits can still be resumed, so this goes before a failure.
            RunStatus::Waiting
        } else if failed || self.lifecycle.time_limit_error().is_some() && any(StepStatus::NotRun) {
            // A run whose steps had all run has not failed by its time limit.
            RunStatus::Failed
        } else {
            RunStatus::Succeeded
        }
    }

    /// Returns the output of the run. If it cannot be computed, the reason is stored in `error`.
    fn selected(&self, roots: &[&Frame], error: &mut Option<Diagnostic>) -> Value {
        let mut selected = 0;
        let mut one = |frame: &Frame| match self
            .output_of(frame)
            .and_then(|value| count_selected(self, &mut selected, value))
        {
            Ok(value) => value,
            Err(why) => {
                let plan = frame.plan.plan();
                let place = match &plan.output {
                    Output::Value(node) => node.place,
                    Output::All | Output::Steps(_) => plan.place,
                };
                let diagnostic = Diagnostic::error(Code::ImpossiblePath, why.message);
                *error = Some(diagnostic.at(place, &plan.sources));
                Value::Null
            }
        };
        match roots {
            [frame] if frame.instance.is_none() => one(frame),
            // A literal output is the same for every instance.
            [frame, ..] if is_literal(&frame.plan.plan().output) => one(frame),
            _ => {
                let by_instance: Object = roots
                    .iter()
                    .filter_map(|frame| Some((Arc::clone(frame.instance.as_ref()?), one(frame))))
                    .collect();
                by_instance.into()
            }
        }
    }

    fn step_summary(&self, task: TaskId) -> Option<StepSummary> {
        let data = self.task_data(task)?;
        let (frame, step) = self.step_of(task)?;
        let unsettled;
        let outcome = match &data.outcome {
            Some(outcome) => outcome.as_ref(),
            None => {
                unsettled = self.unsettled_outcome(task, data, frame);
                &unsettled
            }
        };
        let parts: Vec<StepSummary> = data
            .parts
            .iter()
            .filter_map(|part| self.step_summary(*part))
            .collect();
        // A loop makes no calls itself, so its number is that of its parts.
        let attempts = data.attempts + parts.iter().map(|part| part.attempts).sum::<u32>();
        Some(StepSummary {
            at: Arc::clone(&data.address),
            tool: step.tool().map(|name| Arc::clone(&name.text)),
            status: outcome.status,
            args: data.args.clone(),
            output: outcome.output.as_ref().map(|output| output.value.clone()),
            content: outcome
                .output
                .as_ref()
                .map(|output| output.content.clone())
                .unwrap_or_default(),
            attempts,
            started: data.started,
            ended: data.ended,
            error: outcome.error.as_deref().cloned(),
            handled: outcome.handled,
            reason: outcome.reason.clone(),
            is_in_doubt: Self::may_be_in_doubt(outcome) && self.is_in_doubt(task, data),
            parts,
        })
    }

    /// Returns true if the end of a task leaves its calls open. A handled failure is final, whatever happened.
    fn may_be_in_doubt(outcome: &Outcome) -> bool {
        let is_failed = outcome.status == StepStatus::Failed && !outcome.handled;
        is_failed || outcome.status == StepStatus::Cancelled
    }

    /// Returns true if the last call of a task may have happened, and must not be repeated without consent.
    fn is_in_doubt(&self, task: TaskId, data: &TaskData) -> bool {
        let is_unsafe = data.tool.as_ref().is_some_and(|tool| !tool.is_repeatable());
        let error = self.tasks.last_call(task).map(|call| call.error.as_deref());
        is_unsafe && error.is_some_and(|error| error.is_none_or(ToolError::leaves_outcome_unknown))
    }

    /// The outcome of a task that has not settled: it waits for a person, or for a task that does.
    fn unsettled_outcome(&self, task: TaskId, data: &TaskData, frame: &Frame) -> Outcome {
        if data.outcome_unknown {
            return Outcome::without_output(StepStatus::Unknown, None);
        }
        let asks = self.queue.scheduler().state(task) == TaskState::AwaitingApproval
            || data.parts.iter().any(|part| self.asks(*part));
        if asks {
            return Outcome::without_output(StepStatus::Waiting, None);
        }
        let awaited = frame
            .plan
            .steps()
            .get(data.step as usize)
            .into_iter()
            .flat_map(|checked| &checked.dependencies)
            // One open dependency is enough to explain the wait.
            .find(|dependency| {
                frame.task(dependency.on).is_some() && frame.outcome(dependency.on).is_none()
            })
            .and_then(|dependency| frame.plan.plan().steps.get(dependency.on as usize))
            .map(|step| SkipReason::new(SkipKind::Step, Arc::clone(step.id.text())));
        Outcome::without_output(StepStatus::NotRun, awaited)
    }

    fn asks(&self, task: TaskId) -> bool {
        self.queue.scheduler().state(task) == TaskState::AwaitingApproval
            || self
                .task_data(task)
                .is_some_and(|data| data.parts.iter().any(|part| self.asks(*part)))
    }

    fn calls(&self) -> Vec<CallSummary> {
        let calls = self.tasks.calls().iter().filter_map(|call| {
            let data = self.task_data(call.task)?;
            let (_, step) = self.step_of(call.task)?;
            let tool = step.tool().map(|name| Arc::clone(&name.text))?;
            let summary = CallSummary {
                at: Arc::clone(&data.address),
                attempt: call.attempt,
                tool,
                args: call.args.clone(),
                ok: call.ended && call.error.is_none(),
                error: call.error.as_deref().cloned(),
            };
            Some((call.sent, summary))
        });
        let Some(history) = self.journal.history() else {
            // Without a history, the calls are recorded in the order of sending.
            let mut all = Vec::with_capacity(self.tasks.calls().len());
            all.extend(calls.map(|(_, call)| call));
            return all;
        };
        let forgotten = history.forgotten_calls();
        let mut all: Vec<(Duration, CallSummary)> = calls
            .chain(forgotten.map(|(at, call)| (call.sent, CallSummary::forgotten(at, call))))
            .collect();
        // The sort is stable: calls sent at the same time stay in order.
        all.sort_by_key(|(sent, _)| *sent);
        all.into_iter().map(|(_, call)| call).collect()
    }
}

/// The slots of each instance that it does not share.
fn own_slots(roots: &[&Frame], kind: SlotKind) -> IndexMap<Arc<str>, Value> {
    let own = |frame: &&Frame| Some((Arc::clone(frame.instance.as_ref()?), frame.slots.own(kind)));
    roots.iter().filter_map(own).collect()
}

fn is_literal(output: &Output) -> bool {
    matches!(output, Output::Value(node) if node.as_literal().is_some())
}

/// The reason why a run has no output of the wanted type.
#[derive(Debug)]
pub enum OutputError {
    /// The run has not succeeded.
    Run {
        /// The status of the run.
        status: RunStatus,
        /// The first step that failed, if any has, with its error.
        failed: Option<Box<(Arc<Address>, ToolError)>>,
        /// The steps, items and rounds whose call waits for a decision.
        needs_approval: Vec<Arc<Address>>,
        /// The steps, items and rounds whose call may or may not have happened, so that a person must decide what follows.
        in_doubt: Vec<Arc<Address>>,
    },
    /// The run has succeeded with another output.
    Type(serde_json::Error),
}

impl RunSummary {
    /// Returns true if the run has an error with a text: of a step, at any depth, even if the plan handles it, or of the output.
    pub fn has_error_texts(&self) -> bool {
        fn has_error(step: &StepSummary) -> bool {
            step.error.is_some() || step.parts.iter().any(has_error)
        }
        self.steps.iter().any(has_error) || self.warnings.iter().any(Diagnostic::is_error)
    }

    /// The output as a `T`.
    ///
    /// # Errors
    ///
    /// [`OutputError::Run`] if the run has not succeeded, with the step that failed; [`OutputError::Type`] if the output has an unexpected type.
    pub fn into_output<T: DeserializeOwned>(self) -> Result<T, OutputError> {
        if self.status != RunStatus::Succeeded {
            return Err(OutputError::Run {
                status: self.status,
                failed: first_failure(&self.steps).map(Box::new),
                needs_approval: with_status(&self.steps, StepStatus::Waiting),
                in_doubt: with_status(&self.steps, StepStatus::Unknown),
            });
        }
        serde_json::from_value(self.output.into()).map_err(OutputError::Type)
    }
}

/// Returns the first step with an error, or the innermost part of it in which the error occurred.
fn first_failure(steps: &[StepSummary]) -> Option<(Arc<Address>, ToolError)> {
    let failed = steps
        .iter()
        .find(|step| step.status == StepStatus::Failed && step.error.is_some())?;
    // The error of a loop or of an inner plan only names the part that failed; that part has the cause.
    first_failure(&failed.parts).or_else(|| Some((Arc::clone(&failed.at), failed.error.clone()?)))
}

fn with_status(steps: &[StepSummary], status: StepStatus) -> Vec<Arc<Address>> {
    let mut found = Vec::new();
    for step in steps {
        // A loop has the status of its parts, and only these have a call that can be decided.
        if step.parts.is_empty() && step.status == status {
            found.push(Arc::clone(&step.at));
        }
        found.extend(with_status(&step.parts, status));
    }
    found
}

impl fmt::Display for OutputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Run {
                failed: Some(failed),
                ..
            } => write!(f, "the step `{}` failed: {}", failed.0, failed.1),
            Self::Run {
                needs_approval,
                in_doubt,
                status,
                ..
            } => match (needs_approval.first(), in_doubt.first()) {
                (Some(at), _) => write!(f, "the call of `{at}` waits for a decision"),
                (None, Some(at)) => write!(f, "the outcome of the call of `{at}` is unknown"),
                (None, None) => write!(f, "the run ended as {status}"),
            },
            Self::Type(error) => write!(f, "the output has an unexpected type: {error}"),
        }
    }
}

impl std::error::Error for OutputError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Run {
                failed: Some(failed),
                ..
            } => Some(&failed.1),
            Self::Run { failed: None, .. } => None,
            Self::Type(error) => Some(error),
        }
    }
}
