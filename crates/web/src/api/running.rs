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
    /// The time that calls in flight have to end, once the page ends.
    draining: Option<Duration>,
}

/// A run that this process drives.
#[derive(Debug)]
struct DrivenRun {
    canceller: Canceller,
    /// Distinguishes it from a later process of the same run.
    mark: Arc<()>,
}

/// A run until its tools are closed, which is when this is dropped.
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

    /// Drives a run to its end, and closes its tools then.
    pub(crate) fn drive(&self, run: Run, tools: OpenTools) {
        let driven = self.add(run.id().clone(), run.canceller());
        tokio::spawn(async move {
            let summary = run.finish().await;
            // The run can be resumed while its tools close.
            driven.forget();
            if let Some(error) = summary.journal_error {
                tracing::warn!(run = %driven.id, %error, "the run was ended, since it cannot be stored");
            }
            tools.guard.close().await;
        });
    }

    /// Starts nothing new, cancels the calls that are still in flight after `limit`, and waits for the end of all runs and their tools.
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
    fn forget(&self) {
        let mut state = self.running.lock();
        let run = state.runs.get(&self.id);
        if run.is_some_and(|run| Arc::ptr_eq(&run.mark, &self.mark)) {
            state.runs.remove(&self.id);
        }
    }
}

impl Drop for OpenRun {
    fn drop(&mut self) {
        self.forget();
        self.running.open.send_modify(|count| *count -= 1);
    }
}
