//! The history of a run and of each step, item or round, read from its journal.
//!
//! Design: [Resume](https://github.com/planwright/planwright/blob/main/docs/design/resume.md).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use planwright_core::{Hashing, PlanDigest, ServerName, StepId, Value};

use crate::address::Address;
use crate::approval::CallSubject;
use crate::backend::{ToolError, ToolOutput};
use crate::id::RunId;
use crate::journal::{Entry, Record};
use crate::run::outcome::{Choice, StepStatus};

/// The history of a run: what earlier processes did for it.
#[derive(Clone, Debug, Default)]
pub struct History {
    steps: HashMap<Arc<Address>, StepHistory, Hashing>,
    /// Calls of steps that have changed since, or do not exist any more.
    calls_of_forgotten: Vec<(Arc<Address>, PastCall)>,
    /// All questions about calls, in order, including those of forgotten steps.
    questions: Vec<PastQuestion>,
    /// The places whose latest decision was a rejection, including those of forgotten steps.
    rejected: HashSet<Arc<Address>, Hashing>,
    /// Choices of a person, by the address of the step in its text form.
    choices: HashMap<Arc<str>, Choice>,
    /// The run that the journal belongs to, if it is recorded.
    run: Option<RunId>,
    /// The digest of the plan at the end of the latest process.
    plan_digest: Option<PlanDigest>,
    /// The number of entries read.
    entries: usize,
    /// The time of the latest entry.
    last: Duration,
    next_turn: u64,
    /// The lengths of the pauses between processes, if known.
    pauses: Vec<Option<Duration>>,
}

/// A question about a call, asked by an earlier process.
#[derive(Clone, Debug)]
struct PastQuestion {
    at: Arc<Address>,
    subject: CallSubject,
    /// True if the journal has the answer.
    is_decided: bool,
}

impl History {
    /// Reads a journal.
    pub fn new<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Self {
        let mut history = Self::default();
        for entry in entries {
            history.add(entry);
        }
        history
    }

    /// Adds one more entry of the journal.
    pub fn add(&mut self, entry: &Entry) {
        // The clock must not go back, even if a damaged journal says so.
        self.last = self.last.max(entry.at);
        self.next_turn = self.next_turn.max(entry.turn.saturating_add(1));
        self.entries += 1;
        match &entry.record {
            Record::Opened { run, digest, .. } => {
                // Older versions did not record the id.
                if run.is_some() {
                    self.run.clone_from(run);
                }
                self.plan_digest = Some(digest.clone());
            }
            Record::Extended { digest, .. } => self.plan_digest = Some(digest.clone()),
            Record::Sent { .. }
            | Record::Answered { .. }
            | Record::Aborted { .. }
            | Record::Asked { .. }
            | Record::Decided { .. }
            | Record::Chosen { .. }
            | Record::TimerFired { .. }
            | Record::Closed
            | Record::Draining
            | Record::Cancelled
            | Record::OutOfTime
            | Record::Paused { .. }
            | Record::Resumed
            | Record::Settled { .. }
            | Record::Ended { .. } => {}
        }
        let Some(at) = entry.record.address() else {
            return;
        };
        let past = self.steps.entry(Arc::clone(at)).or_default();
        // Rate limits need the number of pauses before a call, because their clock includes them.
        past.add(entry, self.pauses.len());
        match &entry.record {
            Record::Asked { subject, .. } => self.questions.push(PastQuestion {
                at: Arc::clone(at),
                subject: CallSubject::clone(subject),
                is_decided: false,
            }),
            Record::Decided { approved, .. } => {
                if *approved {
                    self.rejected.remove(at);
                } else {
                    self.rejected.insert(Arc::clone(at));
                }
                // A step may ask again after an earlier decision; a new decision belongs to its latest question.
                let mut questions = self.questions.iter_mut().rev();
                if let Some(question) = questions.find(|question| question.at == *at) {
                    question.is_decided = true;
                }
            }
            Record::Opened { .. }
            | Record::Sent { .. }
            | Record::Answered { .. }
            | Record::Aborted { .. }
            | Record::Chosen { .. }
            | Record::TimerFired { .. }
            | Record::Extended { .. }
            | Record::Closed
            | Record::Draining
            | Record::Cancelled
            | Record::OutOfTime
            | Record::Paused { .. }
            | Record::Resumed
            | Record::Settled { .. }
            | Record::Ended { .. } => {}
        }
    }

