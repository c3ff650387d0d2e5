//! Attempts of calls: admission, sending, answers, timeouts, aborts; and their limits: schemas of arguments and outputs, the guard, the time
//! limit of the run, and the budget of written bytes.

use std::sync::Arc;
use std::time::Duration;

use planwright_core::schema::SchemaViolationKind;
use planwright_core::value::SharedSizes;
use planwright_core::{Code, Diagnostic, PointerSegment, Tool, Value};

use crate::backend::{
    CallClock, CallContext, ErrorKind, IdempotencyKey, RetryAdvice, ToolCall, ToolError, ToolOutput,
};
use crate::event::RunEvent;
use crate::guard::{MAX_LEVELS, written_bytes};
use crate::journal::Record;
use crate::run::effects::Effect;
use crate::run::journaling::history::History;
use crate::run::outcome::{Outcome, StepStatus};
use crate::run::run_machine::RunMachine;
use crate::run::tasks::task::{CallRecord, Group, TaskData};
use crate::schedule::{AttemptEnd, SchedulerEvent, TaskId, TaskState, Timer};

/// The task id of the run's own timer. No task has it.
pub(in crate::run) const RUN_TIMER_TASK: TaskId = TaskId(u32::MAX);

/// The maximum size of one output, in bytes of JSON.
const MAX_OUTPUT_BYTES: u64 = 256 * 1024 * 1024;

impl RunMachine {
    pub(in crate::run) fn call(&mut self, task: TaskId, attempt: u32, effects: &mut Vec<Effect>) {
        if !self.admit_call(task, attempt) || !self.admit_repeated_args(task, attempt) {
            return;
        }
        self.begin(task, effects);
        let Some(data) = self.task_data(task) else {
            return;
        };
        let (Some(tool), Some(args)) = (&data.tool, &data.args) else {
            return;
        };
        let step_limit = self.step_of(task).and_then(|(_, step)| step.timeout);
        // The scheduler counts only the attempts of this process.
        let number = data.earlier_attempts.saturating_add(attempt);
        let at = &data.address;
        // The record precedes the call, so the driver stores it first.
        self.record(effects, || {
            // The journal tells later processes which call the consent was for.
            let consent = self.needs_consent(task, tool).then(|| {
                let subject = self.subject(tool, args);
                Arc::from(subject.digest(self.id(), at))
            });
            Some(Record::Sent {
                at: Arc::clone(at),
                server: tool.server.clone(),
                tool: Arc::clone(&tool.name),
                attempt: number,
                args: args.clone(),
                consent,
            })
        });
        self.emit(effects, || RunEvent::AttemptStarted {
            at: Arc::clone(at),
            tool: Arc::clone(&tool.name),
            attempt: number,
            args: args.clone(),
        });
        let call = Box::new(ToolCall {
            tool: Arc::clone(tool),
            args: args.clone(),
            context: CallContext {
                step: at.step.clone(),
                attempt: number,
                key: IdempotencyKey::OfCall {
                    run: self.id().clone(),
                    at: Arc::clone(at),
                    tool: Arc::clone(tool),
                    args: args.clone(),
                },
                time_limit: step_limit.or(self.options.attempt_timeout),
                data: self.options.data.clone(),
                run: Some(self.id().clone()),
            },
            clock: CallClock::default(),
        });
        let record = CallRecord {
            task,
            attempt: number,
            args: args.clone(),
            error: None,
            sent: self.now(),
            ended: false,
        };
        let index = self.tasks.push_call(record);
        if let Some(data) = self.task_data_mut(task) {
            data.attempts = number;
            data.last_call = Some(index);
        }
        effects.push(Effect::Call {
            task,
            attempt,
            call,
        });
    }

