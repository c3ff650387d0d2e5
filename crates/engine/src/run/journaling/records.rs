//! Journaling of a run: writes records, and restores the state of earlier processes.

use std::sync::Arc;
use std::time::Duration;

use planwright_core::{Tool, Value};

use super::history::{History, PastDecision, StepHistory};
use crate::address::Address;
use crate::backend::{ErrorKind, ToolError, ToolOutput};
use crate::guard::written_bytes;
use crate::journal::Record;
use crate::run::effects::Effect;
use crate::run::outcome::{Choice, Outcome, SkipKind, SkipReason};
use crate::run::run_machine::RunMachine;
use crate::run::tasks::task::CallRecord;
use crate::schedule::TaskId;

/// The history of a call that is about to be made.
pub(in crate::run) enum PriorCall {
    /// The history does not matter: the call is made as usual.
    Nothing,
    /// The call has ended with this outcome.
    Ended(Outcome),
    /// A person has approved the call, possibly with other arguments.
    Approved(Option<Value>),
    /// The call was sent, and its outcome is unknown.
    InDoubt,
}

impl RunMachine {
    /// Records everything from here on in the journal.
    #[must_use]
    pub fn journaled(mut self) -> Self {
        self.journal.enable();
        self
    }

    /// Resumes from the history of earlier processes.
    #[must_use]
    pub fn after(mut self, history: Arc<History>) -> Self {
        self.continue_at(history.duration());
        self.restore_usage(&history);
        self.journal.resume_from(history);
        self
    }

    /// The history of a step, item or round.
    pub(in crate::run) fn past(&self, at: &Address) -> Option<&StepHistory> {
        self.journal.history()?.past(at)
    }

    /// The outcome that a person chose for a step.
    pub(in crate::run) fn chosen_outcome(
        &self,
        task: TaskId,
        effects: &mut Vec<Effect>,
    ) -> Option<Outcome> {
        let history = self.journal.history()?;
        let at = self.address(task)?;
        let (now, earlier) = history.choice(&at);
        // A choice is recorded, so later processes know it as well.
        if let Some(choice) = now {
            self.record(effects, || {
                Some(Record::Chosen {
                    at: Arc::clone(&at),
                    choice: choice.clone(),
                })
            });
        }
        match now.or(earlier)? {
            Choice::Retry => None,
            Choice::Skip => Some(Outcome::skipped(SkipReason::new(
                SkipKind::Person,
                Arc::clone(at.step.text()),
            ))),
            Choice::Set(value) => Some(Outcome::succeeded(Arc::new(ToolOutput::value(
                value.clone(),
            )))),
        }
    }

    /// Returns the error of a loop or an inner plan that exceeded its time limit in an earlier process, if other steps continued from that
    /// error. The parts of the group were cancelled, and must not run now.
    pub(in crate::run) fn earlier_timeout(&self, task: TaskId) -> Option<ToolError> {
        let history = self.journal.history()?;
        let at = self.address(task)?;
        let (now, earlier) = history.choice(&at);
        if matches!(now.or(earlier), Some(Choice::Retry)) {
            return None;
        }
        let end = history.past(&at)?.settled.as_ref()?;
        let error = end.error.as_ref().filter(|_| history.is_final(&at))?;
        (error.kind == ErrorKind::Timeout).then(|| error.clone())
    }

    /// The history of the call that a task is about to make.
    pub(in crate::run) fn prior_call(
        &mut self,
        task: TaskId,
        tool: &Arc<Tool>,
        args: &Value,
    ) -> PriorCall {
        let Some(history) = self.journal.history().cloned() else {
            return PriorCall::Nothing;
        };
        let Some(at) = self.address(task) else {
            return PriorCall::Nothing;
        };
        let Some(past) = history.past(&at) else {
            return PriorCall::Nothing;
        };
        self.restore_calls(task, past);
        if let Some(outcome) = self.answered_outcome(task, past) {
            return PriorCall::Ended(outcome);
        }
        let decided = self.earlier_decision(&at, past, tool, args);
        let (now, earlier) = history.choice(&at);
        let retried = matches!(now.or(earlier), Some(Choice::Retry));
        if retried {
            // The choice to retry is consent to exactly that call. After a rejection, or for a different call, a
            // person is asked again.
            return match decided {
                Some(decided) if decided.approved => {
                    PriorCall::Approved(decided.changed_args.clone())
                }
                None if past.is_in_doubt() && self.was_consented(&at, past, tool, args) => {
                    PriorCall::Approved(None)
                }
                _ => PriorCall::Nothing,
            };
        }
        // Other steps have continued from the failure, so the call must not be made after all.
        if history.is_final(&at)
            && let Some(error) = past.last_error()
        {
            return PriorCall::Ended(Outcome::failed(error));
        }
        // The call may have happened, and a second one may do harm.
        if past.is_in_doubt() && !tool.is_repeatable() {
            return PriorCall::InDoubt;
        }
        match decided {
            Some(decided) if decided.approved => PriorCall::Approved(decided.changed_args.clone()),
            Some(decided) => PriorCall::Ended(Outcome::failed(rejection_error(decided))),
            None => PriorCall::Nothing,
        }
    }

    /// The outcome of an earlier successful call, even if its arguments cannot be computed any more.
    pub(in crate::run) fn earlier_answer(&mut self, task: TaskId) -> Option<Outcome> {
        let history = self.journal.history().cloned()?;
        let past = history.past(&*self.address(task)?)?;
        let outcome = self.answered_outcome(task, past)?;
        self.restore_calls(task, past);
        Some(outcome)
    }

    fn answered_outcome(&mut self, task: TaskId, past: &StepHistory) -> Option<Outcome> {
        let (call, output) = past.successful_call()?;
        self.budgets.written.restore(written_bytes(&call.args));
        if let Some(data) = self.task_data_mut(task) {
            data.args = Some(call.args.clone());
        }
        let fits = self.fits_output(task, &output.value);
        self.observe_output(task, output, fits);
        let refused = self.budgets.guard.check_restored_outputs().err();
        // Only outputs that other steps could continue from were within the bound.
        Some(match refused.filter(|_| !past.has_succeeded()) {
            Some(error) => Outcome::failed(error),
            None => Outcome::succeeded(Arc::new(output.clone())),
        })
    }

    /// Restores the earlier calls, for reports and for the numbers of attempts.
    fn restore_calls(&mut self, task: TaskId, past: &StepHistory) {
        for call in &past.calls {
            self.budgets.written.restore(written_bytes(&call.args));
            if let Some(Err(error)) = &call.answer {
                self.observe_error(task, error);
            }
            self.tasks.push_call(CallRecord {
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
        let Some(data) = self.task_data_mut(task) else {
            return;
        };
        data.attempts = past.attempts();
        data.earlier_attempts = past.attempts();
    }

    /// The earlier start and end of a task that has ended as it did under an earlier process.
    pub(in crate::run) fn past_times(
        &self,
        at: &Address,
        outcome: &Outcome,
    ) -> Option<(Option<Duration>, Duration)> {
        let end = self.past(at)?.settled.as_ref()?;
        (end.status == outcome.status && end.handled == outcome.handled)
            .then_some((end.started, end.ended))
    }
}

/// The error of a rejected call.
fn rejection_error(decided: &PastDecision) -> ToolError {
    let message = decided.because.as_ref().map_or_else(
        || "the call was rejected".to_owned(),
        |because| format!("the call was rejected: {because}"),
    );
    ToolError::new(ErrorKind::Approval, message)
}
