//! What becomes of a task once the scheduler says that it has ended.

use std::sync::Arc;

use planwright_core::Value;
use planwright_core::plan::{OnError, OnFailure, SlotPath, Targets};

use super::effect::Effect;
use super::outcome::{Because, Outcome, SkipReason, StepStatus};
use super::state::Run;
use super::work::Layer;
use crate::backend::{ErrorKind, ToolError, ToolOutput};
use crate::event::RunEvent;
use crate::journal::Record;
use crate::options::FailurePolicy;
use crate::schedule::{Event, SettledBy, TaskId};

impl Run {
    pub(super) fn settled(&mut self, task: TaskId, by: SettledBy, effects: &mut Vec<Effect>) {
        let ended = self.outcome_of(task, by);
        let mut outcome = self.within_bounds(task, ended);
        let Some(work) = self.work(task) else {
            return;
        };
        let (frame, step, layer) = (work.frame, work.step, work.layer);
        if layer == Layer::Step {
            outcome = self.finish_step(task, outcome);
        }
        let unhandled = outcome.status == StepStatus::Failed && !outcome.handled;
        let outcome = Arc::new(outcome);
        let past = self
            .work(task)
            .and_then(|work| self.past_times(&work.address, &outcome));
        if past.is_none() {
            self.remember(effects, || self.record_of_end(task, &outcome));
        }
        let now = self.now;
        let Some(work) = self.work_mut(task) else {
            return;
        };
        if let Some((started, ended)) = past {
            work.started = started;
            work.ended = started.map(|_| ended);
        } else if work.started.is_some() {
            work.ended = Some(now);
        }
        work.outcome = Some(Arc::clone(&outcome));
        work.pending = None;
        if std::mem::take(&mut work.asked) {
            effects.push(Effect::Abort(task));
        }
        let Some(work) = self.work(task) else {
            return;
        };
        self.emit(effects, || RunEvent::StepEnded {
            at: Arc::clone(&work.address),
            tool: work.tool.as_ref().map(|tool| Arc::clone(&tool.name)),
            status: outcome.status,
            output: outcome.output.as_ref().map(|output| output.value.clone()),
            error: outcome.error.clone(),
            reason: outcome.reason.clone(),
            attempts: work.attempts,
        });
        if layer == Layer::Step {
            if let Some(frame) = self.frames.get_mut(frame)
                && let Some(slot) = frame.outcomes.get_mut(step as usize)
            {
                *slot = Some(outcome);
            }
            if unhandled {
                self.failed(frame, step);
            }
        }
    }

    fn record_of_end(&self, task: TaskId, outcome: &Outcome) -> Option<Record> {
        let work = self.work(task)?;
        let is_answer = work.tool.is_some() && outcome.error.is_none();
        let output = match &outcome.output {
            Some(output) if !is_answer && work.parts.is_empty() => Some(output.value.clone()),
            _ => None,
        };
        Some(Record::Settled {
            at: Arc::clone(&work.address),
            status: outcome.status,
            output,
            error: outcome.error.clone(),
            handled: outcome.handled,
            reason: outcome.reason.clone(),
            started: work.started,
        })
    }