    /// Returns true if an attempt may be sent now, which counts it. Otherwise the scheduler is notified that the
    /// attempt has failed or is postponed.
    fn admit_call(&mut self, task: TaskId, attempt: u32) -> bool {
        // Runs without bounds are the common case and pay nothing for them.
        if self.budgets.guard.is_idle() {
            return true;
        }
        let Some(data) = self.task_data(task) else {
            return false;
        };
        let (Some(tool), Some(args)) = (data.tool.clone(), data.args.clone()) else {
            return false;
        };
        let has_waited = data.postponed;
        let number = data.earlier_attempts.saturating_add(attempt);
        // A call that is refused in any case must not wait for the rate limit.
        let checked = self.budgets.guard.check(&tool);
        let refused = checked
            .and_then(|()| self.budgets.guard.check_repetition(&tool, &args, number))
            .err();
        if refused.is_none()
            && let Some(pause) = self.budgets.guard.rate_delay(&tool, self.now(), has_waited)
        {
            if let Some(data) = self.task_data_mut(task) {
                data.postponed = true;
            }
            self.queue.notify(SchedulerEvent::Postponed {
                task,
                attempt,
                pause,
            });
            return false;
        }
        let error = refused.or_else(|| self.budgets.guard.reserve(&tool, &args, number).err());
        if let Some(data) = self.task_data_mut(task) {
            data.postponed = false;
            if let Some(mut error) = error {
                if let Some(before) = data.last_error.take() {
                    error = after_failure(error, &before);
                }
                data.last_error = Some(Box::new(error));
                let end = AttemptEnd::Final;
                self.queue
                    .notify(SchedulerEvent::AttemptEnded { task, attempt, end });
                return false;
            }
        }
        true
    }

    /// Returns true if the arguments of one more attempt fit into the budget, which counts them. Otherwise the attempt
    /// fails.
    fn admit_repeated_args(&mut self, task: TaskId, attempt: u32) -> bool {
        if attempt <= 1 {
            return true;
        }
        let args = self.task_data(task).and_then(|data| data.args.clone());
        let Some(Err(error)) = args.map(|args| self.charge_value(&args)) else {
            return true;
        };
        if let Some(data) = self.task_data_mut(task) {
            data.last_error = Some(Box::new(error));
        }
        let end = AttemptEnd::Final;
        self.queue
            .notify(SchedulerEvent::AttemptEnded { task, attempt, end });
        false
    }

    /// Records that a task has begun.
    pub(in crate::run) fn begin(&mut self, task: TaskId, effects: &mut Vec<Effect>) {
        let Some(data) = self.task_data(task) else {
            return;
        };
        if data.started.is_some() {
            return;
        }
        // A resumed task began when its first call was sent.
        let past = self.past(&data.address);
        let before = past.and_then(|past| Some(past.calls.first()?.sent));
        let started = before.unwrap_or(self.now());
        if let Some(data) = self.task_data_mut(task) {
            data.started = Some(started);
        }
        let Some(data) = self.task_data(task) else {
            return;
        };
        self.emit(effects, || RunEvent::StepStarted {
            at: Arc::clone(&data.address),
            tool: data.tool.as_ref().map(|tool| Arc::clone(&tool.name)),
            items: match data.group.as_deref() {
                Some(Group::Items { items, .. }) => Some(items.len() as u64),
                _ => None,
            },
        });
    }

    pub(in crate::run) fn abort(&mut self, task: TaskId, attempt: u32, effects: &mut Vec<Effect>) {
        effects.push(Effect::Abort(task));
        self.record(effects, || {
            let data = self.task_data(task)?;
            Some(Record::Aborted {
                at: Arc::clone(&data.address),
                attempt: data.attempts,
            })
        });
        let error = ToolError::new(ErrorKind::Timeout, "the call was aborted");
        self.end_attempt(task, attempt, Some(error), effects);
    }

    /// Records how an attempt ended, for reports and listeners.
    fn end_attempt(
        &mut self,
        task: TaskId,
        attempt: u32,
        error: Option<ToolError>,
        effects: &mut Vec<Effect>,
    ) {
        let Some(data) = self.task_data(task) else {
            return;
        };
        let attempt = data.earlier_attempts.saturating_add(attempt);
        // An attempt that timed out has ended before its abort is reported.
        if self.tasks.end_call(task, attempt, error.as_ref()) {
            self.budgets.guard.ended(error.is_some());
            if let Some(data) = self.task_data(task)
                && let Some(tool) = &data.tool
            {
                self.emit(effects, || RunEvent::AttemptEnded {
                    at: Arc::clone(&data.address),
                    tool: Arc::clone(&tool.name),
                    attempt,
                    error,
                });
            }
        }
    }

    /// Returns true if this attempt is in flight.
    pub(in crate::run) fn is_in_flight(&self, task: TaskId, attempt: u32) -> bool {
        self.queue.scheduler().state(task) == TaskState::Running
            && self.queue.scheduler().attempt(task) == attempt
    }

