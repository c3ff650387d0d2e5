//! Guard checks of a run: before a question, before a call, and after it has ended.

use std::sync::Arc;

use planwright_core::{Tool, Value};

use crate::backend::{ToolError, ToolOutput};
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
        let looked = self.budgets.guard.check(&tool);
        let refused = looked
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
        let gone = history.forgotten_calls().map(|(_, call)| call);
        for call in known.chain(gone) {
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