    /// The run that the journal belongs to, if it is recorded.
    pub fn run(&self) -> Option<&RunId> {
        self.run.as_ref()
    }

    /// The [digest](planwright_core::CheckedPlan::digest) of the run's plan, including the steps that were added under
    /// the latest process.
    pub fn plan_digest(&self) -> Option<&PlanDigest> {
        self.plan_digest.as_ref()
    }

    /// The number of journal entries that were read.
    pub fn entry_count(&self) -> usize {
        self.entries
    }

    /// The digests of the calls whose decisions are used up. A decision answers one question, so a call with an open
    /// question is not included, even if an earlier question about it was decided.
    pub fn used_decisions(&self, run: &RunId) -> impl Iterator<Item = String> {
        let is_open = |at: &Address, subject: &CallSubject| {
            self.past(at).and_then(StepHistory::open_question) == Some(subject)
        };
        self.questions
            .iter()
            .filter(move |question| {
                question.is_decided && !is_open(&question.at, &question.subject)
            })
            .map(move |question| question.subject.digest(run, &question.at))
    }

    /// The differences between `subject` and the call that a person was asked about before at the same place, one
    /// clause each; empty if there was no such question. Questions about a step that a new plan has changed are
    /// compared, too. `is_open` is true if the latest question at the place is about `subject` itself.
    pub fn changes_since_question(
        &self,
        at: &Address,
        subject: &CallSubject,
        is_open: bool,
    ) -> Vec<String> {
        let questions = self.questions.iter().rev();
        let mut before = questions
            .filter(|question| *question.at == *at)
            .skip(usize::from(is_open))
            // A resumed run repeats its undecided questions, so an undecided question about the same call is the current one.
            .filter(|question| question.is_decided || question.subject != *subject);
        match before.next() {
            Some(before) if before.is_decided => subject.changes_since_decision(&before.subject),
            Some(before) => subject.changes_since(&before.subject),
            None => Vec::new(),
        }
    }

    /// Removes the history of a step that has changed, with all its parts. Its calls stay recorded.
    pub fn forget(&mut self, step: &StepId) {
        let forgotten = self.steps.extract_if(|at, _| at.outermost() == step);
        for (at, past) in forgotten {
            let calls = past.calls.into_iter();
            self.calls_of_forgotten
                .extend(calls.map(|call| (Arc::clone(&at), call)));
        }
        // The steps are in a hash map, so the calls are sorted.
        self.calls_of_forgotten
            .sort_by(|(one, call), (other, after)| {
                let address = || one.to_string().cmp(&other.to_string());
                call.sent.cmp(&after.sent).then_with(address)
            });
    }

    /// Revokes the consent recorded so far: no decision, no open question and no choice to retry counts any more.
    /// Calls and outcomes stay recorded.
    pub fn revoke_consent(&mut self) {
        // An imported journal may be forged, so nothing in it may count as consent.
        self.questions.clear();
        for past in self.steps.values_mut() {
            past.decided = None;
            past.asked = None;
            // The choice `Retry` is consent to the call; the other choices cause none.
            past.chosen = past.chosen.take().filter(|choice| *choice != Choice::Retry);
            for call in &mut past.calls {
                call.consent = None;
            }
        }
    }

    /// The calls of forgotten steps, in the order in which they were sent.
    pub fn forgotten_calls(&self) -> impl Iterator<Item = (&Arc<Address>, &PastCall)> {
        self.calls_of_forgotten.iter().map(|(at, call)| (at, call))
    }

    /// Sets a person's choice about a step; `step` is its address as in reports.
    #[must_use]
    pub fn with_choice(mut self, step: impl Into<Arc<str>>, choice: Choice) -> Self {
        self.choices.insert(step.into(), choice);
        self
    }

    /// Returns true if the latest decision about a call of this place was a rejection, even if the step has changed since.
    pub fn was_rejected(&self, at: &Address) -> bool {
        self.rejected.contains(at)
    }

    /// The history of a step, item or round.
    pub fn past(&self, at: &Address) -> Option<&StepHistory> {
        self.steps.get(at)
    }