    pub(in crate::run) fn attempt_ended(
        &mut self,
        task: TaskId,
        attempt: u32,
        result: Result<ToolOutput, ToolError>,
        effects: &mut Vec<Effect>,
    ) {
        if !self.is_in_flight(task, attempt) {
            return;
        }
        self.record(effects, || {
            let data = self.task_data(task)?;
            Some(Record::Answered {
                at: Arc::clone(&data.address),
                attempt: data.attempts,
                result: result.clone(),
            })
        });
        self.end_attempt(task, attempt, result.as_ref().err().cloned(), effects);
        let end = match result {
            Ok(output) => {
                self.observe_duration(task, effects);
                let fits = self.check_output(task, &output.value);
                self.observe_output(task, &output, fits);
                let outcome = self.count_answer(output);
                if let Some(data) = self.task_data_mut(task) {
                    data.pending_outcome = Some(Box::new(outcome));
                }
                AttemptEnd::Final
            }
            Err(error) => {
                self.observe_error(task, &error);
                let end = match error.retry {
                    RetryAdvice::Never => AttemptEnd::Final,
                    RetryAdvice::Uncertain => AttemptEnd::Uncertain,
                    RetryAdvice::Again => AttemptEnd::Retryable(Duration::ZERO),
                    RetryAdvice::After(pause) => AttemptEnd::Retryable(pause),
                };
                if let Some(data) = self.task_data_mut(task) {
                    data.last_error = Some(Box::new(error));
                }
                end
            }
        };
        // The run's data is updated first, since the scheduler may settle the task at once.
        self.queue
            .notify(SchedulerEvent::AttemptEnded { task, attempt, end });
    }

    /// Updates the durations of a tool after a successful call.
    fn observe_duration(&mut self, task: TaskId, effects: &mut Vec<Effect>) {
        let Some(data) = self.task_data(task) else {
            return;
        };
        let (Some(tool), Some(call)) = (data.tool.clone(), self.tasks.last_call(task)) else {
            return;
        };
        let took = self.now().saturating_sub(call.sent);
        self.options
            .durations
            .observe(&tool.server, &tool.name, took);
        effects.push(Effect::Learn { task, tool, took });
    }

    pub(in crate::run) fn timer_fired(
        &mut self,
        task: TaskId,
        timer: Timer,
        effects: &mut Vec<Effect>,
    ) {
        // The run's own timer belongs to no task.
        if timer == Timer::Run {
            self.end_by_time_limit(effects);
            return;
        }
        self.record(effects, || {
            let at = self.address(task)?;
            Some(Record::TimerFired { at, timer })
        });
        if let Timer::Attempt(attempt) = timer
            && self.is_in_flight(task, attempt)
        {
            let waited = self.options.attempt_timeout.unwrap_or_default();
            let error = ToolError::timeout(waited, None);
            self.end_attempt(task, attempt, Some(error.clone()), effects);
            if let Some(data) = self.task_data_mut(task) {
                data.last_error = Some(Box::new(error));
            }
        }
        self.queue.notify(SchedulerEvent::TimerFired(task, timer));
    }
}

/// Adds the error of the failed attempts before to the error of a refused one, so it is not lost.
fn after_failure(error: ToolError, before: &ToolError) -> ToolError {
    let known = error.data.as_object().into_iter().flatten();
    let fields = known.map(|(key, value)| (Arc::clone(key), value.clone()));
    let failure = (Arc::from("after"), before.as_value());
    let data = Value::object(fields.chain([failure]));
    error.with_data(data)
}

impl RunMachine {
    /// Counts the calls of earlier processes. Their consecutive failures do not count, because the person who resumes the run has seen
    /// them.
    pub(in crate::run) fn restore_usage(&mut self, history: &History) {
        if self.options.guards.is_empty() {
            return;
        }
        let known = history.steps().flat_map(|(_, past)| &past.calls);
        let forgotten = history.forgotten_calls().map(|(_, call)| call);
        for call in known.chain(forgotten) {
            let tool = Tool::new(call.server.clone(), Arc::clone(&call.tool));
            let output = call.answer.as_ref().and_then(|answer| answer.as_ref().ok());
            self.budgets
                .guard
                .restore_call(&tool, &call.args, call.attempt, output);
        }
        if self.budgets.guard.has_rates() {
            self.budgets
                .guard
                .restore_rates(history.paused(), history.sent_calls());
        }
    }

