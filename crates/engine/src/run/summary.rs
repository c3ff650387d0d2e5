//! What a run came to, as data: what reports, the gateway and people are shown.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use indexmap::IndexMap;
use planwright_core::plan::{Output, SlotKind};
use planwright_core::{Diagnostic, Object, Value};
use serde::Serialize;

use super::frame::Frame;
use super::history::PastCall;
use super::outcome::{Because, Outcome, SkipReason, StepStatus};
use super::state::Run;
use super::work::Work;
use super::writing::select;
use crate::backend::ToolError;
use crate::durations::Durations;
use crate::event::Address;
use crate::journal::JournalError;
use crate::schedule::{TaskId, TaskState};

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RunStatus {
    /// Every step that had to run did.
    Succeeded,
    /// A step failed whose failure the plan does not handle, its output could not be computed, its time was up before all
    /// steps had run, or what happened could not be [kept](RunSummary::unkept).
    Failed,
    /// It waits for a person.
    Waiting,
    /// Somebody ended it.
    Cancelled,
}

impl RunStatus {
    /// The status, as reports write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Waiting => "waiting",
            Self::Cancelled => "cancelled",
        }
    }
}

impl fmt::Display for RunStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a run came to.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RunSummary {
    /// The run's id.
    pub run: Arc<str>,
    /// The plan's name.
    pub plan: Option<Arc<str>>,
    /// The plan's digest.
    pub digest: Arc<str>,
    /// How it ended.
    pub status: RunStatus,
    /// How long it took.
    pub duration: Duration,
    /// What the plan selects.
    pub output: Value,
    /// The steps, in plan order; instance by instance where there are several.
    pub steps: Vec<StepSummary>,
    /// Every call, in the order in which they were sent; but for those of steps that a person has decided to do without, or has
    /// given a result.
    pub calls: Vec<CallSummary>,
    /// The variables at the end.
    pub vars: Value,
    /// The state at the end.
    pub state: Value,
    /// The data at the end.
    pub data: Value,
    /// The state of each instance at the end.
    pub instances: IndexMap<Arc<str>, Value>,
    /// The data of each instance at the end.
    pub instance_data: IndexMap<Arc<str>, Value>,
    /// How long calls take: what the run was given, and what it has learned.
    pub durations: Durations,
    /// What the run found that is no failure, such as paths that led nowhere and count as `null`.
    pub warnings: Vec<Diagnostic>,
    /// The bytes of JSON that the values of the run came to, as the budget of [`written_bytes`](crate::Guards::written_bytes)
    /// counts them.
    pub written_bytes: u64,
    /// Why the journal could not keep what happened: the run was ended for that.
    pub unkept: Option<JournalError>,
}

/// What a step came to, or an item or round of it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StepSummary {
    /// Which.
    pub at: Arc<Address>,
    /// The tool, as the plan names it.
    pub tool: Option<Arc<str>>,
    /// How it ended.
    pub status: StepStatus,
    /// The arguments that it was, or would have been, called with.
    pub args: Option<Value>,
    /// What it gave.
    pub output: Option<Value>,
    /// Content that is not text, as MCP writes it.
    pub content: Vec<Value>,
    /// How often its tool was called.
    pub attempts: u32,
    /// When it began, counted from the start of the run.
    pub started: Option<Duration>,
    /// When it ended, counted from the start of the run.
    pub ended: Option<Duration>,
    /// Why it failed.
    pub error: Option<ToolError>,
    /// Whether the plan says what the failure means, so that the run has not failed by it.
    pub handled: bool,
    /// Why it did not run.
    pub reason: Option<SkipReason>,
    /// Items, rounds, or the steps of an inner plan.
    pub parts: Vec<StepSummary>,
}

/// One call.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CallSummary {
    /// Who called.
    pub at: Arc<Address>,
    /// Which attempt, from 1.
    pub attempt: u32,
    /// The tool.
    pub tool: Arc<str>,
    /// The arguments.
    pub args: Value,
    /// Whether the tool answered without an error.
    pub ok: bool,
    /// Why it failed.
    pub error: Option<ToolError>,
}

impl CallSummary {
    /// A call for a step that the plan does not have any more, or has otherwise.
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

impl Run {
    /// What the run has come to so far; after its end, what it came to.
    pub fn summary(&self) -> RunSummary {
        let roots: Vec<&Frame> = self.frames.iter().take(self.roots).collect();
        let mut steps = Vec::with_capacity(roots.iter().map(|frame| frame.tasks.len()).sum());
        for frame in &roots {
            let tasks = frame.tasks.iter().flatten();
            steps.extend(tasks.filter_map(|task| self.step_summary(*task)));
        }
        let (plan, digest) = roots.first().map_or((None, Arc::from("")), |frame| {
            let plan = &frame.plan;
            (plan.plan().name.clone(), Arc::from(plan.digest()))
        });
        let mut warnings = self.warnings.borrow().clone();
        let mut output_error = None;
        let output = self.selected(&roots, &mut output_error);
        let mut status = self.status(&steps);
        if let Some(error) = output_error
            && status == RunStatus::Succeeded
        {
            status = RunStatus::Failed;
            warnings.push(Diagnostic::error(
                planwright_core::Code::ImpossiblePath,
                error.message,
            ));
        }
        let single = (roots.len() == 1).then(|| roots.first()).flatten();
        let slots = |kind: SlotKind| match single {
            Some(frame) if frame.instance.is_none() => frame.slots.all(kind),
            _ => self.shared.all(kind),
        };
        let mut summary = RunSummary {
            run: Arc::clone(&self.id),
            plan,
            digest,
            status,
            duration: self.now,
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
            written_bytes: self.written.written(),
            unkept: None,
        };
        self.redactor.summary(&mut summary);
        summary
    }

