//! The engine, shared by any number of runs.

use std::sync::Arc;

use planwright_core::check::CheckedPlan;
use tokio::sync::mpsc;
use tracing::Instrument;

use crate::approval::{Approver, Decision};
use crate::backend::ToolBackend;
use crate::driver::{Driver, RunHandle, SpawnRequest, StartError};
use crate::durations::{Durations, SharedDurations};
use crate::event::StampedEvent;
use crate::id::RunId;
use crate::options::RunOptions;
use crate::run::RunSummary;

/// Runs plans over one set of tools.
#[derive(Clone)]
pub struct Engine {
    backend: Arc<dyn ToolBackend>,
    approver: Arc<dyn Approver>,
    options: RunOptions,
    durations: SharedDurations,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
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
    /// Those of [`SpawnRequest::check`]. Nothing was called then.
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
