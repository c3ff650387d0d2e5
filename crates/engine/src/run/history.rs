//! What earlier processes did for a run, read from its journal: what is done stays done.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use planwright_core::{Hashing, StepId, Value};

use super::outcome::StepStatus;
use crate::approval::CallSubject;
use crate::backend::{ErrorKind, RetryAdvice, ToolError, ToolOutput};
use crate::event::Address;
use crate::journal::{Entry, Record};

/// What earlier processes did for a run.
#[derive(Clone, Debug, Default)]
pub struct History {
    steps: HashMap<Arc<Address>, Past, Hashing>,
    /// What was called for steps that are others now, or not there any more.
    gone: Vec<(Arc<Address>, PastCall)>,
    /// All questions about calls, in order, those of forgotten steps included.
    questions: Vec<PastQuestion>,
    /// What a person says about steps, by the address as people write it.
    choices: HashMap<Arc<str>, Choice>,
    /// The run that the journal belongs to, if it says so.
    run: Option<Arc<str>>,
    /// The digest of the plan, as the latest process had it in the end.
    plan_digest: Option<Arc<str>>,
    /// How many entries were read.
    entries: usize,
    last: Duration,
    next_turn: u64,
    /// How long each time without a process took, if that is known.
    pauses: Vec<Option<Duration>>,
}

/// What a person says about a step of a run that goes on.
#[derive(Clone, Debug, PartialEq)]
pub enum Choice {
    /// Call its tool again, even if it may have been called before.
    Retry,
    /// Do without it.
    Skip,
    /// Go on as if it had given this.
    Set(Value),
}

/// A question about a call that an earlier process asked.
#[derive(Clone, Debug)]
struct PastQuestion {
    at: Arc<Address>,
    subject: CallSubject,
    /// Whether the journal has the answer.
    is_decided: bool,
}

/// What earlier processes did for one step, item or round.
#[derive(Clone, Debug, Default)]
pub struct Past {
    /// Its calls, in the order in which they were sent.
    pub calls: Vec<PastCall>,
    /// The answer to the latest question about its call, if there was one.
    pub decided: Option<PastDecision>,
    /// The call that the latest question was about.
    pub asked: Option<CallSubject>,
    /// Why that question was asked, as one clause, if that is known.
    pub reason: Option<Arc<str>>,
    /// What a person wanted to become of it, since its last call.
    pub chosen: Option<Choice>,
    /// How many of its calls were sent before a person wanted it called again.
    decided_calls: usize,
    /// How it ended, the last time that it did.
    pub settled: Option<PastEnd>,
}

/// A call of an earlier process.
#[derive(Clone, Debug)]
pub struct PastCall {
    /// Which attempt it was, from 1.
    pub attempt: u32,
    /// The tool's server.
    pub server: Arc<str>,
    /// The tool's name at its server.
    pub tool: Arc<str>,
    /// The arguments.
    pub args: Value,
    /// When it was sent.
    pub sent: Duration,
    /// When it was answered or given up.
    pub ended: Option<Duration>,
    /// The answer, where there was one.
    pub answer: Option<Result<ToolOutput, ToolError>>,
    /// The [digest of the call](CallSubject::digest), if it needed consent.
    pub consent: Option<Arc<str>>,
    /// How many pauses were before it.
    pauses: usize,
}

/// A decision of a person, made under an earlier process.
#[derive(Clone, Debug, PartialEq)]
pub struct PastDecision {
    /// The call that the person was asked about.
    pub subject: CallSubject,
    /// Whether the consent was used: the call was sent, so that another one needs consent of its own.
    pub is_spent: bool,
    /// Whether the call may be made.
    pub approved: bool,
    /// The arguments that it is made with instead.
    pub changed_args: Option<Value>,
    /// Why not, in the person's words.
    pub because: Option<Arc<str>>,
}

/// How a step ended under an earlier process.
#[derive(Clone, Debug, PartialEq)]
pub struct PastEnd {
    /// How.
    pub status: StepStatus,
    /// Why it failed, also where the plan went on all the same.
    pub error: Option<ToolError>,
    /// Whether the plan said what its failure means.
    pub handled: bool,
    /// When it began.
    pub started: Option<Duration>,
    /// When it ended.
    pub ended: Duration,
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

