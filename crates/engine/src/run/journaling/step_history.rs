//! The history of one step, item or round.

use std::sync::Arc;
use std::time::Duration;

use planwright_core::Value;

use super::history::Choice;
use crate::approval::CallSubject;
use crate::backend::{ErrorKind, RetryAdvice, ToolError, ToolOutput};
use crate::journal::{Entry, Record};
use crate::run::outcome::StepStatus;

/// The history of one step, item or round.
#[derive(Clone, Debug, Default)]
pub struct StepHistory {
    /// The calls, in the order in which they were sent.
    pub calls: Vec<PastCall>,
    /// The answer to the latest question about the step's call, if any.
    pub decided: Option<PastDecision>,
    /// The call of the latest question.
    pub asked: Option<CallSubject>,
    /// The reason for that question, as one clause, if it is known.
    pub reason: Option<Arc<str>>,
    /// A person's choice since its last call.
    pub chosen: Option<Choice>,
    /// The number of its calls before a person chose to retry.
    calls_before_retry: usize,
    /// The latest end of the step.
    pub settled: Option<PastEnd>,
}

/// A call of an earlier process.
#[derive(Clone, Debug)]
pub struct PastCall {
    /// The number of the attempt, from 1.
    pub attempt: u32,
    /// The tool's server.
    pub server: Arc<str>,
    /// The tool's name at its server.
    pub tool: Arc<str>,
    /// The arguments.
    pub args: Value,
    /// The time at which it was sent.
    pub sent: Duration,
    /// The time at which it was answered or aborted.
    pub ended: Option<Duration>,
    /// The answer, if there was one.
    pub answer: Option<Result<ToolOutput, ToolError>>,
    /// The [digest of the call](CallSubject::digest), if it needed consent.
    pub consent: Option<Arc<str>>,
    /// The number of pauses before it.
    pub(super) pauses: usize,
}

/// A person's decision under an earlier process.
#[derive(Clone, Debug, PartialEq)]
pub struct PastDecision {
    /// The call that the person was asked about.
    pub subject: CallSubject,
    /// True if the consent is used up: the call was sent, so another one needs consent of its own.
    pub is_spent: bool,
    /// True if the call is allowed.
    pub approved: bool,
    /// The replacement arguments, if any.
    pub changed_args: Option<Value>,
    /// The reason for a rejection, in the person's words.
    pub because: Option<Arc<str>>,
}

/// The end of a step under an earlier process.
#[derive(Clone, Debug, PartialEq)]
pub struct PastEnd {
    /// The final status.
    pub status: StepStatus,
    /// The error, even if the plan handled it.
    pub error: Option<ToolError>,
    /// True if the plan handled the failure.
    pub handled: bool,
    /// The time at which it began.
    pub started: Option<Duration>,
    /// The time at which it ended.
    pub ended: Duration,
}

impl PastCall {
    /// Returns true if it happened, because the tool succeeded; false if it did not, because the tool or the
    /// connection refused it. `None` if that is unknown, since no answer came.
    pub fn happened(&self) -> Option<bool> {
        match &self.answer {
            Some(Ok(_)) => Some(true),
            Some(Err(error))
                if error.retry != RetryAdvice::Uncertain && error.kind != ErrorKind::Timeout =>
            {
                Some(false)
            }
            Some(Err(_)) | None => None,
        }
    }
}

