//! Completion of tasks that the scheduler has settled.

use std::sync::Arc;

use planwright_core::plan::{Method, OnError, OnFailure, SlotPath, Targets};
use planwright_core::schema::fillable_part;
use planwright_core::{Schema, Value};

use crate::backend::{ErrorKind, ToolError, ToolOutput};
use crate::event::RunEvent;
use crate::journal::Record;
use crate::options::FailurePolicy;
use crate::run::effects::Effect;
use crate::run::outcome::{Outcome, SkipKind, SkipReason, StepStatus};
use crate::run::run_machine::RunMachine;
use crate::run::tasks::task::TaskKind;
use crate::schedule::{SchedulerEvent, SettledBy, TaskId};

impl RunMachine {
    pub(in crate::run) fn complete_task(
        &mut self,
        task: TaskId,
        by: SettledBy,
        effects: &mut Vec<Effect>,
    ) {
        let ended = self.take_outcome(task, by);
        let mut outcome = self.bound_output(task, ended);
        let Some(data) = self.task_data(task) else {
            return;
        };
        let (frame, step, kind) = (data.frame, data.step, data.kind);
        if kind == TaskKind::Step {
            outcome = self.finish_step(task, outcome);
        }
        let unhandled = outcome.status == StepStatus::Failed && !outcome.handled;
        let outcome = Arc::new(outcome);
        let past = self
            .task_data(task)
            .and_then(|data| self.past_times(&data.address, &outcome));
        // A task that ended the same way before is in the journal already, with its times.
        if past.is_none() {
            self.record(effects, || self.end_record(task, &outcome));
        }
        let now = self.now();
        let Some(data) = self.task_data_mut(task) else {
            return;
        };
        if let Some((started, ended)) = past {
            data.started = started;
            data.ended = started.map(|_| ended);
        } else if data.started.is_some() {
            data.ended = Some(now);
        }
        data.outcome = Some(Arc::clone(&outcome));
        data.pending_outcome = None;
        // The task has ended without a decision, so the question is obsolete.
        if std::mem::take(&mut data.question_is_open) {
            effects.push(Effect::Abort(task));
        }
        let Some(data) = self.task_data(task) else {
            return;
        };
        self.emit(effects, || RunEvent::StepEnded {
            at: Arc::clone(&data.address),
            tool: data.tool.as_ref().map(|tool| Arc::clone(&tool.name)),
            status: outcome.status,
            output: outcome.output.as_ref().map(|output| output.value.clone()),
            error: outcome.error.as_deref().cloned(),
            reason: outcome.reason.clone(),
            attempts: data.attempts,
        });
        if kind == TaskKind::Step {
            if let Some(frame) = self.frames.get_mut(frame)
                && let Some(slot) = frame.outcomes.get_mut(step as usize)
            {
                *slot = Some(outcome);
            }
            if unhandled {
                self.apply_failure(frame, step);
            }
        }
    }

    fn end_record(&self, task: TaskId, outcome: &Outcome) -> Option<Record> {
        let data = self.task_data(task)?;
        // An answer is in the journal already, and the output of a group follows from its parts.
        let is_answer = data.tool.is_some() && outcome.error.is_none();
        let output = match &outcome.output {
            Some(output) if !is_answer && data.parts.is_empty() => Some(output.value.clone()),
            _ => None,
        };
        Some(Record::Settled {
            at: Arc::clone(&data.address),
            status: outcome.status,
            output,
            error: outcome.error.as_deref().cloned(),
            handled: outcome.handled,
            reason: outcome.reason.clone(),
            started: data.started,
        })
    }

    fn take_outcome(&mut self, task: TaskId, by: SettledBy) -> Outcome {
        // A fast path for the most common case.
        if by == SettledBy::Attempt
            && let Some(outcome) = self
                .task_data_mut(task)
                .and_then(|data| data.pending_outcome.take())
        {
            return *outcome;
        }
        let waited = self
            .step_of(task)
            .and_then(|(_, step)| step.timeout)
            .or(self.options.step_timeout)
            .unwrap_or_default();
        let is_stuck = self.lifecycle.is_stuck();
        let out_of_time = self.lifecycle.time_limit_error().cloned();
        let not_run_outcome = self.not_run_outcome();
        let is_draining = self.lifecycle.is_draining();
        let Some(data) = self.task_data_mut(task) else {
            return Outcome::without_output(StepStatus::NotRun, None);
        };
        let began = data.started.is_some();
        let pending = data.pending_outcome.take().map(|pending| *pending);
        let last_error = data.last_error.clone();
        let internal = || ToolError::new(ErrorKind::Internal, "a task ended without a result");
        // The end of the run adds no information about a call that may have happened.
        if data.outcome_unknown && matches!(by, SettledBy::Stop | SettledBy::Cancel) {
            return Outcome::without_output(StepStatus::Unknown, None);
        }
        match by {
            SettledBy::Itself => pending.unwrap_or_else(|| Outcome::failed(internal())),
            SettledBy::Attempt | SettledBy::AttemptTimeout | SettledBy::Rejection => {
                Outcome::failed(last_error.unwrap_or_else(|| Box::new(internal())))
            }
            SettledBy::StepTimeout => Outcome::failed(ToolError::new(
                ErrorKind::Timeout,
                format!("the step took longer than {waited:?}"),
            )),
            // Its remaining attempts are made when the run is resumed.
            SettledBy::Stop if is_draining && began => {
                Outcome::without_output(StepStatus::Cancelled, None)
            }
            // A task that was stopped between attempts has failed by the last one.
            SettledBy::Stop => match last_error {
                Some(error) => Outcome::failed(error),
                None => not_run_outcome,
            },
            SettledBy::Cancel if is_stuck => Outcome::failed(ToolError::new(
                ErrorKind::Internal,
                "the step waits for something that never ends",
            )),
            SettledBy::Cancel if let Some(error) = out_of_time => {
                Self::time_limit_outcome(data, &error)
            }
            SettledBy::Cancel if began => Outcome::without_output(StepStatus::Cancelled, None),
            SettledBy::Cancel => Outcome::without_output(StepStatus::NotRun, None),
        }
    }

