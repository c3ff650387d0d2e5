//! What a run begins with: a plan, and where it keeps what happens; or what it has kept already.

use std::fmt;
use std::sync::Arc;

use planwright_core::Value;
use planwright_core::check::CheckedPlan;

use crate::journal::{Entry, Journal, Record};
use crate::keeping::Keeping;
use crate::options::{Arrival, RunOptions};
use crate::run::{History, Run};

/// What a run begins with.
#[derive(Clone)]
pub struct Start {
    run: Arc<str>,
    plan: CheckedPlan,
    journal: Option<Arc<dyn Journal>>,
    header: Value,
    history: Option<Arc<History>>,
    arrival: Option<Arrival>,
}

impl fmt::Debug for Start {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Start")
            .field("run", &self.run)
            .field("journal", &self.journal.is_some())
            .field("history", &self.history.is_some())
            .finish_non_exhaustive()
    }
}

impl Start {
    /// A new run of `plan`, of which nothing is kept.
    pub fn new(run: impl Into<Arc<str>>, plan: CheckedPlan) -> Self {
        Self {
            run: run.into(),
            plan,
            journal: None,
            header: Value::Null,
            history: None,
            arrival: None,
        }
    }

    /// The run's id.
    pub fn id(&self) -> Arc<str> {
        Arc::clone(&self.run)
    }

    /// Keeps what happens in `journal`. `header` goes into its first entry: whatever the caller wants to find there
    /// when the run is to go on.
    #[must_use]
    pub fn with_journal(mut self, journal: Arc<dyn Journal>, header: Value) -> Self {
        self.journal = Some(journal);
        self.header = header;
        self
    }

    /// Goes on with a run after what its journal holds.
    #[must_use]
    pub fn after(mut self, history: History) -> Self {
        self.history = Some(Arc::new(history));
        self
    }

    /// Begins with a plan that is still being written, whatever the engine's options say.
    #[must_use]
    pub fn tentative(mut self) -> Self {
        self.arrival = Some(Arrival::Tentative);
        self
    }

    pub(crate) fn open(self, mut options: RunOptions) -> (Run, Option<Keeping>) {
        let digest = Arc::from(self.plan.digest());
        options.arrival = self.arrival.unwrap_or(options.arrival);
        let mut run = Run::new(self.run, self.plan, options);
        let mut turn = 0;
        if let Some(history) = self.history {
            turn = history.next_turn();
            run = run.after(history);
        }
        let Some(journal) = self.journal else {
            return (run, None);
        };
        let run = run.remembering();
        let opened = Entry {
            at: run.now(),
            turn,
            record: run.redacted(Record::Opened {
                digest,
                header: self.header,
            }),
        };
        (run, Some(Keeping::new(journal, opened)))
    }
}
