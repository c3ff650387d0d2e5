//! The engine, shared by any number of runs, and the request that starts or resumes a run.

use std::fmt;
use std::sync::Arc;

use planwright_core::Value;
use planwright_core::check::CheckedPlan;
use tokio::sync::mpsc;
use tracing::Instrument;

use crate::approval::{Approver, Decision};
use crate::backend::ToolBackend;
use crate::driver::{Driver, JournalGate, RunHandle};
use crate::durations::{Durations, SharedDurations};
use crate::event::StampedEvent;
use crate::id::RunId;
use crate::journal::{Entry, FailingJournal, Journal, JournalError, Record};
use crate::options::{PlanState, RunOptions};
use crate::run::{History, RunMachine, RunSummary};

/// Runs plans over one set of tools.
#[derive(Clone)]
pub struct Engine {
    backend: Arc<dyn ToolBackend>,
    approver: Arc<dyn Approver>,
    options: RunOptions,
    durations: SharedDurations,
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl Engine {
    /// Creates an engine that calls tools through `backend`. Calls that need approval stay undecided until an
    /// [approver](Self::with_approver) is set.
    pub fn new(backend: impl ToolBackend) -> Self {
        Self {
            backend: Arc::new(backend),
            approver: Arc::new(crate::approval::Always(Decision::Later)),
            options: RunOptions::default(),
            durations: SharedDurations::default(),
        }
    }

    /// Sets the approver of calls that need a person's consent.
    pub fn with_approver(mut self, approver: Arc<dyn Approver>) -> Self {
        self.approver = approver;
        self
    }

    /// Sets the options of runs. The engine continues to learn from the durations in the options.
    pub fn with_options(mut self, options: RunOptions) -> Self {
        self.durations = SharedDurations::new(options.durations.clone());
        self.options = options;
        self
    }

    /// Call durations: those that the engine was configured with, and those learned in all its runs.
    pub fn durations(&self) -> Durations {
        self.durations.lock().clone()
    }

    /// Starts a run without a journal and returns its events as they happen. It must be called within a tokio runtime
    /// with time enabled. Dropping the handle aborts the run.
    ///
    /// # Panics
    ///
    /// If called outside of a tokio runtime.
    pub fn start(
        &self,
        run: RunId,
        plan: CheckedPlan,
    ) -> (RunHandle, mpsc::UnboundedReceiver<StampedEvent>) {
        self.spawn(SpawnRequest::new(run, plan))
    }

    /// Starts or resumes a run and returns its events as they happen. See [`start`](Self::start).
    ///
    /// A run that [must not start](SpawnRequest::check) calls nothing, and its summary has the reason.
    ///
    /// # Panics
    ///
    /// If called outside of a tokio runtime.
    pub fn spawn(&self, start: SpawnRequest) -> (RunHandle, mpsc::UnboundedReceiver<StampedEvent>) {
        match start.check() {
            Ok(()) => self.spawn_checked(start),
            Err(error) => self.spawn_checked(start.refused(&error)),
        }
    }

    /// Starts or resumes a run, unless it [must not start](SpawnRequest::check). See [`spawn`](Self::spawn).
    ///
    /// # Errors
    ///
    /// Those of [`SpawnRequest::check`]. After an error, nothing was called.
    ///
    /// # Panics
    ///
    /// If called outside of a tokio runtime.
    pub fn try_spawn(
        &self,
        start: SpawnRequest,
    ) -> Result<(RunHandle, mpsc::UnboundedReceiver<StampedEvent>), StartError> {
        start.check()?;
        Ok(self.spawn_checked(start))
    }

    fn spawn_checked(
        &self,
        start: SpawnRequest,
    ) -> (RunHandle, mpsc::UnboundedReceiver<StampedEvent>) {
        // Unbounded, so that a slow listener does not hold up the run, and no caller waits to cancel it.
        let (sender, events) = mpsc::unbounded_channel();
        let (command_sender, commands) = mpsc::unbounded_channel();
        let options = RunOptions {
            // The run gets a copy, so that the durations of other runs cannot change its decisions.
            durations: self.durations(),
            ..self.options.clone()
        };
        let is_cancelled = start.is_cancelled;
        let id = start.id().clone();
        let (run, journal) = start.open(options);
        let driver = Driver::new(
            run,
            journal,
            Arc::clone(&self.backend),
            Arc::clone(&self.approver),
            self.durations.clone(),
            vec![sender],
            commands,
        );
        let span = tracing::info_span!("run", run = %id);
        let task = tokio::spawn(driver.drive(is_cancelled).instrument(span));
        (RunHandle::new(command_sender, task), events)
    }

    /// Runs a plan to its end.
    pub async fn run(&self, run: RunId, plan: CheckedPlan) -> RunSummary {
        let (handle, events) = self.start(run, plan);
        // Without a receiver the run creates no events.
        drop(events);
        handle.await
    }
}

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
    is_cancelled: bool,
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
        if let Some(of) = history.and_then(History::run)
            && *of != self.run
        {
            return Err(StartError::OtherRun {
                run: self.run.clone(),
                history: of.clone(),
            });
        }
        match &self.journal {
            Some(journal) => Ok(journal.open(&self.run, history)?),
            None => Ok(()),
        }
    }

    /// The request of a run that must not start. Calls are sent only after an acknowledged entry, so a failing journal keeps the run from
    /// calling anything.
    fn refused(mut self, error: &StartError) -> Self {
        let refused = FailingJournal(JournalError::new(error.to_string()));
        self.journal = Some(Arc::new(refused));
        self
    }

    fn open(self, mut options: RunOptions) -> (RunMachine, Option<JournalGate>) {
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
        let run = run.journaled();
        let opened = Entry {
            at: run.now(),
            turn,
            record: run.redacted(Record::Opened {
                run: Some(id),
                digest,
                header: self.header,
            }),
        };
        (run, Some(JournalGate::new(journal, opened)))
    }
}
