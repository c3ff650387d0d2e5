//! Accounting of written values: arguments with their step and with each attempt, questions, outputs, slots.

use crate::backend::{ErrorKind, ToolError};
use crate::guard::{MAX_LEVELS, written_bytes};
use crate::run::outcome::{Outcome, StepStatus};
use crate::run::state::Run;
use crate::schedule::{AttemptEnd, Event, TaskId};
use planwright_core::Value;

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
    let size = output.value.written_size(MAX_LEVELS);
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
