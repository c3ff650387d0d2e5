//! Limits of calls: schemas of arguments and outputs, the guard, the time limit of the run, and the budget of written bytes.

use std::sync::Arc;

use planwright_core::place::push_pointer_segment;
use planwright_core::schema::{SchemaViolation, SchemaViolationKind};
use planwright_core::{Code, Diagnostic, PointerSegment, Tool, Value};

use crate::backend::{ErrorKind, ToolError, ToolOutput};
use crate::guard::{MAX_LEVELS, written_bytes};
use crate::journal::Record;
use crate::run::effects::Effect;
use crate::run::journaling::history::History;
use crate::run::outcome::{Outcome, StepStatus};
use crate::run::run_machine::RunMachine;
use crate::run::tasks::task::TaskData;
use crate::schedule::{SchedulerEvent, TaskId, Timer};

/// The task id of the run's own timer. No task has it.
pub(in crate::run) const RUN_TIMER_TASK: TaskId = TaskId(u32::MAX);

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

/// The maximum size of one output, in bytes of JSON.
const MAX_OUTPUT_BYTES: u64 = 256 * 1024 * 1024;

impl RunMachine {
    /// Charges the budget for one more copy of `value` that the run writes.
    pub(in crate::run) fn charge_value(&mut self, value: &Value) -> Result<(), ToolError> {
        self.budgets.written.take(written_bytes(value))
    }

    /// Charges the budget for the arguments of a call, which are written twice: with its step and with its first attempt.
    pub(in crate::run) fn charge_call(&mut self, args: &Value) -> Result<(), ToolError> {
        let bytes = written_bytes(args);
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
            tool.name,
            step.id,
            violation_text(first)
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
        let mut message = violation_text(first);
        if violations.len() > 1 {
            let more = violations.len() - 1;
            message = format!("{message}, and {more} more");
        }
        let all = Value::list(
            violations
                .iter()
                .map(|violation| Value::from(violation_text(violation))),
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

/// A schema error with its place.
fn violation_text(violation: &SchemaViolation) -> String {
    let mut pointer = String::new();
    for segment in &violation.path {
        push_pointer_segment(&mut pointer, segment);
    }
    if pointer.is_empty() {
        violation.message.clone()
    } else {
        format!("{} at {pointer}", violation.message)
    }
}