    /// Reads one more entry of the journal.
    pub fn add(&mut self, entry: &Entry) {
        self.last = self.last.max(entry.at);
        self.next_turn = self.next_turn.max(entry.turn.saturating_add(1));
        self.entries += 1;
        match &entry.record {
            Record::Opened { run, digest, .. } => {
                if run.is_some() {
                    self.run.clone_from(run);
                }
                self.plan_digest = Some(Arc::clone(digest));
            }
            Record::Extended { digest, .. } => self.plan_digest = Some(Arc::clone(digest)),
            _ => {}
        }
        let Some(at) = entry.record.address() else {
            return;
        };
        let past = self.steps.entry(Arc::clone(at)).or_default();
        past.add(entry, self.pauses.len());
        match &entry.record {
            Record::Asked { subject, .. } => self.questions.push(PastQuestion {
                at: Arc::clone(at),
                subject: CallSubject::clone(subject),
                is_decided: false,
            }),
            Record::Decided { .. } => {
                let mut questions = self.questions.iter_mut().rev();
                if let Some(question) = questions.find(|question| question.at == *at) {
                    question.is_decided = true;
                }
            }
            _ => {}
        }
    }

    /// The run that the journal belongs to, if it says so.
    pub fn run(&self) -> Option<&Arc<str>> {
        self.run.as_ref()
    }

    /// The [digest](planwright_core::CheckedPlan::digest) of the run's plan, with all that was added to it under the latest process.
    pub fn plan_digest(&self) -> Option<&Arc<str>> {
        self.plan_digest.as_ref()
    }

    /// The number of entries that it was read from.
    pub fn entry_count(&self) -> usize {
        self.entries
    }

    /// The digests of the calls whose decisions the journal has taken in. Each decision counts once: a later question about the
    /// same call needs another, so the digest of a question that is open is not among them.
    pub fn used_decisions(&self, run: &str) -> impl Iterator<Item = String> {
        let is_open = |at: &Address, subject: &CallSubject| {
            self.past(at).and_then(Past::open_question) == Some(subject)
        };
        self.questions
            .iter()
            .filter(move |question| {
                question.is_decided && !is_open(&question.at, &question.subject)
            })
            .map(move |question| question.subject.digest(run, &question.at))
    }

