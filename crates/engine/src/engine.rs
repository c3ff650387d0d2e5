//! The engine: tools, options, and who decides, for as many runs as one likes.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use planwright_core::check::CheckedPlan;
use tokio::sync::mpsc;

use crate::approval::{Approver, Decision};
use crate::backend::ToolBackend;
use crate::dispatch::Dispatch;
use crate::durations::Durations;
use crate::event::StampedEvent;
use crate::handle::RunHandle;
use crate::options::RunOptions;
use crate::run::RunSummary;
use crate::start::Start;

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
    /// An engine that calls tools through `backend`. Calls that need a person's consent wait until somebody
    /// [decides](Self::with_approver).
    pub fn new(backend: impl ToolBackend) -> Self {
        Self {
            backend: Arc::new(backend),
            approver: Arc::new(crate::approval::Always(Decision::Later)),
            options: RunOptions::default(),
            durations: SharedDurations::default(),
        }
    }

    /// Who decides about calls that need a person's consent.
    pub fn with_approver(mut self, approver: Arc<dyn Approver>) -> Self {
        self.approver = approver;
        self
    }

    /// How runs go about their work. The engine goes on learning from the durations that the options bring.
    pub fn with_options(mut self, options: RunOptions) -> Self {
        self.durations = SharedDurations::new(options.durations.clone());
        self.options = options;
        self
    }

    /// How long calls take: what the engine was given, and what it has learned in all its runs.
    pub fn durations(&self) -> Durations {
        self.durations.lock().clone()
    }

    /// Starts a run of which nothing is kept, and gives its events as they happen. It must be called within a tokio
    /// runtime with time enabled. Dropping the handle gives the run up.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    pub fn start(
        &self,
        run: impl Into<Arc<str>>,
        plan: CheckedPlan,
    ) -> (RunHandle, mpsc::UnboundedReceiver<StampedEvent>) {
        self.launch(Start::new(run, plan))
    }

    /// Starts a run, or goes on with one, and gives its events as they happen. See [`start`](Self::start).
    ///
    /// A run that [must not start](Start::check) calls nothing, and its summary says why.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    pub fn launch(&self, start: Start) -> (RunHandle, mpsc::UnboundedReceiver<StampedEvent>) {
        let (sender, events) = mpsc::unbounded_channel();
        let (wishes, heard) = mpsc::unbounded_channel();
        let options = RunOptions {
            durations: self.durations(),
            ..self.options.clone()
        };
        let is_cancelled = start.is_cancelled;
        let (run, keeping) = start.open(options);
        let dispatch = Dispatch::new(
            run,
            keeping,
            Arc::clone(&self.backend),
            Arc::clone(&self.approver),
            self.durations.clone(),
            vec![sender],
            heard,
        );
        let task = tokio::spawn(dispatch.drive(is_cancelled));
        (RunHandle::new(wishes, task), events)
    }

    /// Runs a plan to its end.
    pub async fn run(&self, run: impl Into<Arc<str>>, plan: CheckedPlan) -> RunSummary {
        let (handle, events) = self.start(run, plan);
        drop(events);
        handle.await
    }
}
/// What an engine has learned in all its runs.
#[derive(Clone, Debug, Default)]
pub(crate) struct SharedDurations(Arc<Mutex<Durations>>);

impl SharedDurations {
    fn new(durations: Durations) -> Self {
        Self(Arc::new(Mutex::new(durations)))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Durations> {
        // Nothing that may panic happens while it is held.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