impl StepHistory {
    pub(super) fn add(&mut self, entry: &Entry, pauses: usize) {
        match &entry.record {
            Record::Sent {
                server,
                tool,
                attempt,
                args,
                consent,
                ..
            } => {
                // The choice was about the calls so far; another call needs another one.
                if self.chosen.take() == Some(Choice::Retry) {
                    self.calls_before_retry = self.calls.len();
                }
                if let Some(decided) = self.decided.as_mut().filter(|decided| decided.approved) {
                    // Consent covers one call.
                    decided.is_spent = true;
                }
                self.calls.push(PastCall {
                    attempt: *attempt,
                    server: Arc::clone(server),
                    tool: Arc::clone(tool),
                    args: args.clone(),
                    sent: entry.at,
                    ended: None,
                    answer: None,
                    consent: consent.clone(),
                    pauses,
                });
            }
            Record::Answered {
                attempt, result, ..
            } => {
                if let Some(call) = self.call_mut(*attempt) {
                    call.answer = Some(result.clone());
                    call.ended = Some(entry.at);
                }
            }
            Record::Aborted { attempt, .. } => {
                if let Some(call) = self.call_mut(*attempt) {
                    call.ended = Some(entry.at);
                }
            }
            Record::Asked {
                subject, reason, ..
            } => {
                self.asked = Some(CallSubject::clone(subject));
                self.reason.clone_from(reason);
                // The earlier answer was about an earlier question.
                self.decided = None;
            }
            Record::Decided {
                approved,
                changed_args,
                because,
                ..
            } => {
                self.decided = Some(PastDecision {
                    subject: self.asked.clone().unwrap_or_default(),
                    is_spent: false,
                    approved: *approved,
                    changed_args: changed_args.clone(),
                    because: because.clone(),
                });
            }
            Record::Chosen { choice, .. } => self.chosen = Some(choice.clone()),
            Record::Settled {
                status,
                error,
                handled,
                started,
                ..
            } => {
                self.settled = Some(PastEnd {
                    status: *status,
                    error: error.clone(),
                    handled: *handled,
                    started: *started,
                    ended: entry.at,
                });
            }
            Record::Opened { .. }
            | Record::TimerFired { .. }
            | Record::Extended { .. }
            | Record::Closed
            | Record::Cancelled
            | Record::OutOfTime
            | Record::Paused { .. }
            | Record::Resumed
            | Record::Ended { .. } => {}
        }
    }

    fn call_mut(&mut self, attempt: u32) -> Option<&mut PastCall> {
        // The search goes backwards, since it is nearly always the last call.
        self.calls
            .iter_mut()
            .rev()
            .find(|call| call.attempt == attempt)
    }

    /// The latest question without an answer.
    pub fn open_question(&self) -> Option<&CallSubject> {
        self.asked.as_ref().filter(|_| self.decided.is_none())
    }

    /// The number of attempts.
    pub fn attempts(&self) -> u32 {
        self.calls.last().map_or(0, |call| call.attempt)
    }

    /// The successful call, if there was one. It is used even if its arguments or its server would differ now.
    pub(in crate::run) fn successful_call(&self) -> Option<(&PastCall, &ToolOutput)> {
        self.calls
            .iter()
            .rev()
            .find_map(|call| Some((call, call.answer.as_ref()?.as_ref().ok()?)))
    }

    /// The calls with an unknown outcome that no person has decided about: any attempt, not only the last, as long as
    /// none has given a result.
    pub fn calls_in_doubt(&self) -> impl Iterator<Item = &PastCall> {
        let is_settled = self.is_final() || self.successful_call().is_some();
        let candidates = self
            .calls
            .get(self.calls_before_retry..)
            .unwrap_or_default();
        let candidates = candidates.iter().filter(move |_| !is_settled);
        candidates.filter(|call| call.happened().is_none())
    }

    /// Returns true if a call has an unknown outcome.
    pub fn is_in_doubt(&self) -> bool {
        self.calls_in_doubt().next().is_some()
    }

    /// The error of the last call.
    pub(in crate::run) fn last_error(&self) -> Option<ToolError> {
        let call = self.calls.last()?;
        let end = self.settled.as_ref().and_then(|end| end.error.clone());
        end.or_else(|| call.answer.as_ref()?.as_ref().err().cloned())
    }

    /// Returns true if it succeeded with the output of its call.
    pub(in crate::run) fn has_succeeded(&self) -> bool {
        self.settled
            .as_ref()
            .is_some_and(|end| end.status == StepStatus::Succeeded && end.error.is_none())
    }

    /// Returns true if other steps have continued from its outcome.
    pub(super) fn is_final(&self) -> bool {
        self.settled
            .as_ref()
            .is_some_and(|end| end.status == StepStatus::Succeeded || end.handled)
    }
}
