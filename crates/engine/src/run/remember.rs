//! What a run writes into its journal, and what it takes from what earlier processes wrote there.

use std::sync::Arc;
use std::time::Duration;

use planwright_core::{Tool, Value};

use super::effect::Effect;
use super::history::{Choice, History, Past, PastDecision};
use super::outcome::{Because, Outcome, SkipReason};
use super::state::Run;
use super::work::CallRecord;
use crate::backend::{ErrorKind, ToolError, ToolOutput};
use crate::event::Address;
use crate::guard::written_bytes;
use crate::journal::Record;
use crate::schedule::TaskId;

/// What is known of a call from earlier processes.
pub(super) enum Before {
    /// Nothing that matters: it is made as any other.
    Nothing,
    /// How it ended.
    Ended(Outcome),
    /// A person has agreed to it, perhaps with other arguments.
    Approved(Option<Value>),
    /// It was sent, and nobody knows what became of it.
    InDoubt,
}

impl Run {
    /// Writes into the journal whatever happens from now on.
    #[must_use]
    pub fn remembering(mut self) -> Self {
        self.remembers = true;
        self
    }

    /// Goes on from what earlier processes did.
    #[must_use]
    pub fn after(mut self, history: Arc<History>) -> Self {
        self.now = history.duration();
        self.recall(&history);
        self.history = Some(history);
        self
    }

    /// The record without what must not be written down.
    pub(crate) fn redacted(&self, mut record: Record) -> Record {
        self.redactor.record(&mut record);
        record
    }

    pub(super) fn remember(
        &self,
        effects: &mut Vec<Effect>,
        record: impl FnOnce() -> Option<Record>,
    ) {
        if !self.remembers {
            return;
        }
        if let Some(mut record) = record() {
            self.redactor.record(&mut record);
            effects.push(Effect::Remember {
                at: self.now,
                record: Box::new(record),
            });
        }
    }

    /// What earlier processes did for a step, item or round.
    pub(super) fn past(&self, at: &Address) -> Option<&Past> {
        self.history.as_ref()?.past(at)
    }

    /// How a step ends because a person said so, whatever it is.
    pub(super) fn chosen(&self, task: TaskId, effects: &mut Vec<Effect>) -> Option<Outcome> {
        let history = self.history.as_ref()?;
        let at = self.address(task)?;
        let (now, earlier) = history.choice(&at);
        if let Some(choice) = now {
            self.remember(effects, || {
                Some(Record::Chosen {
                    at: Arc::clone(&at),
                    choice: choice.clone(),
                })
            });
        }
        match now.or(earlier)? {
            Choice::Retry => None,
            Choice::Skip => Some(Outcome::skipped(SkipReason::new(
                Because::Person,
                Arc::clone(at.step.text()),
            ))),
            Choice::Set(value) => Some(Outcome::succeeded(Arc::new(ToolOutput::value(
                value.clone(),
            )))),
        }
    }

    /// The error of a loop or an inner plan that exceeded its time limit in an earlier process, if other steps continued from that: its
    /// parts were cancelled and must not run after all.
    pub(super) fn timed_out_before(&self, task: TaskId) -> Option<ToolError> {
        let history = self.history.as_ref()?;
        let at = self.address(task)?;
        let (now, earlier) = history.choice(&at);
        if matches!(now.or(earlier), Some(Choice::Retry)) {
            return None;
        }
        let end = history.past(&at)?.settled.as_ref()?;
        let error = end.error.as_ref().filter(|_| history.is_final(&at))?;
        (error.kind == ErrorKind::Timeout).then(|| error.clone())
    }

    /// What is known from earlier processes of the call that a task is about to make.
    pub(super) fn before(&mut self, task: TaskId, tool: &Arc<Tool>, args: &Value) -> Before {
        let Some(history) = self.history.clone() else {
            return Before::Nothing;
        };
        let Some(at) = self.address(task) else {
            return Before::Nothing;
        };
        let Some(past) = history.past(&at) else {
            return Before::Nothing;
        };
        self.restore_calls(task, past);
        if let Some(outcome) = self.answered(task, past) {
            return Before::Ended(outcome);
        }
        let decided = self.earlier_decision(&at, past, tool, args);
        let (now, earlier) = history.choice(&at);
        let retried = matches!(now.or(earlier), Some(Choice::Retry));
        if retried {
            // To say that a call is to be made again is consent to that very call; after a no, or with another call, it is asked anew.
            return match decided {
                Some(decided) if decided.approved => Before::Approved(decided.changed_args.clone()),
                None if past.is_in_doubt() && self.was_consented(&at, past, tool, args) => {
                    Before::Approved(None)
                }
                _ => Before::Nothing,
            };
        }
        if history.is_final(&at)
            && let Some(error) = past.failure()
        {
            return Before::Ended(Outcome::failed(error));
        }
        if past.is_in_doubt() && !tool.is_repeatable() {
            return Before::InDoubt;
        }
        match decided {
            Some(decided) if decided.approved => Before::Approved(decided.changed_args.clone()),
            Some(decided) => Before::Ended(Outcome::failed(rejection(decided))),
            None => Before::Nothing,
        }
    }

    /// How a call ended that was answered well. One whose arguments cannot even be made any more was made all the same.
    pub(super) fn answered_before(&mut self, task: TaskId) -> Option<Outcome> {
        let history = self.history.clone()?;
        let past = history.past(&*self.address(task)?)?;
        let outcome = self.answered(task, past)?;
        self.restore_calls(task, past);
        Some(outcome)
    }

    fn answered(&mut self, task: TaskId, past: &Past) -> Option<Outcome> {
        let (call, output) = past.good_call()?;
        self.written.recall(written_bytes(&call.args));
        if let Some(work) = self.work_mut(task) {
            work.args = Some(call.args.clone());
        }
        let refused = self.guard.bears_recalled().err();
        // Only what others could go on from was within the bound.
        Some(match refused.filter(|_| !past.went_well()) {
            Some(error) => Outcome::failed(error),
            None => Outcome::succeeded(Arc::new(output.clone())),
        })
    }

    /// Takes over what was called before, for the report, and so that attempts are counted on.
    fn restore_calls(&mut self, task: TaskId, past: &Past) {
        for call in &past.calls {
            self.written.recall(written_bytes(&call.args));
            self.calls.push(CallRecord {
                task,
                attempt: call.attempt,
                args: call.args.clone(),
                error: call
                    .answer
                    .as_ref()
                    .and_then(|answer| answer.as_ref().err())
                    .cloned()
                    .map(Box::new),
                sent: call.sent,
                ended: call.answer.is_some(),
            });
        }
        let Some(work) = self.work_mut(task) else {
            return;
        };
        work.attempts = past.attempts();
        work.attempts_before = past.attempts();
    }

    /// When a task that has ended just as it did under an earlier process began and ended.
    pub(super) fn past_times(
        &self,
        at: &Address,
        outcome: &Outcome,
    ) -> Option<(Option<Duration>, Duration)> {
        let end = self.past(at)?.settled.as_ref()?;
        (end.status == outcome.status && end.handled == outcome.handled)
            .then_some((end.started, end.ended))
    }
}

/// The failure of a call that a person said no to.
fn rejection(decided: &PastDecision) -> ToolError {
    let message = decided.because.as_ref().map_or_else(
        || "the call was rejected".to_owned(),
        |because| format!("the call was rejected: {because}"),
    );
    ToolError::new(ErrorKind::Approval, message)
}
