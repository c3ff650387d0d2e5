//! The runs that this process drives for the page.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use planwright::Run;
use planwright::engine::{Canceller, RunId};
use tokio::sync::watch;

use crate::tools::OpenTools;

/// The runs that this process drives, with the means to end them.
#[derive(Clone, Debug, Default)]
pub(crate) struct RunningRuns {
    state: Arc<Mutex<RunningState>>,
    /// The number of runs whose tools are not closed yet.
    open: watch::Sender<usize>,
}

#[derive(Debug, Default)]
struct RunningState {
    runs: HashMap<RunId, DrivenRun>,
    /// The time limit for calls in flight, once the page ends.
    draining: Option<Duration>,
}

/// A run that this process drives.
#[derive(Debug)]
struct DrivenRun {
    canceller: Canceller,
    /// Distinguishes it from a later process of the same run.
    mark: Arc<()>,
}

/// A guard of a run whose tools are not closed yet. Dropping it marks them as closed.
struct OpenRun {
    running: RunningRuns,
    id: RunId,
    mark: Arc<()>,
}

impl RunningRuns {
    /// Cancels a run. Returns false if another process drives it, or none.
    pub(crate) fn cancel(&self, id: &RunId) -> bool {
        let state = self.lock();
        let found = state.runs.get(id);
        found.inspect(|run| run.canceller.cancel()).is_some()
    }

    /// Drives a run to its end, then closes its tools.
    pub(crate) fn drive(&self, run: Run, tools: OpenTools) {
        let driven = self.add(run.id().clone(), run.canceller());
        tokio::spawn(async move {
            let summary = run.finish().await;
            // The run can be resumed while its tools are being closed.
            driven.remove();
            if let Some(error) = summary.journal_error {
                tracing::warn!(run = %driven.id, %error, "the run was ended, since it cannot be stored");
            }
            tools.guard.close().await;
        });
    }

    /// Drains all runs, and cancels calls that are still in flight after `limit`. Returns once all runs have ended and their tools are
    /// closed.
    pub(crate) async fn drain(&self, limit: Duration) {
        let mut open = self.open.subscribe();
        {
            let mut state = self.lock();
            state.draining = Some(limit);
            for run in state.runs.values() {
                run.canceller.drain(limit);
            }
        }
        // The sender is in `self`, so there is always one.
        let _ = open.wait_for(|count| *count == 0).await;
    }

    fn add(&self, id: RunId, canceller: Canceller) -> OpenRun {
        self.open.send_modify(|count| *count += 1);
        let mark = Arc::new(());
        let mut state = self.lock();
        if let Some(limit) = state.draining {
            canceller.drain(limit);
        }
        let driven = DrivenRun {
            canceller,
            mark: Arc::clone(&mark),
        };
        state.runs.insert(id.clone(), driven);
        drop(state);
        OpenRun {
            running: self.clone(),
            id,
            mark,
        }
    }

    fn lock(&self) -> MutexGuard<'_, RunningState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OpenRun {
    /// Removes the run, unless it has been resumed already.
    fn remove(&self) {
        let mut state = self.running.lock();
        let run = state.runs.get(&self.id);
        if run.is_some_and(|run| Arc::ptr_eq(&run.mark, &self.mark)) {
            state.runs.remove(&self.id);
        }
    }
}

impl Drop for OpenRun {
    fn drop(&mut self) {
        self.remove();
        self.running.open.send_modify(|count| *count -= 1);
    }
}
