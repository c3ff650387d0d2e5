//! The history of a run, read from its journal.
//!
//! Design: [Resume](https://github.com/planwright/planwright/blob/main/docs/design/resume.md).

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use planwright_core::{Hashing, StepId, Value};

use super::step_history::{PastCall, StepHistory};
use crate::approval::CallSubject;
use crate::event::Address;
use crate::journal::{Entry, Record};

/// The history of a run: what earlier processes did for it.
#[derive(Clone, Debug, Default)]
pub struct History {
    steps: HashMap<Arc<Address>, StepHistory, Hashing>,
    /// Calls of steps that have changed since, or do not exist any more.
    calls_of_forgotten: Vec<(Arc<Address>, PastCall)>,
    /// All questions about calls, in order, including those of forgotten steps.
    questions: Vec<PastQuestion>,
    /// Choices of a person, by the address of the step in its text form.
    choices: HashMap<Arc<str>, Choice>,
    /// The run that the journal belongs to, if it is recorded.
    run: Option<Arc<str>>,
    /// The digest of the plan at the end of the latest process.
    plan_digest: Option<Arc<str>>,
    /// The number of entries read.
    entries: usize,
    last: Duration,
    next_turn: u64,
    /// The lengths of the pauses between processes, if known.
    pauses: Vec<Option<Duration>>,
}

/// A person's choice about a step of a resumed run.
#[derive(Clone, Debug, PartialEq)]
pub enum Choice {
    /// Call its tool again, even if the earlier call may have happened.
    Retry,
    /// Skip the step.
    Skip,
    /// Continue as if it had returned this output.
    Set(Value),
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
            Record::Sent { .. }
            | Record::Answered { .. }
            | Record::Aborted { .. }
            | Record::Asked { .. }
            | Record::Decided { .. }
            | Record::Chosen { .. }
            | Record::TimerFired { .. }
            | Record::Closed
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
        past.add(entry, self.pauses.len());
        match &entry.record {
            Record::Asked { subject, .. } => self.questions.push(PastQuestion {
                at: Arc::clone(at),
                subject: CallSubject::clone(subject),
                is_decided: false,
            }),
            Record::Decided { .. } => {
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
            | Record::Cancelled
            | Record::OutOfTime
            | Record::Paused { .. }
            | Record::Resumed
            | Record::Settled { .. }
            | Record::Ended { .. } => {}
        }
    }

    /// The run that the journal belongs to, if it is recorded.
    pub fn run(&self) -> Option<&Arc<str>> {
        self.run.as_ref()
    }

    /// The [digest](planwright_core::CheckedPlan::digest) of the run's plan, including the steps that were added under
    /// the latest process.
    pub fn plan_digest(&self) -> Option<&Arc<str>> {
        self.plan_digest.as_ref()
    }

    /// The number of entries that it was read from.
    pub fn entry_count(&self) -> usize {
        self.entries
    }

    /// The digests of the calls whose decisions are used. Each decision counts once: a later question about the same
    /// call needs another one, so the digest of an open question is not included.
    pub fn used_decisions(&self, run: &str) -> impl Iterator<Item = String> {
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
    /// clause each; empty if there was no such question. Steps that a new plan changed count as well. `is_open` states
    /// that the latest question at the place is about `subject` itself.
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
            // A resumed run asks again about an undecided call, so an equal undecided question is not an earlier one.
            .filter(|question| question.is_decided || question.subject != *subject);
        match before.next() {
            Some(before) if before.is_decided => subject.changes_since_decision(&before.subject),
            Some(before) => subject.changes_since(&before.subject),
            None => Vec::new(),
        }
    }

    /// Removes the history of a step that has changed, with all its parts. Its calls stay recorded.
    pub fn forget(&mut self, step: &StepId) {
        let gone = self.steps.extract_if(|at, _| at.outermost() == step);
        for (at, past) in gone {
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

    /// The history of a step, item or round.
    pub fn past(&self, at: &Address) -> Option<&StepHistory> {
        self.steps.get(at)
    }

    /// Returns true if other steps have continued from the outcome of this one, or of a step that contains it.
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

    /// Records a pause of the given length after the entries so far, in which no process drove the run. The run's
    /// clock stands still meanwhile, that of a rate limit does not. `None` if the length is not known: calls before it
    /// do not count for rates then.
    pub fn add_pause(&mut self, duration: Option<Duration>) {
        self.pauses.push(duration);
    }

    /// The time by which a clock that includes pauses is ahead of the run's.
    pub(in crate::run) fn paused(&self) -> Duration {
        self.paused_before(self.pauses.len())
    }

    /// The calls that count for rates: their servers and times on a clock that includes pauses, by time.
    pub(in crate::run) fn sent_calls(&self) -> Vec<(Duration, &Arc<str>)> {
        // Before a pause of unknown length, no time on this clock is known.
        let first = self.pauses.iter().rposition(Option::is_none);
        let first = first.map_or(0, |unknown| unknown + 1);
        let known = self.steps.values().flat_map(|past| &past.calls);
        let mut sent: Vec<(Duration, &Arc<str>)> = known
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