    fn outcome_of(&mut self, task: TaskId, by: SettledBy) -> Outcome {
        // Nearly always, and then nothing else matters.
        if by == SettledBy::Attempt
            && let Some(outcome) = self.work_mut(task).and_then(|work| work.pending.take())
        {
            return *outcome;
        }
        let waited = self
            .step_of(task)
            .and_then(|(_, step)| step.timeout)
            .or(self.options.step_timeout)
            .unwrap_or_default();
        let given_up = self.given_up;
        let out_of_time = self.out_of_time.clone();
        let not_begun = self.not_begun();
        let Some(work) = self.work_mut(task) else {
            return Outcome::without_output(StepStatus::NotRun, None);
        };
        let began = work.started.is_some();
        let pending = work.pending.take().map(|pending| *pending);
        let last_error = work.last_error.clone();
        let internal = || ToolError::new(ErrorKind::Internal, "a task ended without a result");
        // Whatever ends the run, nobody knows more than before of a call that may have happened.
        if work.in_doubt && matches!(by, SettledBy::Stop | SettledBy::Cancel) {
            return Outcome::without_output(StepStatus::Unknown, None);
        }
        match by {
            SettledBy::Itself => pending.unwrap_or_else(|| Outcome::failed(internal())),
            SettledBy::Attempt | SettledBy::AttemptTimeout | SettledBy::Rejection => {
                Outcome::failed(last_error.map_or_else(internal, |error| *error))
            }
            SettledBy::StepTimeout => Outcome::failed(ToolError::new(
                ErrorKind::Timeout,
                format!("the step took longer than {waited:?}"),
            )),
            SettledBy::Stop => match last_error {
                Some(error) => Outcome::failed(*error),
                None => not_begun,
            },
            SettledBy::Cancel if given_up => Outcome::failed(ToolError::new(
                ErrorKind::Internal,
                "the step waits for something that never ends",
            )),
            SettledBy::Cancel if let Some(error) = out_of_time => Self::ended_by_time(work, &error),
            SettledBy::Cancel if began => Outcome::without_output(StepStatus::Cancelled, None),
            SettledBy::Cancel => Outcome::without_output(StepStatus::NotRun, None),
        }
    }

    /// What has become of something that did not begin since nothing new does.
    pub(super) fn not_begun(&self) -> Outcome {
        let step = self.stopped_by.as_ref();
        let reason = step.map(|step| SkipReason::new(Because::Stopped, Arc::clone(step.text())));
        Outcome::without_output(StepStatus::NotRun, reason)
    }

    /// Applies what the plan says about a step's success or failure: where its output goes, what its failure means.
    fn finish_step(&mut self, task: TaskId, mut outcome: Outcome) -> Outcome {
        match outcome.status {
            StepStatus::Succeeded => match self.write_output(task, &outcome) {
                Ok(()) => outcome,
                Err(error) => Outcome::failed(error),
            },
            StepStatus::Failed => self.handle_failure(task, outcome),
            StepStatus::Skipped => {
                outcome.by_failure = self.skipped_by_failure(task, &outcome);
                outcome
            }
            StepStatus::NotRun
            | StepStatus::Cancelled
            | StepStatus::Waiting
            | StepStatus::Unknown => outcome,
        }
    }

    fn skipped_by_failure(&self, task: TaskId, outcome: &Outcome) -> bool {
        let Some((frame, _)) = self.step_of(task) else {
            return false;
        };
        outcome
            .reason
            .as_ref()
            .filter(|reason| reason.because == Because::Step)
            .and_then(|reason| frame.outcome(frame.plan.step_index(&reason.of)?))
            .is_some_and(|behind| behind.by_failure && !behind.handled)
    }

    fn write_output(&mut self, task: TaskId, outcome: &Outcome) -> Result<(), ToolError> {
        let Some((_, step)) = self.step_of(task) else {
            return Ok(());
        };
        let (Some(writes), Some(output)) = (&step.writes, &outcome.output) else {
            return Ok(());
        };
        let paths: Vec<SlotPath> = match &writes.targets {
            Targets::All(paths) => paths.clone(),
            Targets::OneOf(paths) => vec![branch(paths, output)?.clone()],
        };
        let method = writes.method;
        if let Some(whole) = paths.iter().find(|path| path.keys.is_empty())
            && output.value.as_object().is_none()
        {
            let kind = output.value.kind();
            return Err(ToolError::new(
                ErrorKind::Reference,
                format!("all of `{whole}` can only be an object, and the output is a {kind}"),
            ));
        }
        let output = Arc::clone(output);
        for _ in &paths {
            self.write_value(&output.value)?;
        }
        self.write(task, &paths, |slots, order, path| {
            slots.write(
                order,
                path,
                method,
                output.value.clone(),
                output.text.clone(),
            );
        });
        Ok(())
    }