    /// Returns the error of a call that would be refused even with consent; `None` if a question makes sense.
    pub(in crate::run) fn refusal_before_asking(&self, data: &TaskData) -> Option<ToolError> {
        self.budgets.guard.check(data.tool.as_ref()?).err()
    }

    /// The outcome of a successful answer, with its bytes counted.
    pub(in crate::run) fn count_answer(&mut self, output: ToolOutput) -> Outcome {
        match self.budgets.guard.count_output(&output) {
            Ok(()) => Outcome::succeeded(Arc::new(output)),
            Err(error) => Outcome::failed(error),
        }
    }

    /// Starts the timer of the run, if it has a time limit.
    pub(in crate::run) fn start_run_timer(&self, effects: &mut Vec<Effect>) {
        if let Some(limit) = self.budgets.guard.wall_time() {
            // The time of earlier processes counts as well.
            let after = limit.saturating_sub(self.now());
            effects.push(Effect::SetTimer {
                task: RUN_TIMER_TASK,
                timer: Timer::Run,
                after,
            });
        }
    }

    /// Ends the run because its time limit is exceeded.
    pub(in crate::run) fn end_by_time_limit(&mut self, effects: &mut Vec<Effect>) {
        self.record(effects, || Some(Record::OutOfTime));
        let error = self.budgets.guard.expire();
        self.lifecycle.end_by_time_limit(error);
        self.queue.notify(SchedulerEvent::Cancel);
    }

    /// The outcome of a task that the run's time limit has ended: tasks that had begun, or were about to call, fail;
    /// tasks that still waited for others did not run.
    pub(in crate::run) fn time_limit_outcome(data: &TaskData, error: &ToolError) -> Outcome {
        if data.started.is_some() || data.tool.is_some() {
            Outcome::failed(error.clone())
        } else {
            Outcome::without_output(StepStatus::NotRun, None)
        }
    }
}

impl RunMachine {
    /// Charges the budget for one more copy of `value` that the run writes.
    pub(in crate::run) fn charge_value(&mut self, value: &Value) -> Result<(), ToolError> {
        let bytes = self.budgets.written_bytes(value);
        self.budgets.written.take(bytes)
    }

    /// Charges the budget for the arguments of a call, which are written twice: with its step and with its first attempt.
    pub(in crate::run) fn charge_call(&mut self, args: &Value) -> Result<(), ToolError> {
        let bytes = self.budgets.written_bytes(args);
        self.budgets.written.take(bytes.saturating_mul(2))
    }

    /// The outcome of a task, within the bounds of nesting and size.
    pub(in crate::run) fn bound_output(&mut self, task: TaskId, outcome: Outcome) -> Outcome {
        let is_answer = self
            .task_data(task)
            .is_some_and(|data| data.tool.is_some() && data.parts.is_empty());
        if !is_answer || outcome.error.is_some() {
            return self.count_written_output(outcome);
        }
        // Received data raises the budget: a run may write in proportion to its answers.
        match output_bytes(&outcome, &mut self.budgets.sizes) {
            Ok(bytes) => self.budgets.written.receive(bytes),
            Err(error) => return without_output(outcome, error),
        }
        outcome
    }

    /// The outcome with its output counted as written.
    pub(in crate::run) fn count_written_output(&mut self, outcome: Outcome) -> Outcome {
        let bytes = output_bytes(&outcome, &mut self.budgets.sizes);
        let taken = bytes.and_then(|bytes| self.budgets.written.take(bytes));
        match taken {
            Ok(()) => outcome,
            Err(error) => without_output(outcome, error),
        }
    }
}

/// The size of an output as JSON, unless it is nested too deeply or too large.
fn output_bytes(outcome: &Outcome, sizes: &mut SharedSizes) -> Result<u64, ToolError> {
    let Some(output) = &outcome.output else {
        return Ok(0);
    };
    let size = sizes.size(&output.value, MAX_LEVELS);
    size.map(|size| size.bytes)
        .filter(|bytes| *bytes <= MAX_OUTPUT_BYTES)
        .ok_or_else(too_large)
}