    fn status(&self, steps: &[StepSummary]) -> RunStatus {
        let any = |status: StepStatus| steps.iter().any(|step| step.status == status);
        let failed = steps
            .iter()
            .any(|step| step.status == StepStatus::Failed && !step.handled);
        if self.cancelled {
            RunStatus::Cancelled
        } else if any(StepStatus::Waiting) || any(StepStatus::Unknown) {
            RunStatus::Waiting
        } else if failed || self.out_of_time.is_some() && any(StepStatus::NotRun) {
            RunStatus::Failed
        } else {
            RunStatus::Succeeded
        }
    }

    fn selected(&self, roots: &[&Frame], error: &mut Option<ToolError>) -> Value {
        let mut selected = 0;
        let mut one = |frame: &Frame| match self
            .output_of(frame)
            .and_then(|value| select(self, &mut selected, value))
        {
            Ok(value) => value,
            Err(why) => {
                *error = Some(why);
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
        let work = self.work(task)?;
        let (frame, step) = self.step_of(task)?;
        let unsettled;
        let outcome = match &work.outcome {
            Some(outcome) => outcome.as_ref(),
            None => {
                unsettled = self.unsettled_outcome(task, work, frame);
                &unsettled
            }
        };
        let parts: Vec<StepSummary> = work
            .parts
            .iter()
            .filter_map(|part| self.step_summary(*part))
            .collect();
        let attempts = work.attempts + parts.iter().map(|part| part.attempts).sum::<u32>();
        Some(StepSummary {
            at: Arc::clone(&work.address),
            tool: step.tool().map(|name| Arc::clone(&name.text)),
            status: outcome.status,
            args: work.args.clone(),
            output: outcome.output.as_ref().map(|output| output.value.clone()),
            content: outcome
                .output
                .as_ref()
                .map(|output| output.content.clone())
                .unwrap_or_default(),
            attempts,
            started: work.started,
            ended: work.ended,
            error: outcome.error.clone(),
            handled: outcome.handled,
            reason: outcome.reason.clone(),
            parts,
        })
    }

    /// What to say of a task that has not settled: it waits for a person, or for something that does.
    fn unsettled_outcome(&self, task: TaskId, work: &Work, frame: &Frame) -> Outcome {
        if work.in_doubt {
            return Outcome::without_output(StepStatus::Unknown, None);
        }
        let asks = self.scheduler.state(task) == TaskState::Asking
            || work.parts.iter().any(|part| self.asks(*part));
        if asks {
            return Outcome::without_output(StepStatus::Waiting, None);
        }
        let awaited = frame
            .plan
            .steps()
            .get(work.step as usize)
            .into_iter()
            .flat_map(|checked| &checked.dependencies)
            .find(|dependency| {
                frame.task(dependency.on).is_some() && frame.outcome(dependency.on).is_none()
            })
            .and_then(|dependency| frame.plan.plan().steps.get(dependency.on as usize))
            .map(|step| SkipReason::new(Because::Step, Arc::clone(step.id.text())));
        Outcome::without_output(StepStatus::NotRun, awaited)
    }

    fn asks(&self, task: TaskId) -> bool {
        self.scheduler.state(task) == TaskState::Asking
            || self
                .work(task)
                .is_some_and(|work| work.parts.iter().any(|part| self.asks(*part)))
    }

    fn calls(&self) -> Vec<CallSummary> {
        let calls = self.calls.iter().filter_map(|call| {
            let work = self.work(call.task)?;
            let (_, step) = self.step_of(call.task)?;
            let tool = step.tool().map(|name| Arc::clone(&name.text))?;
            let summary = CallSummary {
                at: Arc::clone(&work.address),
                attempt: call.attempt,
                tool,
                args: call.args.clone(),
                ok: call.ended && call.error.is_none(),
                error: call.error.as_deref().cloned(),
            };
            Some((call.sent, summary))
        });
        let Some(history) = &self.history else {
            // They were sent in the order in which they stand.
            let mut all = Vec::with_capacity(self.calls.len());
            all.extend(calls.map(|(_, call)| call));
            return all;
        };
        let gone = history.forgotten_calls();
        let mut all: Vec<(Duration, CallSummary)> = calls
            .chain(gone.map(|(at, call)| (call.sent, CallSummary::forgotten(at, call))))
            .collect();
        // Stable: what was sent at the same moment stays in its order.
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