    fn write(
        &mut self,
        task: TaskId,
        paths: &[SlotPath],
        mut write: impl FnMut(&mut super::slots::Slots, u32, &SlotPath),
    ) {
        let Some((frame, order)) = self.work(task).map(|work| (work.frame, work.step)) else {
            return;
        };
        if let Some(frame) = self.frames.get_mut(frame) {
            for path in paths {
                write(&mut frame.slots, order, path);
            }
        }
    }

    fn handle_failure(&mut self, task: TaskId, mut outcome: Outcome) -> Outcome {
        let Some((frame, step)) = self.step_of(task) else {
            return outcome;
        };
        let failure = outcome
            .error
            .as_ref()
            .map(ToolError::as_value)
            .unwrap_or_default();
        if let Some(writes) = &step.writes
            && let Targets::OneOf(paths) = &writes.targets
            && let Some(last) = paths.last().cloned()
        {
            if let Err(error) = self.write_value(&failure) {
                return Outcome::failed(error);
            }
            self.write(task, &[last], |slots, order, path| {
                let method = planwright_core::plan::Method::Set;
                slots.write(order, path, method, failure.clone(), None);
            });
            outcome.handled = true;
            return outcome;
        }
        match &step.on_error {
            OnError::Fail => outcome,
            OnError::Continue => {
                outcome.handled = true;
                outcome
            }
            OnError::Output(node) => {
                let Some(work) = self.work(task) else {
                    return outcome;
                };
                let mut scope = self.scope(work, frame);
                scope.own = Some((work.step, &outcome));
                match scope.node(node, None) {
                    Ok(value) => {
                        let mut replaced = Outcome::succeeded(Arc::new(ToolOutput::value(value)));
                        replaced.error.clone_from(&outcome.error);
                        replaced.handled = true;
                        let replaced = self.counted_output(replaced);
                        match self.write_output(task, &replaced) {
                            Ok(()) => replaced,
                            Err(error) => Outcome::failed(error),
                        }
                    }
                    Err(unbound) => unbound.into_error().map_or(outcome, Outcome::failed),
                }
            }
        }
    }

    /// Ends what must not go on after the failure of `step` in `frame`.
    pub(super) fn failed(&mut self, frame_index: usize, step: u32) {
        let fail_fast = self.options.on_failure == FailurePolicy::Stop;
        let Some(frame) = self.frames.get_mut(frame_index) else {
            return;
        };
        if frame.failed.is_none() {
            frame.failed = Some(step);
        }
        if !fail_fast && frame.plan.plan().on_failure == OnFailure::KeepGoing {
            return;
        }
        let owner = frame.owner;
        let id = frame
            .plan
            .plan()
            .steps
            .get(step as usize)
            .map(|step| step.id.clone());
        if owner.is_none() && self.stopped_by.is_none() {
            self.stopped_by = id;
        }
        self.tell(Event::Stop(owner));
    }
}

/// The branch that a successful output takes: the one that the tool names, else the first.
fn branch<'a>(paths: &'a [SlotPath], output: &ToolOutput) -> Result<&'a SlotPath, ToolError> {
    let chosen = match &output.branch {
        Some(name) => {
            let name = name.trim_start_matches('†');
            paths.iter().find(|path| path.to_string() == name)
        }
        None => paths.first(),
    };
    chosen.ok_or_else(|| {
        let known: Vec<String> = paths.iter().map(SlotPath::to_string).collect();
        ToolError::new(
            ErrorKind::Tool,
            format!(
                "the tool chose the branch `{}`, but the step has only `{}`",
                output.branch.as_deref().unwrap_or_default(),
                known.join("`, `")
            ),
        )
        .with_data(Value::list(known.into_iter().map(Value::from)))
    })
}
