//! The specification of a run to start or resume.

use std::fmt;
use std::sync::Arc;

use planwright_core::Value;
use planwright_core::check::CheckedPlan;

use super::journal_gate::JournalGate;
use crate::id::RunId;
use crate::journal::{Entry, FailingJournal, Journal, JournalError, Record};
use crate::options::{PlanState, RunOptions};
use crate::run::{History, RunMachine};

/// The reason why a run must not start.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    /// The history belongs to another run.
    #[error("the history is that of the run `{history}`, not of `{run}`")]
    OtherRun {
        /// The run to start.
        run: RunId,
        /// The run that the history belongs to.
        history: RunId,
    },
    /// The journal refuses the run.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

/// The specification of a run: the plan, its journal, and the history to resume from.
#[derive(Clone)]
pub struct SpawnRequest {
    run: RunId,
    plan: CheckedPlan,
    journal: Option<Arc<dyn Journal>>,
    header: Value,
    history: Option<Arc<History>>,
    plan_state: Option<PlanState>,
    pub(crate) is_cancelled: bool,
}

impl fmt::Debug for SpawnRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpawnRequest")
            .field("run", &self.run)
            .field("journal", &self.journal.is_some())
            .field("history", &self.history.is_some())
            .finish_non_exhaustive()
    }
}

impl SpawnRequest {
    /// Creates a new run of `plan` without a journal.
    pub fn new(run: RunId, plan: CheckedPlan) -> Self {
        Self {
            run,
            plan,
            journal: None,
            header: Value::Null,
            history: None,
            plan_state: None,
            is_cancelled: false,
        }
    }

    /// The run's id.
    pub fn id(&self) -> &RunId {
        &self.run
    }

    /// Stores the run in `journal`. `header` goes into its first entry, with whatever the caller needs to resume the
    /// run.
    #[must_use]
    pub fn with_journal(mut self, journal: Arc<dyn Journal>, header: Value) -> Self {
        self.journal = Some(journal);
        self.header = header;
        self
    }

    /// Resumes a run from the history in its journal. The caller ensures that the plan is that of the journal, or that
    /// the history of changed steps was [forgotten](History::forget).
    #[must_use]
    pub fn after(mut self, history: History) -> Self {
        self.history = Some(Arc::new(history));
        self
    }

    /// Starts with a provisional plan, regardless of the engine's options.
    #[must_use]
    pub fn provisional(mut self) -> Self {
        self.plan_state = Some(PlanState::Provisional);
        self
    }

    /// Cancels the run before it begins or continues: nothing is called, and it ends as cancelled.
    #[must_use]
    pub fn cancelled(mut self) -> Self {
        self.is_cancelled = true;
        self
    }

    /// Checks that the run may start: its history belongs to it, and its journal accepts it. A run
    /// that is launched although it must not start calls nothing, and its summary has [the
    /// reason](crate::RunSummary::journal_error).
    ///
    /// # Errors
    ///
    /// The reason why it must not start.
    pub fn check(&self) -> Result<(), StartError> {
        let history = self.history.as_deref();
        // Histories of older versions have no id. They are accepted, since the caller compares the plan.
        if let Some(of) = history.and_then(History::run)
            && *of != self.run
        {
            return Err(StartError::OtherRun {
                run: self.run.clone(),
                history: of.clone(),
            });
        }
        // The journal compares the history with its own entries, which this request cannot see.
        match &self.journal {
            Some(journal) => Ok(journal.open(&self.run, history)?),
            None => Ok(()),
        }
    }

    /// The request of a run that must not start. Calls are sent only after an acknowledged entry, so a failing journal keeps the run from
    /// calling anything.
    pub(crate) fn refused(mut self, error: &StartError) -> Self {
        let refused = FailingJournal(JournalError::new(error.to_string()));
        self.journal = Some(Arc::new(refused));
        self
    }

    pub(crate) fn open(self, mut options: RunOptions) -> (RunMachine, Option<JournalGate>) {
        let id = self.run.clone();
        let digest = self.plan.digest().clone();
        // An engine has the options of all its runs, and a streamed run starts provisional on the same engine.
        options.plan_state = self.plan_state.unwrap_or(options.plan_state);
        let mut run = RunMachine::new(self.run, self.plan, options);
        let mut turn = 0;
        if let Some(history) = self.history {
            turn = history.next_turn();
            run = run.after(history);
        }
        let Some(journal) = self.journal else {
            return (run, None);
        };
        // A run without a journal skips the records altogether, so that nothing is computed for them.
        let run = run.journaled();
        let opened = Entry {
            at: run.now(),
            turn,
            // The header of the caller may repeat arguments of the command line, such as a secret input.
            record: run.redacted(Record::Opened {
                run: Some(id),
                digest,
                header: self.header,
            }),
        };
        (run, Some(JournalGate::new(journal, opened)))
    }
}
