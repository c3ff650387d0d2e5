//! Attempts of calls: admission, approval, sending, answers, timeouts, aborts.

use std::sync::Arc;
use std::time::Duration;

use planwright_core::{Tool, Value};
use sha2::{Digest, Sha256};

use crate::approval::hex;
use crate::backend::{
    CallClock, CallContext, ErrorKind, RetryAdvice, ToolCall, ToolError, ToolOutput,
};
use crate::event::{Address, RunEvent};
use crate::id::RunId;
use crate::journal::Record;
use crate::run::effects::Effect;
use crate::run::run_machine::RunMachine;
use crate::run::tasks::task::{CallRecord, Group};
use crate::schedule::{AttemptEnd, SchedulerEvent, TaskId, TaskState, Timer};

/// The number of digest digits in an idempotency key: 64 bits suffice, since keys are compared within one place of one
/// run only.
const KEY_DIGITS: usize = 16;

impl RunMachine {
    pub(in crate::run) fn call(&mut self, task: TaskId, attempt: u32, effects: &mut Vec<Effect>) {
        if !self.admit_call(task, attempt) || !self.admit_repeated_args(task, attempt) {
            return;
        }
        self.begin(task, effects);
        let run = self.id().clone();
        let now = self.now();
        let Some(data) = self.task_data_mut(task) else {
            return;
        };
        // The scheduler counts only the attempts of this process.
        let number = data.earlier_attempts.saturating_add(attempt);
        data.attempts = number;
        let (Some(tool), Some(args)) = (data.tool.clone(), data.args.clone()) else {
            return;
        };
        let at = Arc::clone(&data.address);
        // The journal tells later processes which call the consent was for.
        let consent = self.needs_consent(task, &tool).then(|| {
            let subject = self.subject(&tool, &args);
            Arc::from(subject.digest(&run, &at))
        });
        let step_limit = self.step_of(task).and_then(|(_, step)| step.timeout);
        let time_limit = step_limit.or(self.options.attempt_timeout);
        let call = Box::new(ToolCall {
            tool: Arc::clone(&tool),
            args: args.clone(),
            context: CallContext {
                step: at.step.clone(),
                attempt: number,
                idempotency_key: idempotency_key(&run, &at, &tool, &args),
                time_limit,
                data: self.options.data.clone(),
                run: Some(run),
            },
            clock: CallClock::default(),
        });
        let index = self.tasks.push_call(CallRecord {
            task,
            attempt: number,
            args: args.clone(),
            error: None,
            sent: now,
            ended: false,
        });
        if let Some(data) = self.task_data_mut(task) {
            data.last_call = Some(index);
        }
        // The record precedes the call, so the driver stores it first.
        self.record(effects, || {
            Some(Record::Sent {
                at: Arc::clone(&at),
                server: tool.server.clone(),
                tool: Arc::clone(&tool.name),
                attempt: number,
                args: args.clone(),
                consent,
            })
        });
        self.emit(effects, || RunEvent::AttemptStarted {
            at,
            tool: Arc::clone(&tool.name),
            attempt: number,
            args,
        });
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
        let now = self.now();
        let Some(data) = self.task_data_mut(task) else {
            return;
        };
        if data.started.is_some() {
            return;
        }
        let at = Arc::clone(&data.address);
        // A resumed task began when its first call was sent.
        let before = self
            .past(&at)
            .and_then(|past| Some(past.calls.first()?.sent));
        let Some(data) = self.task_data_mut(task) else {
            return;
        };
        data.started = Some(before.unwrap_or(now));
        let Some(data) = self.task_data(task) else {
            return;
        };
        self.emit(effects, || RunEvent::StepStarted {
            at,
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

/// The idempotency key of a call: the run, the place in it, and a digest of tool and arguments. A different call at
/// the same place has another key, so a server that honours keys does not drop it as a duplicate.
fn idempotency_key(run: &RunId, at: &Address, tool: &Tool, args: &Value) -> Arc<str> {
    let mut hash = Sha256::new();
    for part in [&*tool.server, &*tool.name, &args.to_json()] {
        // The length prefix keeps different parts from hashing alike.
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    let digest = hex(&hash.finalize());
    let short = digest.get(..KEY_DIGITS).unwrap_or(&digest);
    format!("{}:{short}", at.key_below(run.as_str())).into()
}
