//! What a run begins with: a plan, and where it keeps what happens; or what it has kept already.

use std::fmt;
use std::sync::Arc;

use planwright_core::Value;
use planwright_core::check::CheckedPlan;

use crate::journal::{Entry, Journal, JournalError, Record, RefusedJournal};
use crate::keeping::Keeping;
use crate::options::{Arrival, RunOptions};
use crate::run::{History, Run};

/// The longest id of a run, in bytes.
const MAX_ID: usize = 128;

/// Whether `text` can be the id of a run: 1 to 128 ASCII letters, digits, `_`, `-` and `.`, with no `.` in front.
pub fn is_run_id(text: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    !text.is_empty()
        && text.len() <= MAX_ID
        && !text.starts_with('.')
        && text.bytes().all(is_letter)
}

/// Why a run must not start.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The id is [none](is_run_id).
    #[error(
        "`{0}` cannot be the id of a run: only up to 128 letters, digits, `_`, `-` and `.` can, with no `.` in front"
    )]
    BadId(Arc<str>),
    /// The history belongs to another run.
    #[error("the history is that of the run `{history}`, not of `{run}`")]
    OtherRun {
        /// The run that was to start.
        run: Arc<str>,
        /// The run that the history belongs to.
        history: Arc<str>,
    },
    /// The journal refuses the run.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

/// What a run begins with.
#[derive(Clone)]
pub struct Start {
    run: Arc<str>,
    plan: CheckedPlan,
    journal: Option<Arc<dyn Journal>>,
    header: Value,
    history: Option<Arc<History>>,
    arrival: Option<Arrival>,
    pub(crate) is_cancelled: bool,
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
            is_cancelled: false,
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

    /// Resumes a run after what its journal holds. The caller sees to it that the plan is that of the journal, or that what
    /// belongs to changed steps was [forgotten](History::forget).
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

    /// Cancels the run before it begins or continues: nothing is called, and it ends as cancelled.
    #[must_use]
    pub fn cancelled(mut self) -> Self {
        self.is_cancelled = true;
        self
    }

    /// Checks that the run may start: that its id is one, that its history belongs to it, and that its journal accepts it. A run
    /// that is launched although it must not start calls nothing, and its summary says why it was not
    /// [stored](crate::RunSummary::unkept).
    ///
    /// # Errors
    ///
    /// Why it must not start.
    pub fn check(&self) -> Result<(), StartError> {
        if !is_run_id(&self.run) {
            let shown: String = self.run.chars().take(MAX_ID).collect();
            return Err(StartError::BadId(shown.into()));
        }
        let history = self.history.as_deref();
        if let Some(of) = history.and_then(History::run)
            && **of != *self.run
        {
            return Err(StartError::OtherRun {
                run: Arc::clone(&self.run),
                history: Arc::clone(of),
            });
        }
        match &self.journal {
            Some(journal) => Ok(journal.open(&self.run, history)?),
            None => Ok(()),
        }
    }

    pub(crate) fn open(mut self, mut options: RunOptions) -> (Run, Option<Keeping>) {
        if let Err(error) = self.check() {
            // Without an acknowledged entry, no call is sent.
            let refused = RefusedJournal(JournalError::new(error.to_string()));
            self.journal = Some(Arc::new(refused));
        }
        let id = Arc::clone(&self.run);
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
                run: Some(id),
                digest,
                header: self.header,
            }),
        };
        (run, Some(Keeping::new(journal, opened)))
    }
}