fn too_large() -> ToolError {
    ToolError::new(
        ErrorKind::Budget,
        format!(
            "the output is nested deeper than {MAX_LEVELS} levels or holds more than {} MiB",
            MAX_OUTPUT_BYTES / 1024 / 1024
        ),
    )
}

/// Drops the output of `outcome`, which thereby fails: with its own error if it has one, else with `error`.
fn without_output(mut outcome: Outcome, error: ToolError) -> Outcome {
    if outcome.status == StepStatus::Succeeded || outcome.error.is_none() {
        return Outcome::failed(error);
    }
    outcome.output = None;
    outcome
}

/// Counts an output that the summary selects against the budget. It is checked but not charged, since it is written after the end of the
/// run.
pub(in crate::run) fn count_selected(
    run: &RunMachine,
    selected: &mut u64,
    value: Value,
) -> Result<Value, ToolError> {
    *selected = selected.saturating_add(written_bytes(&value));
    run.budgets.written.check(*selected).map(|()| value)
}

impl RunMachine {
    /// Returns true if an output matches the tool's output schema.
    pub(in crate::run) fn fits_output(&self, task: TaskId, output: &Value) -> bool {
        let tool = self.task_data(task).and_then(|data| data.tool.as_ref());
        tool.is_none_or(|tool| tool.output.is_any() || tool.output.validate(output).is_empty())
    }

    /// Warns if an output does not match the tool's output schema, once per tool. The output is used unchanged, since
    /// its readers may not need the wrong part.
    ///
    /// Returns true if the output fits, or could not be compared. After the first mismatch of a tool no output is compared, and this
    /// returns false.
    pub(in crate::run) fn check_output(&mut self, task: TaskId, output: &Value) -> bool {
        let Some(tool) = self.task_data(task).and_then(|data| data.tool.as_ref()) else {
            return true;
        };
        if tool.output.is_any() {
            return true;
        }
        if self.warnings.reports_mismatch(tool) {
            return false;
        }
        let mut violations = tool.output.validate(output);
        let fits = violations.is_empty();
        // A message about a secret would reveal a part of it.
        violations.retain(|violation| !self.contains_secret(output, &violation.path));
        let (Some(first), Some((frame, step))) = (violations.first(), self.step_of(task)) else {
            return fits;
        };
        let mut message = format!(
            "the output of the tool `{}` at `{}` does not fit its output schema: {}",
            tool.name, step.id, first
        );
        if violations.len() > 1 {
            message = format!("{message}, and {} more", violations.len() - 1);
        }
        let warning = Diagnostic::warning(Code::UnexpectedOutput, message)
            .help("the plan was checked against that schema, and the output is used as it came")
            .at(step.place, &frame.plan.plan().sources);
        let tool = Arc::clone(tool);
        self.warnings.add_mismatch(tool, warning);
        fits
    }

    /// Validates arguments against the tool's schema.
    pub(in crate::run) fn check_args(&self, task: TaskId, args: &Value) -> Result<(), ToolError> {
        let Some(tool) = self.task_data(task).and_then(|data| data.tool.as_ref()) else {
            return Ok(());
        };
        let mut violations = tool.input.validate(args);
        // A schema error about a secret would reveal it, and could not be reproduced in a replay, which does not have
        // the secret. The server reports it instead.
        violations.retain(|violation| {
            violation.kind != SchemaViolationKind::Wrong
                || !self.contains_secret(args, &violation.path)
        });
        let Some(first) = violations.first() else {
            return Ok(());
        };
        let mut message = first.to_string();
        if violations.len() > 1 {
            let more = violations.len() - 1;
            message = format!("{message}, and {more} more");
        }
        let all = Value::list(
            violations
                .iter()
                .map(|violation| Value::from(violation.to_string())),
        );
        Err(ToolError::new(ErrorKind::Arguments, message)
            .with_data(Value::object([("faults", all)])))
    }

    /// Returns true if the part of `value` at `path` holds a secret.
    fn contains_secret(&self, value: &Value, path: &[PointerSegment]) -> bool {
        let mut part = value;
        for segment in path {
            let inner = match segment {
                PointerSegment::Root => Some(part),
                PointerSegment::Key(key) => part.as_object().and_then(|fields| fields.get(key)),
                PointerSegment::Index(index) => part.as_list().and_then(|items| items.get(*index)),
            };
            part = inner.unwrap_or(part);
        }
        self.redactor.occurs(part)
    }
}
