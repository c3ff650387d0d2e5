//! Calls: approval, sending, answers, timeouts, aborts.

use std::sync::Arc;
use std::time::Duration;

use planwright_core::place::push_pointer_segment;
use planwright_core::schema::{FaultKind, SchemaFault};
use planwright_core::{PointerSegment, Tool, Value};

use sha2::{Digest, Sha256};

use crate::approval::{ApprovalRequest, ChangedSecretError, Decision, hex, with_secrets};
use crate::backend::{CallClock, ErrorKind, RetryAdvice, ToolCall, ToolError, ToolOutput};
use crate::event::{Address, RunEvent};
use crate::journal::Record;
use crate::run::effect::Effect;
use crate::run::state::Run;
use crate::run::tasks::task_data::{CallRecord, Group};
use crate::schedule::{AttemptEnd, Event, TaskId, TaskState, Timer};

/// The number of digest digits in an idempotency key: 64 bits suffice, since keys are compared within one place of one
/// run only.
const KEY_DIGITS: usize = 16;

impl Run {
    pub(in crate::run) fn ask(&mut self, task: TaskId, effects: &mut Vec<Effect>) {
        // The task may have been ended since the command was issued.
        if self.scheduler.state(task) != TaskState::AwaitingApproval {
            return;
        }
        let Some(data) = self.task_data(task) else {
            return;
        };
        let (Some(tool), Some(args)) = (data.tool.clone(), data.args.clone()) else {
            return;
        };
        let at = Arc::clone(&data.address);
        if data.outcome_unknown {
            let tool = Arc::clone(&tool.name);
            self.emit(effects, || RunEvent::OutcomeUnknown { at, tool, args });
            return;
        }
        let refused = self.refusal_before_asking(data);
        if let Some(error) = refused.or_else(|| self.write_value(&args).err()) {
            self.reject(task, error);
            return;
        }
        self.emit(effects, || RunEvent::ApprovalAsked {
            at: Arc::clone(&at),
            tool: Arc::clone(&tool.name),
            args: args.clone(),
        });
        let reason = self.reason_to_ask(task, &tool);
        let subject = self.subject(&tool, &args);
        self.record(effects, || {
            Some(Record::Asked {
                at: Arc::clone(&at),
                subject: Box::new(subject.clone()),
                reason: reason.clone(),
            })
        });
        let request = Box::new(ApprovalRequest {
            run: Arc::clone(&self.id),
            shown: subject.args.clone(),
            changes: self.changes_since_question(&at, &subject),
            at,
            tool,
            args,
            subject,
            reason,
        });
        effects.push(Effect::Ask { task, request });
        if let Some(data) = self.task_data_mut(task) {
            data.question_is_open = true;
        }
    }

    pub(in crate::run) fn decided(
        &mut self,
        task: TaskId,
        decision: Decision,
        effects: &mut Vec<Effect>,
    ) {
        if self.scheduler.state(task) != TaskState::AwaitingApproval {
            return;
        }
        let Some(data) = self.task_data_mut(task) else {
            return;
        };
        data.question_is_open = false;
        let at = Arc::clone(&data.address);
        // Refused arguments are not recorded: they may be a secret that the run does not know.
        let decision = match decision {
            Decision::Approve { args: Some(args) } => match self.with_own_secrets(task, &args) {
                Ok(args) => Decision::Approve { args: Some(args) },
                Err(error) => Decision::Reject {
                    because: Some(format!("the changed arguments cannot be used: {error}")),
                },
            },
            decision => decision,
        };
        self.record(effects, || decision_record(&at, &decision));
        match decision {
            Decision::Later => {}
            Decision::Approve { args } => {
                self.emit(effects, || RunEvent::ApprovalDecided {
                    at,
                    approved: true,
                    changed_args: args.clone(),
                });
                if let Some(args) = args {
                    if let Err(error) = self.check_args(task, &args) {
                        self.reject(task, error);
                        return;
                    }
                    if let Some(data) = self.task_data_mut(task) {
                        data.args = Some(args);
                    }
                }
                self.notify(Event::Approved(task));
            }
            Decision::Reject { because } => {
                self.emit(effects, || RunEvent::ApprovalDecided {
                    at,
                    approved: false,
                    changed_args: None,
                });
                let message = because.map_or_else(
                    || "the call was rejected".to_owned(),
                    |because| format!("the call was rejected: {because}"),
                );
                self.reject(task, ToolError::new(ErrorKind::Approval, message));
            }
        }
    }

    fn reject(&mut self, task: TaskId, error: ToolError) {
        if let Some(data) = self.task_data_mut(task) {
            data.last_error = Some(Box::new(error));
        }
        self.notify(Event::Rejected(task));
    }