    /// Returns the outcome of a task that did not begin because the run stopped.
    pub(in crate::run) fn not_run_outcome(&self) -> Outcome {
        let step = self.lifecycle.stopped_by();
        let reason = step.map(|step| SkipReason::new(SkipKind::Stopped, Arc::clone(step.text())));
        Outcome::without_output(StepStatus::NotRun, reason)
    }

    /// Applies the plan's rules for the success or failure of a step: target slots and failure handling.
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
            .filter(|reason| reason.because == SkipKind::Step)
            .and_then(|reason| frame.outcome(frame.plan.step_index(&reason.of)?))
            .is_some_and(|needed| needed.by_failure && !needed.handled)
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
        // A kind as a whole is an object of slots, so only an object can replace it.
        if let Some(whole) = paths.iter().find(|path| path.keys.is_empty())
            && output.value.as_object().is_none()
        {
            let kind = output.value.kind();
            return Err(ToolError::new(
                ErrorKind::Reference,
                format!("all of `{whole}` can only be an object, and the output is a {kind}"),
            ));
        }
        if let Some(error) = self.misfit(task, &paths, method, &output.value) {
            return Err(error);
        }
        let output = Arc::clone(output);
        // Every slot is written out in reports, so each one counts.
        for _ in &paths {
            self.charge_value(&output.value)?;
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

    /// Returns the error of a value that does not fit the schema of a slot. A tool without an output schema may return any value, so only its
    /// answer shows it. Fields of the slot may be missing, since other steps can fill them.
    fn misfit(
        &self,
        task: TaskId,
        paths: &[SlotPath],
        method: Method,
        value: &Value,
    ) -> Option<ToolError> {
        let (frame, _) = self.step_of(task)?;
        paths.iter().find_map(|path| {
            let mut declared = frame.plan.plan().slot_schemas.iter();
            let declared = declared.find(|declared| declared.kind == path.kind)?;
            let schema = Schema::from_value(fillable_part(&declared.schema, &path.keys)?);
            let written = frame.slots.after_write(path, method, value);
            let violation = schema.validate(&written).into_iter().next()?;
            let message = format!(
                "the result does not match the schema of `{path}`: {}",
                violation.message
            );
            // The call has happened, so its answer is not lost.
            let data = Value::object([
                ("code", Value::from(ToolError::MISFIT)),
                ("output", value.clone()),
            ]);
            Some(ToolError::new(ErrorKind::Reference, message).with_data(data))
        })
    }

    fn write(
        &mut self,
        task: TaskId,
        paths: &[SlotPath],
        mut write: impl FnMut(&mut crate::run::values::slots::Slots, u32, &SlotPath),
    ) {
        let Some((frame, order)) = self.task_data(task).map(|data| (data.frame, data.step)) else {
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
            .as_deref()
            .map(ToolError::as_value)
            .unwrap_or_default();
        // The last of several alternatives takes the failure.
        if let Some(writes) = &step.writes
            && let Targets::OneOf(paths) = &writes.targets
            && let Some(last) = paths.last().cloned()
        {
            if let Err(error) = self.charge_value(&failure) {
                return Outcome::failed(error);
            }
            self.write(task, &[last], |slots, order, path| {
                slots.write(order, path, Method::Set, failure.clone(), None);
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
                let Some(data) = self.task_data(task) else {
                    return outcome;
                };
                let mut scope = self.scope(data, frame);
                scope.own_outcome = Some((data.step, &outcome));
                match scope.node(node, None) {
                    Ok(value) => {
                        let mut replaced = Outcome::succeeded(Arc::new(ToolOutput::value(value)));
                        replaced.error.clone_from(&outcome.error);
                        replaced.handled = true;
                        let replaced = self.count_written_output(replaced);
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

    /// Stops the tasks that must not continue after the failure of `step` in `frame`.
    fn apply_failure(&mut self, frame_index: usize, step: u32) {
        let fail_fast = self.options.on_failure == FailurePolicy::Stop;
        let Some(frame) = self.frames.get_mut(frame_index) else {
            return;
        };
        if frame.failed.is_none() {
            frame.failed = Some(step);
        }
        // Independent steps continue; dependent ones are skipped when they are prepared.
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
        // The failure of an inner plan belongs to the step that runs it.
        if owner.is_none() {
            self.lifecycle.stop_after(id);
        }
        self.queue.notify(SchedulerEvent::Stop(owner));
    }
}

/// The branch of a successful output: the one that the tool names, otherwise the first.
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
