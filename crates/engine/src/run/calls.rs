//! Calls: asked for, sent, answered, timed out, given up.

use std::sync::Arc;
use std::time::Duration;

use planwright_core::place::push_pointer_segment;
use planwright_core::schema::{FaultKind, SchemaFault};
use planwright_core::{PointerSegment, Tool, Value};

use sha2::{Digest, Sha256};

use super::effect::Effect;
use super::state::Run;
use super::work::{CallRecord, Group};
use crate::approval::{ApprovalRequest, ChangedSecretError, Decision, hex, with_secrets};
use crate::backend::{CallClock, ErrorKind, RetryAdvice, ToolCall, ToolError, ToolOutput};
use crate::event::{Address, RunEvent};
use crate::journal::Record;
use crate::schedule::{AttemptEnd, Event, TaskId, TaskState, Timer};

/// The digits of the digest in an idempotency key: 64 bits, since keys are compared within one place of one run only.
const KEY_DIGITS: usize = 16;

impl Run {
    pub(super) fn ask(&mut self, task: TaskId, effects: &mut Vec<Effect>) {
        // Something else may have ended it since.
        if self.scheduler.state(task) != TaskState::Asking {
            return;
        }
        let Some(work) = self.work(task) else {
            return;
        };
        let (Some(tool), Some(args)) = (work.tool.clone(), work.args.clone()) else {
            return;
        };
        let at = Arc::clone(&work.address);
        if work.in_doubt {
            let tool = Arc::clone(&tool.name);
            self.emit(effects, || RunEvent::OutcomeUnknown { at, tool, args });
            return;
        }
        let refused = self.needless_question(work);
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
        self.remember(effects, || {
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
        if let Some(work) = self.work_mut(task) {
            work.asked = true;
        }
    }

    pub(super) fn decided(&mut self, task: TaskId, decision: Decision, effects: &mut Vec<Effect>) {
        if self.scheduler.state(task) != TaskState::Asking {
            return;
        }
        let Some(work) = self.work_mut(task) else {
            return;
        };
        work.asked = false;
        let at = Arc::clone(&work.address);
        // What is refused is not recorded: it may be a secret that nobody knows to be one.
        let decision = match decision {
            Decision::Approve { args: Some(args) } => match self.with_own_secrets(task, &args) {
                Ok(args) => Decision::Approve { args: Some(args) },
                Err(error) => Decision::Reject {
                    because: Some(format!("the changed arguments cannot be used: {error}")),
                },
            },
            decision => decision,
        };
        self.remember(effects, || record_of(&at, &decision));
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
                    if let Some(work) = self.work_mut(task) {
                        work.args = Some(args);
                    }
                }
                self.tell(Event::Approved(task));
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
        if let Some(work) = self.work_mut(task) {
            work.last_error = Some(Box::new(error));
        }
        self.tell(Event::Rejected(task));
    }

    pub(super) fn call(&mut self, task: TaskId, attempt: u32, effects: &mut Vec<Effect>) {
        if !self.may_send(task, attempt) || !self.may_write_again(task, attempt) {
            return;
        }
        self.begin(task, effects);
        let run = Arc::clone(&self.id);
        let index = self.calls.len();
        let now = self.now;
        let Some(work) = self.work_mut(task) else {
            return;
        };
        let number = work.attempts_before.saturating_add(attempt);
        work.attempts = number;
        work.last_call = Some(index);
        let (Some(tool), Some(args)) = (work.tool.clone(), work.args.clone()) else {
            return;
        };
        let at = Arc::clone(&work.address);
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
        self.remember(effects, || {
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

    /// Notes that a task has begun.
    pub(super) fn begin(&mut self, task: TaskId, effects: &mut Vec<Effect>) {
        let now = self.now;
        let Some(work) = self.work_mut(task) else {
            return;
        };
        if work.started.is_some() {
            return;
        }
        let at = Arc::clone(&work.address);
        let before = self
            .past(&at)
            .and_then(|past| Some(past.calls.first()?.sent));
        let Some(work) = self.work_mut(task) else {
            return;
        };
        work.started = Some(before.unwrap_or(now));
        let Some(work) = self.work(task) else {
            return;
        };
        self.emit(effects, || RunEvent::StepStarted {
            at,
            tool: work.tool.as_ref().map(|tool| Arc::clone(&tool.name)),
            items: match work.group.as_deref() {
                Some(Group::Items { items, .. }) => Some(items.len() as u64),
                _ => None,
            },
        });
    }

    pub(super) fn abort(&mut self, task: TaskId, attempt: u32, effects: &mut Vec<Effect>) {
        effects.push(Effect::Abort(task));
        self.remember(effects, || {
            let work = self.work(task)?;
            Some(Record::GivenUp {
                at: Arc::clone(&work.address),
                attempt: work.attempts,
            })
        });
        let error = ToolError::new(ErrorKind::Timeout, "the call was given up");
        self.note_end(task, attempt, Some(error), effects);
    }

    /// Notes how an attempt ended, for the report and for whoever watches.
    fn note_end(
        &mut self,
        task: TaskId,
        attempt: u32,
        error: Option<ToolError>,
        effects: &mut Vec<Effect>,
    ) {
        let Some(work) = self.work(task) else {
            return;
        };
        let attempt = work.attempts_before.saturating_add(attempt);
        if let Some(record) = work.last_call.and_then(|index| self.calls.get_mut(index))
            && record.attempt == attempt
            && !record.ended
        {
            record.ended = true;
            record.error = error.clone().map(Box::new);
            self.guard.ended(error.is_some());
            if let Some(work) = self.work(task)
                && let Some(tool) = &work.tool
            {
                self.emit(effects, || RunEvent::AttemptEnded {
                    at: Arc::clone(&work.address),
                    tool: Arc::clone(&tool.name),
                    attempt,
                    error,
                });
            }
        }
    }

    /// Whether an answer to this attempt is waited for.
    pub(super) fn is_under_way(&self, task: TaskId, attempt: u32) -> bool {
        self.scheduler.state(task) == TaskState::Running && self.scheduler.attempt(task) == attempt
    }

    pub(super) fn attempt_ended(
        &mut self,
        task: TaskId,
        attempt: u32,
        result: Result<ToolOutput, ToolError>,
        effects: &mut Vec<Effect>,
    ) {
        if !self.is_under_way(task, attempt) {
            return;
        }
        self.remember(effects, || {
            let work = self.work(task)?;
            Some(Record::Answered {
                at: Arc::clone(&work.address),
                attempt: work.attempts,
                result: result.clone(),
            })
        });
        self.note_end(task, attempt, result.as_ref().err().cloned(), effects);
        let end = match result {
            Ok(output) => {
                self.learn(task, effects);
                self.look_at_output(task, &output.value);
                let outcome = self.counted(output);
                if let Some(work) = self.work_mut(task) {
                    work.pending = Some(Box::new(outcome));
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
                if let Some(work) = self.work_mut(task) {
                    work.last_error = Some(Box::new(error));
                }
                end
            }
        };
        self.tell(Event::AttemptEnded { task, attempt, end });
    }

    /// Learns from a call that has just gone well how long its tool takes.
    fn learn(&mut self, task: TaskId, effects: &mut Vec<Effect>) {
        let Some(work) = self.work(task) else {
            return;
        };
        let sent = work.last_call.and_then(|index| self.calls.get(index));
        let (Some(tool), Some(call)) = (work.tool.clone(), sent) else {
            return;
        };
        let took = self.now.saturating_sub(call.sent);
        self.options
            .durations
            .observe(&tool.server, &tool.name, took);
        effects.push(Effect::Learn { task, tool, took });
    }

    pub(super) fn timer_fired(&mut self, task: TaskId, timer: Timer, effects: &mut Vec<Effect>) {
        if timer == Timer::Run {
            self.time_is_up(effects);
            return;
        }
        self.remember(effects, || {
            let at = self.address(task)?;
            Some(Record::TimerFired { at, timer })
        });
        if let Timer::Attempt(attempt) = timer
            && self.is_under_way(task, attempt)
        {
            let waited = self.options.attempt_timeout.unwrap_or_default();
            let error = ToolError::new(ErrorKind::Timeout, format!("no answer within {waited:?}"));
            self.note_end(task, attempt, Some(error.clone()), effects);
            if let Some(work) = self.work_mut(task) {
                work.last_error = Some(Box::new(error));
            }
        }
        self.tell(Event::TimerFired(task, timer));
    }

    /// Arguments that a person wrote in place of those that a call has, with their secrets.
    pub(super) fn with_own_secrets(
        &self,
        task: TaskId,
        changed: &Value,
    ) -> Result<Value, ChangedSecretError> {
        let own = self.work(task).and_then(|work| work.args.as_ref());
        let own = own.cloned().unwrap_or_default();
        let mut shown = own.clone();
        self.redactor.value(&mut shown);
        with_secrets(changed, &shown, &own)
    }

    /// Whether arguments fit the tool's schema.
    pub(super) fn check_args(&self, task: TaskId, args: &Value) -> Result<(), ToolError> {
        let Some(tool) = self.work(task).and_then(|work| work.tool.as_ref()) else {
            return Ok(());
        };
        let mut faults = tool.input.validate(args);
        // What is the matter with a secret cannot be said without telling of it, nor decided again without having it.
        // Its server will say.
        faults.retain(|fault| {
            fault.kind != FaultKind::Wrong || !self.holds_secret(args, &fault.path)
        });
        let Some(first) = faults.first() else {
            return Ok(());
        };
        let mut message = told(first);
        if faults.len() > 1 {
            let more = faults.len() - 1;
            message = format!("{message}, and {more} more of the kind");
        }
        let all = Value::list(faults.iter().map(|fault| Value::from(told(fault))));
        Err(ToolError::new(ErrorKind::Arguments, message)
            .with_data(Value::object([("faults", all)])))
    }

    /// Whether a secret stands in the part of `value` at `path`.
    pub(super) fn holds_secret(&self, value: &Value, path: &[PointerSegment]) -> bool {
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

/// The key by which a server knows another attempt at the same call: the run, the place in it, and a digest of tool and
/// arguments. Another call at the same place has another key, so a server that honours keys does not drop it as a repetition.
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

/// How a decision stands in the journal; one that was put off does not.
fn record_of(at: &Arc<Address>, decision: &Decision) -> Option<Record> {
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

/// A fault with its place.
pub(super) fn told(fault: &SchemaFault) -> String {
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
