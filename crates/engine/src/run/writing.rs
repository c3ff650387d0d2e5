//! Where a run counts what it writes: arguments with their step and with each attempt, questions, outputs, slots.

use super::outcome::{Outcome, StepStatus};
use super::state::Run;
use crate::backend::{ErrorKind, ToolError};
use crate::guard::{MAX_LEVELS, written_bytes};
use crate::schedule::{AttemptEnd, Event, TaskId};
use planwright_core::Value;

/// The most bytes of one output as it is written.
const LARGEST: u64 = 256 * 1024 * 1024;

impl Run {
    /// Counts a value that is about to be written once more.
    pub(super) fn write_value(&mut self, value: &Value) -> Result<(), ToolError> {
        self.written.take(written_bytes(value))
    }

    /// Counts the arguments of a call, which are written with its step and with its first attempt.
    pub(super) fn write_call(&mut self, args: &Value) -> Result<(), ToolError> {
        let bytes = written_bytes(args);
        self.written.take(bytes.saturating_mul(2))
    }

    /// Whether there is room for the arguments of one more attempt, which count then. If not, the attempt fails.
    pub(super) fn may_write_again(&mut self, task: TaskId, attempt: u32) -> bool {
        if attempt <= 1 {
            return true;
        }
        let args = self.work(task).and_then(|work| work.args.clone());
        let Some(Err(error)) = args.map(|args| self.write_value(&args)) else {
            return true;
        };
        if let Some(work) = self.work_mut(task) {
            work.last_error = Some(Box::new(error));
        }
        let end = AttemptEnd::Final;
        self.tell(Event::AttemptEnded { task, attempt, end });
        false
    }

    /// The outcome of a task, within the bounds of depth and size.
    pub(super) fn within_bounds(&mut self, task: TaskId, outcome: Outcome) -> Outcome {
        let is_answer = self
            .work(task)
            .is_some_and(|work| work.tool.is_some() && work.parts.is_empty());
        if !is_answer || outcome.error.is_some() {
            return self.counted_output(outcome);
        }
        // It comes from outside, and from now on there is more to be written.
        match output_bytes(&outcome) {
            Ok(bytes) => self.written.receive(bytes),
            Err(error) => return without_output(outcome, error),
        }
        outcome
    }

    /// The outcome, now that the output counts as written.
    pub(super) fn counted_output(&mut self, outcome: Outcome) -> Outcome {
        let taken = output_bytes(&outcome).and_then(|bytes| self.written.take(bytes));
        match taken {
            Ok(()) => outcome,
            Err(error) => without_output(outcome, error),
        }
    }
}

/// The bytes of an output as it is written, unless it is nested too deeply or too large.
fn output_bytes(outcome: &Outcome) -> Result<u64, ToolError> {
    let Some(output) = &outcome.output else {
        return Ok(0);
    };
    let size = output.value.written_size(MAX_LEVELS);
    size.map(|size| size.bytes)
        .filter(|bytes| *bytes <= LARGEST)
        .ok_or_else(too_large)
}

fn too_large() -> ToolError {
    ToolError::new(
        ErrorKind::Budget,
        format!(
            "the output is nested deeper than {MAX_LEVELS} levels or holds more than {} MiB",
            LARGEST / 1024 / 1024
        ),
    )
}

/// What is left of an outcome without its output: it has failed, for its own reason if it had one.
fn without_output(mut outcome: Outcome, error: ToolError) -> Outcome {
    if outcome.status == StepStatus::Succeeded || outcome.error.is_none() {
        return Outcome::failed(error);
    }
    outcome.output = None;
    outcome
}

/// Counts bytes of outputs that a summary selects, of which nothing is written before the run has ended.
pub(super) fn select(run: &Run, selected: &mut u64, value: Value) -> Result<Value, ToolError> {
    *selected = selected.saturating_add(written_bytes(&value));
    run.written.check(*selected).map(|()| value)
}
