//! Admission of calls: guard checks before a question and before a call, and the accounting of what a run writes.

use std::sync::Arc;

use planwright_core::{Tool, Value};

use crate::backend::{ErrorKind, ToolError, ToolOutput};
use crate::guard::{MAX_LEVELS, written_bytes};
use crate::journal::Record;
use crate::run::effect::Effect;
use crate::run::journaling::history::History;
use crate::run::outcome::{Outcome, StepStatus};
use crate::run::state::Run;
use crate::run::tasks::task_data::TaskData;
use crate::schedule::{AttemptEnd, Event, TaskId, Timer};

/// The task id of the run's own timer. No task has it.
pub(in crate::run) const RUN_TIMER_TASK: TaskId = TaskId(u32::MAX);

impl Run {
    /// Returns true if an attempt may be sent now, which counts it. Otherwise the scheduler is notified that the
    /// attempt has failed or is postponed.
    pub(in crate::run) fn admit_call(&mut self, task: TaskId, attempt: u32) -> bool {
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
            && let Some(pause) = self.budgets.guard.rate_delay(&tool, self.now, has_waited)
        {
            if let Some(data) = self.task_data_mut(task) {
                data.postponed = true;
            }
            self.notify(Event::Postponed {
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
                self.notify(Event::AttemptEnded { task, attempt, end });
                return false;
            }
        }
        true
    }

    /// Counts the calls of earlier processes. Their consecutive failures are forgotten: the person who resumes the run
    /// has seen them.
    pub(in crate::run) fn restore_usage(&mut self, history: &History) {
        if self.options.guards.is_empty() {
            return;
        }
        let known = history.steps().flat_map(|(_, past)| &past.calls);
        let forgotten = history.forgotten_calls().map(|(_, call)| call);
        for call in known.chain(forgotten) {
            let tool = Tool::new(Arc::clone(&call.server), Arc::clone(&call.tool));
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

    /// The reason why a question is pointless: the call would be refused anyway.
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
        if let Some(most) = self.budgets.guard.wall_time() {
            // The time of earlier processes counts as well.
            let after = most.saturating_sub(self.now);
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
        self.notify(Event::Cancel);
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

/// Adds the error of the failed attempts before to the error of a refused one, so it is not lost.
fn after_failure(error: ToolError, before: &ToolError) -> ToolError {
    let known = error.data.as_object().into_iter().flatten();
    let fields = known.map(|(key, value)| (Arc::clone(key), value.clone()));
    let failure = (Arc::from("after"), before.as_value());
    let data = Value::object(fields.chain([failure]));
    error.with_data(data)
}

/// The maximum size of one output, in bytes of JSON.
const MAX_OUTPUT_BYTES: u64 = 256 * 1024 * 1024;

impl Run {
    /// Counts a value that is about to be written once more.
    pub(in crate::run) fn write_value(&mut self, value: &Value) -> Result<(), ToolError> {
        self.budgets.written.take(written_bytes(value))
    }

    /// Counts the arguments of a call, which are written with its step and with its first attempt.
    pub(in crate::run) fn write_call(&mut self, args: &Value) -> Result<(), ToolError> {
        let bytes = written_bytes(args);
        self.budgets.written.take(bytes.saturating_mul(2))
    }

    /// Returns true if the arguments of one more attempt fit into the budget, which counts them. Otherwise the attempt
    /// fails.
    pub(in crate::run) fn admit_repeated_args(&mut self, task: TaskId, attempt: u32) -> bool {
        if attempt <= 1 {
            return true;
        }
        let args = self.task_data(task).and_then(|data| data.args.clone());
        let Some(Err(error)) = args.map(|args| self.write_value(&args)) else {
            return true;
        };
        if let Some(data) = self.task_data_mut(task) {
            data.last_error = Some(Box::new(error));
        }
        let end = AttemptEnd::Final;
        self.notify(Event::AttemptEnded { task, attempt, end });
        false
    }

    /// The outcome of a task, within the bounds of nesting and size.
    pub(in crate::run) fn bound_output(&mut self, task: TaskId, outcome: Outcome) -> Outcome {
        let is_answer = self
            .task_data(task)
            .is_some_and(|data| data.tool.is_some() && data.parts.is_empty());
        if !is_answer || outcome.error.is_some() {
            return self.count_written_output(outcome);
        }
        // A tool's answer is received data, which increases the budget of what may be written.
        match output_bytes(&outcome) {
            Ok(bytes) => self.budgets.written.receive(bytes),
            Err(error) => return without_output(outcome, error),
        }
        outcome
    }

    /// The outcome with its output counted as written.
    pub(in crate::run) fn count_written_output(&mut self, outcome: Outcome) -> Outcome {
        let taken = output_bytes(&outcome).and_then(|bytes| self.budgets.written.take(bytes));
        match taken {
            Ok(()) => outcome,
            Err(error) => without_output(outcome, error),
        }
    }
}

/// The size of an output as JSON, unless it is nested too deeply or too large.
fn output_bytes(outcome: &Outcome) -> Result<u64, ToolError> {
    let Some(output) = &outcome.output else {
        return Ok(0);
    };
    let size = output.value.json_size(MAX_LEVELS);
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

/// The outcome without its output: a failure, with its own error if it has one.
fn without_output(mut outcome: Outcome, error: ToolError) -> Outcome {
    if outcome.status == StepStatus::Succeeded || outcome.error.is_none() {
        return Outcome::failed(error);
    }
    outcome.output = None;
    outcome
}

/// Counts the outputs that a summary selects. They are written only once the run has ended.
pub(in crate::run) fn select(
    run: &Run,
    selected: &mut u64,
    value: Value,
) -> Result<Value, ToolError> {
    *selected = selected.saturating_add(written_bytes(&value));
    run.budgets.written.check(*selected).map(|()| value)
}