    /// Returns true if the outcome of this step, or of a step that contains it, was final, so that other steps have used it.
    pub(in crate::run) fn is_final(&self, at: &Address) -> bool {
        let is_final = |at: &Address| self.past(at).is_some_and(StepHistory::is_final);
        if is_final(at) {
            return true;
        }
        // An item or round is a part of its step, which is a part of the step that runs its plan.
        let mut whole = Some(Address {
            item: None,
            round: None,
            ..at.clone()
        });
        while let Some(step) = whole {
            if is_final(&step) {
                return true;
            }
            whole = step.inside.as_deref().cloned();
        }
        false
    }

    /// All steps, items and rounds that were begun, in no particular order.
    pub fn steps(&self) -> impl Iterator<Item = (&Arc<Address>, &StepHistory)> {
        self.steps.iter()
    }

    /// The time that the run has taken so far.
    pub fn duration(&self) -> Duration {
        self.last
    }

    /// Records a pause after the entries so far, in which no process drove the run. The clock of the run stops during a
    /// pause; the clock of rate limits does not. `None` is a pause of unknown length: calls before it do not count for
    /// rates.
    pub fn add_pause(&mut self, duration: Option<Duration>) {
        self.pauses.push(duration);
    }

    /// The total length of the known pauses: the lead of a clock that includes pauses over the clock of the run.
    pub(in crate::run) fn paused(&self) -> Duration {
        self.paused_before(self.pauses.len())
    }

    /// The calls that count for rates: their servers and times on a clock that includes pauses, by time.
    pub(in crate::run) fn sent_calls(&self) -> Vec<(Duration, &ServerName)> {
        // The time of a call on this clock is unknown if a pause of unknown length follows it.
        let first = self.pauses.iter().rposition(Option::is_none);
        let first = first.map_or(0, |unknown| unknown + 1);
        let known = self.steps.values().flat_map(|past| &past.calls);
        let mut sent: Vec<(Duration, &ServerName)> = known
            .chain(self.calls_of_forgotten.iter().map(|(_, call)| call))
            .filter(|call| call.pauses >= first)
            .map(|call| {
                let paused = self.paused_before(call.pauses);
                (call.sent.saturating_add(paused), &call.server)
            })
            .collect();
        sent.sort();
        sent
    }

    fn paused_before(&self, count: usize) -> Duration {
        let pauses = self.pauses.iter().take(count).flatten();
        pauses.fold(Duration::ZERO, |sum, pause| sum.saturating_add(*pause))
    }

    /// The first turn of the next process.
    pub(crate) fn next_turn(&self) -> u64 {
        self.next_turn
    }

    /// The current and the earlier choice about a step.
    pub(in crate::run) fn choice(&self, at: &Address) -> (Option<&Choice>, Option<&Choice>) {
        let now = if self.choices.is_empty() {
            None
        } else {
            self.choices.get(at.to_string().as_str())
        };
        (now, self.past(at).and_then(|past| past.chosen.as_ref()))
    }
}

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
    pub server: ServerName,
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
    pauses: usize,
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
    /// Returns true if the call happened, because the tool succeeded; false if it did not happen, because the tool or the connection
    /// refused it; `None` if that is unknown, because no answer arrived.
    pub fn happened(&self) -> Option<bool> {
        match &self.answer {
            Some(Ok(_)) => Some(true),
            Some(Err(error)) if !error.leaves_outcome_unknown() => Some(false),
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
                // A choice is about the calls before it, so a further call clears it.
                if self.chosen.take() == Some(Choice::Retry) {
                    self.calls_before_retry = self.calls.len();
                }
                if let Some(decided) = self.decided.as_mut().filter(|decided| decided.approved) {
                    // Consent covers one call.
                    decided.is_spent = true;
                }
                self.calls.push(PastCall {
                    attempt: *attempt,
                    server: server.clone(),
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
            | Record::Draining
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

    /// Returns true if its outcome was final: it succeeded, or the plan handled its failure.
    pub(super) fn is_final(&self) -> bool {
        self.settled
            .as_ref()
            .is_some_and(|end| end.status == StepStatus::Succeeded || end.handled)
    }
}