    /// What differs between `subject` and the call that a person was asked about before at the same place, one clause each; nothing if there
    /// was no such question. Steps that a new plan changed count as well. `is_open` says whether the latest question at the place is the one
    /// about `subject` itself.
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
            // A resumed run asks again about a call that nobody has decided about.
            .filter(|question| question.is_decided || question.subject != *subject);
        match before.next() {
            Some(before) if before.is_decided => subject.changes_since_decision(&before.subject),
            Some(before) => subject.changes_since(&before.subject),
            None => Vec::new(),
        }
    }

    /// Forgets what was done for a step, all its parts included: it is another one now. That it was called stays known.
    pub fn forget(&mut self, step: &StepId) {
        let gone = self.steps.extract_if(|at, _| at.outermost() == step);
        for (at, past) in gone {
            let calls = past.calls.into_iter();
            self.gone.extend(calls.map(|call| (Arc::clone(&at), call)));
        }
        // No order of a map shows.
        self.gone.sort_by(|(one, call), (other, after)| {
            let address = || one.to_string().cmp(&other.to_string());
            call.sent.cmp(&after.sent).then_with(address)
        });
    }

    /// Revokes the consent that the journal holds so far: no decision, no open question and no choice to call again counts from
    /// here on. What was called, and how it ended, stays known.
    pub fn revoke_consent(&mut self) {
        self.questions.clear();
        for past in self.steps.values_mut() {
            past.decided = None;
            past.asked = None;
            // To choose `Retry` is consent to the call; the other choices cause none.
            past.chosen = past.chosen.take().filter(|choice| *choice != Choice::Retry);
            for call in &mut past.calls {
                call.consent = None;
            }
        }
    }

    /// What was called for steps that are forgotten, in the order in which it was sent.
    pub fn forgotten_calls(&self) -> impl Iterator<Item = (&Arc<Address>, &PastCall)> {
        self.gone.iter().map(|(at, call)| (at, call))
    }

    /// Says what a person wants to become of a step; `step` is its address, as reports write it.
    #[must_use]
    pub fn with_choice(mut self, step: impl Into<Arc<str>>, choice: Choice) -> Self {
        self.choices.insert(step.into(), choice);
        self
    }

    /// What was done for a step, item or round.
    pub fn past(&self, at: &Address) -> Option<&Past> {
        self.steps.get(at)
    }

    /// Whether others have gone on from how this step ended, or a step that it is a part of.
    pub(super) fn is_final(&self, at: &Address) -> bool {
        let is_final = |at: &Address| self.past(at).is_some_and(Past::is_final);
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

    /// Everything that was begun, in no order.
    pub fn steps(&self) -> impl Iterator<Item = (&Arc<Address>, &Past)> {
        self.steps.iter()
    }

    /// How long the run has taken so far.
    pub fn duration(&self) -> Duration {
        self.last
    }

    /// Notes that no process drove the run for so long after the entries so far. The clock of the run stands still meanwhile, that of a
    /// server's rate does not. `None` if the time is not known: then the calls before it count for no rate.
    pub fn add_pause(&mut self, duration: Option<Duration>) {
        self.pauses.push(duration);
    }

    /// How far a clock that goes on in pauses is ahead of the run's.
    pub(super) fn paused(&self) -> Duration {
        self.paused_before(self.pauses.len())
    }

    /// The server of each call that counts for a rate, and when it was sent on a clock that goes on in pauses; by time.
    pub(super) fn sent_calls(&self) -> Vec<(Duration, &Arc<str>)> {
        let first = self.pauses.iter().rposition(Option::is_none);
        let first = first.map_or(0, |unknown| unknown + 1);
        let known = self.steps.values().flat_map(|past| &past.calls);
        let mut sent: Vec<(Duration, &Arc<str>)> = known
            .chain(self.gone.iter().map(|(_, call)| call))
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

    /// The turn that the next process begins with.
    pub(crate) fn next_turn(&self) -> u64 {
        self.next_turn
    }

    /// What a person says about a step now, and said before.
    pub(super) fn choice(&self, at: &Address) -> (Option<&Choice>, Option<&Choice>) {
        let now = if self.choices.is_empty() {
            None
        } else {
            self.choices.get(at.to_string().as_str())
        };
        (now, self.past(at).and_then(|past| past.chosen.as_ref()))
    }
}

impl PastCall {
    /// Whether it happened: it did where the tool answered well, and did not where the tool or the way to it refused. Nothing where nobody
    /// knows, since no answer came.
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

impl Past {
    fn add(&mut self, entry: &Entry, pauses: usize) {
        match &entry.record {
            Record::Sent {
                server,
                tool,
                attempt,
                args,
                consent,
                ..
            } => {
                if self.chosen.take() == Some(Choice::Retry) {
                    self.decided_calls = self.calls.len();
                }
                if let Some(decided) = self.decided.as_mut().filter(|decided| decided.approved) {
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
            Record::GivenUp { attempt, .. } => {
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
            _ => {}
        }
    }

    fn call_mut(&mut self, attempt: u32) -> Option<&mut PastCall> {
        // Nearly always the last.
        self.calls
            .iter_mut()
            .rev()
            .find(|call| call.attempt == attempt)
    }

    /// The call that a person was asked about without an answer so far.
    pub fn open_question(&self) -> Option<&CallSubject> {
        self.asked.as_ref().filter(|_| self.decided.is_none())
    }

    /// How many attempts there were.
    pub fn attempts(&self) -> u32 {
        self.calls.last().map_or(0, |call| call.attempt)
    }

    /// The call that went well, where there was one. Whatever its arguments or its server would be now: what is done is done.
    pub(super) fn good_call(&self) -> Option<(&PastCall, &ToolOutput)> {
        self.calls
            .iter()
            .rev()
            .find_map(|call| Some((call, call.answer.as_ref()?.as_ref().ok()?)))
    }

    /// The calls that may have happened, and that no person has decided about: any attempt, not only the last, as long as
    /// no other has given a result.
    pub fn calls_in_doubt(&self) -> impl Iterator<Item = &PastCall> {
        let is_settled = self.is_final() || self.good_call().is_some();
        let undecided = self.calls.get(self.decided_calls..).unwrap_or_default();
        let undecided = undecided.iter().filter(move |_| !is_settled);
        undecided.filter(|call| call.happened().is_none())
    }

    /// Whether a call of it may have happened without a known outcome.
    pub fn is_in_doubt(&self) -> bool {
        self.calls_in_doubt().next().is_some()
    }

    /// How the last call failed, for all that is known.
    pub(super) fn failure(&self) -> Option<ToolError> {
        let call = self.calls.last()?;
        let end = self.settled.as_ref().and_then(|end| end.error.clone());
        end.or_else(|| call.answer.as_ref()?.as_ref().err().cloned())
    }

    /// Whether it ended with what its call gave.
    pub(super) fn went_well(&self) -> bool {
        self.settled
            .as_ref()
            .is_some_and(|end| end.status == StepStatus::Succeeded && end.error.is_none())
    }

    /// Whether others have gone on from how it ended.
    fn is_final(&self) -> bool {
        self.settled
            .as_ref()
            .is_some_and(|end| end.status == StepStatus::Succeeded || end.handled)
    }
}
