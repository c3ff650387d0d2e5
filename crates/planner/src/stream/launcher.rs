//! The interface to the service that starts streamed runs, and the engine as the simplest one.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use planwright_core::{CheckedPlan, Value};
use planwright_engine::run::History;
use planwright_engine::{
    Canceller, Engine, Journal, RunHandle, RunId, RunSummary, SpawnRequest, StampedEvent,
};
use tokio::sync::mpsc::UnboundedReceiver;

/// The service that starts the runs of [`stream`](super::stream()).
pub trait RunLauncher: Send + Sync {
    /// Starts a run within the current tokio runtime. Dropping the result abandons it.
    ///
    /// # Errors
    ///
    /// The reason why the run must not start. After an error, nothing was called.
    fn launch(&self, request: LaunchRequest) -> Result<Box<dyn LaunchedRun>, LaunchError>;
}

/// A run to start.
pub struct LaunchRequest {
    /// Id of the run. An abandoned early run and its replacement have the same id.
    pub run: RunId,
    /// The plan, or the part of it that has arrived.
    pub plan: CheckedPlan,
    /// The journal with the header of its first entry, if the run has one.
    pub journal: Option<(Arc<dyn Journal>, Value)>,
    /// The results that the run reuses.
    pub history: Option<History>,
    /// True if only calls without effects may start until the plan is [closed](LaunchedRun::close).
    pub is_provisional: bool,
}

/// A run in progress.
pub trait LaunchedRun: Send {
    /// A handle that cancels the run.
    fn canceller(&self) -> Canceller;

    /// Continues with a longer plan that begins with the running one. A run that has ended ignores it.
    fn extend(&mut self, plan: CheckedPlan);

    /// Declares the plan complete, so that all steps may start.
    fn close(&self);

    /// The next event; `None` once the run has ended. Dropping the future loses no event.
    fn next_event(&mut self) -> BoxFuture<'_, Option<StampedEvent>>;

    /// Waits for the end of the run.
    fn finish(self: Box<Self>) -> BoxFuture<'static, RunSummary>;
}

/// The reason why a run did not start.
pub type LaunchError = Box<dyn Error + Send + Sync>;

/// Starts the runs on the engine alone: without a comparison of tools, and without observers.
impl RunLauncher for Engine {
    fn launch(&self, request: LaunchRequest) -> Result<Box<dyn LaunchedRun>, LaunchError> {
        let mut start = SpawnRequest::new(request.run, request.plan);
        if let Some((journal, header)) = request.journal {
            start = start.with_journal(journal, header);
        }
        if let Some(history) = request.history {
            start = start.after(history);
        }
        if request.is_provisional {
            start = start.provisional();
        }
        let (handle, events) = self.try_spawn(start)?;
        Ok(Box::new(EngineRun { handle, events }))
    }
}

struct EngineRun {
    handle: RunHandle,
    events: UnboundedReceiver<StampedEvent>,
}

impl LaunchedRun for EngineRun {
    fn canceller(&self) -> Canceller {
        self.handle.canceller()
    }

    fn extend(&mut self, plan: CheckedPlan) {
        // The summary of a run that has ended reports why it ended.
        let _ = self.handle.extend(plan);
    }

    fn close(&self) {
        self.handle.close();
    }

    fn next_event(&mut self) -> BoxFuture<'_, Option<StampedEvent>> {
        self.events.recv().boxed()
    }

    fn finish(self: Box<Self>) -> BoxFuture<'static, RunSummary> {
        self.handle.boxed()
    }
}

impl fmt::Debug for LaunchRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LaunchRequest")
            .field("run", &self.run)
            .field("is_provisional", &self.is_provisional)
            .finish_non_exhaustive()
    }
}