    pub(in crate::run) fn call(&mut self, task: TaskId, attempt: u32, effects: &mut Vec<Effect>) {
        if !self.admit_call(task, attempt) || !self.admit_rewritten_args(task, attempt) {
            return;
        }
        self.begin(task, effects);
        let run = Arc::clone(&self.id);
        let index = self.calls.len();
        let now = self.now;
        let Some(data) = self.task_data_mut(task) else {
            return;
        };
        let number = data.earlier_attempts.saturating_add(attempt);
        data.attempts = number;
        data.last_call = Some(index);
        let (Some(tool), Some(args)) = (data.tool.clone(), data.args.clone()) else {
            return;
        };
        let at = Arc::clone(&data.address);
        let consent = self.needs_consent(task, &tool).then(|| {
            let subject = self.subject(&tool, &args);
            Arc::from(subject.digest(&run, &at))
        });
        let call = Box::new(ToolCall {
            tool: Arc::clone(&tool),
            args: args.clone(),
            step: at.step.clone(),
            attempt: number,
            idempotency_key: idempotency_key(&run, &at, &tool, &args),
            clock: CallClock::default(),
        });
        self.calls.push(CallRecord {
            task,
            attempt: number,
            args: args.clone(),
            error: None,
            sent: now,
            ended: false,
        });
        self.record(effects, || {
            Some(Record::Sent {
                at: Arc::clone(&at),
                server: Arc::clone(&tool.server),
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

    /// Records that a task has begun.
    pub(in crate::run) fn begin(&mut self, task: TaskId, effects: &mut Vec<Effect>) {
        let now = self.now;
        let Some(data) = self.task_data_mut(task) else {
            return;
        };
        if data.started.is_some() {
            return;
        }
        let at = Arc::clone(&data.address);
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
            Some(Record::GivenUp {
                at: Arc::clone(&data.address),
                attempt: data.attempts,
            })
        });
        let error = ToolError::new(ErrorKind::Timeout, "the call was given up");
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
        if let Some(record) = data.last_call.and_then(|index| self.calls.get_mut(index))
            && record.attempt == attempt
            && !record.ended
        {
            record.ended = true;
            record.error = error.clone().map(Box::new);
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
        self.scheduler.state(task) == TaskState::Running && self.scheduler.attempt(task) == attempt
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
                self.check_output(task, &output.value);
                let outcome = self.count_answer(output);
                if let Some(data) = self.task_data_mut(task) {
                    data.pending_outcome = Some(Box::new(outcome));
                }
                AttemptEnd::Final
            }
            Err(error) => {
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
        self.notify(Event::AttemptEnded { task, attempt, end });
    }

    /// Updates the durations of a tool after a successful call.
    fn observe_duration(&mut self, task: TaskId, effects: &mut Vec<Effect>) {
        let Some(data) = self.task_data(task) else {
            return;
        };
        let sent = data.last_call.and_then(|index| self.calls.get(index));
        let (Some(tool), Some(call)) = (data.tool.clone(), sent) else {
            return;
        };
        let took = self.now.saturating_sub(call.sent);
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
            let error = ToolError::new(ErrorKind::Timeout, format!("no answer within {waited:?}"));
            self.end_attempt(task, attempt, Some(error.clone()), effects);
            if let Some(data) = self.task_data_mut(task) {
                data.last_error = Some(Box::new(error));
            }
        }
        self.notify(Event::TimerFired(task, timer));
    }

    /// Restores the secrets in arguments that a person wrote in place of the call's own.
    pub(in crate::run) fn with_own_secrets(
        &self,
        task: TaskId,
        changed: &Value,
    ) -> Result<Value, ChangedSecretError> {
        let own = self.task_data(task).and_then(|data| data.args.as_ref());
        let own = own.cloned().unwrap_or_default();
        let mut shown = own.clone();
        self.redactor.value(&mut shown);
        with_secrets(changed, &shown, &own)
    }

    /// Validates arguments against the tool's schema.
    pub(in crate::run) fn check_args(&self, task: TaskId, args: &Value) -> Result<(), ToolError> {
        let Some(tool) = self.task_data(task).and_then(|data| data.tool.as_ref()) else {
            return Ok(());
        };
        let mut faults = tool.input.validate(args);
        // A schema error about a secret would reveal it, and could not be reproduced in a replay, which does not have
        // the secret. The server reports it instead.
        faults.retain(|fault| {
            fault.kind != FaultKind::Wrong || !self.holds_secret(args, &fault.path)
        });
        let Some(first) = faults.first() else {
            return Ok(());
        };
        let mut message = fault_text(first);
        if faults.len() > 1 {
            let more = faults.len() - 1;
            message = format!("{message}, and {more} more of the kind");
        }
        let all = Value::list(faults.iter().map(|fault| Value::from(fault_text(fault))));
        Err(ToolError::new(ErrorKind::Arguments, message)
            .with_data(Value::object([("faults", all)])))
    }

    /// Returns true if the part of `value` at `path` holds a secret.
    pub(in crate::run) fn holds_secret(&self, value: &Value, path: &[PointerSegment]) -> bool {
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

/// The idempotency key of a call: the run, the place in it, and a digest of tool and arguments. A different call at
/// the same place has another key, so a server that honours keys does not drop it as a duplicate.
fn idempotency_key(run: &str, at: &Address, tool: &Tool, args: &Value) -> Arc<str> {
    let mut hash = Sha256::new();
    for part in [&*tool.server, &*tool.name, &args.to_json()] {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    let digest = hex(&hash.finalize());
    let short = digest.get(..KEY_DIGITS).unwrap_or(&digest);
    format!("{}:{short}", at.key_below(run)).into()
}

/// The journal record of a decision; none for [`Decision::Later`].
fn decision_record(at: &Arc<Address>, decision: &Decision) -> Option<Record> {
    let (approved, changed_args, because) = match decision {
        Decision::Later => return None,
        Decision::Approve { args } => (true, args.clone(), None),
        Decision::Reject { because } => (false, None, because.as_deref().map(Arc::from)),
    };
    Some(Record::Decided {
        at: Arc::clone(at),
        approved,
        changed_args,
        because,
    })
}

/// A schema error with its place.
pub(in crate::run) fn fault_text(fault: &SchemaFault) -> String {
    let mut pointer = String::new();
    for segment in &fault.path {
        push_pointer_segment(&mut pointer, segment);
    }
    if pointer.is_empty() {
        fault.message.clone()
    } else {
        format!("{} at {pointer}", fault.message)
    }
}
