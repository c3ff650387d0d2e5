//! The runs that this process drives for the page.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use planwright::Run;
use planwright::engine::{Canceller, RunId};

use crate::tools::OpenTools;

/// The runs that this process drives, with the means to cancel them.
#[derive(Clone, Debug, Default)]
pub(crate) struct RunningRuns(Arc<Mutex<HashMap<RunId, DrivenRun>>>);

/// A run that this process drives.
#[derive(Debug)]
struct DrivenRun {
    canceller: Canceller,
    /// Distinguishes it from a later process of the same run.
    mark: Arc<()>,
}

impl RunningRuns {
    /// Cancels a run. Returns false if another process drives it, or none.
    pub(crate) fn cancel(&self, id: &RunId) -> bool {
        let running = self.lock();
        let found = running.get(id);
        found.inspect(|run| run.canceller.cancel()).is_some()
    }

    /// Drives a run to its end, and holds its tools so long.
    pub(crate) fn drive(&self, run: Run, tools: OpenTools) {
        let id = run.id().clone();
        let mark = Arc::new(());
        let driven = DrivenRun {
            canceller: run.canceller(),
            mark: Arc::clone(&mark),
        };
        self.lock().insert(id.clone(), driven);
        let running = self.clone();
        tokio::spawn(async move {
            let summary = run.finish().await;
            // The run may have been resumed already.
            let mut runs = running.lock();
            if runs
                .get(&id)
                .is_some_and(|run| Arc::ptr_eq(&run.mark, &mark))
            {
                runs.remove(&id);
            }
            drop(runs);
            if let Some(error) = summary.journal_error {
                tracing::warn!(run = %id, %error, "the run was ended, since it cannot be stored");
            }
            drop(tools);
        });
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<RunId, DrivenRun>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
