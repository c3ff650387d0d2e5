//! The runs in progress: no two of them have one id.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use planwright_engine::RunId;

/// The ids of the runs in progress.
#[derive(Clone, Debug, Default)]
pub(super) struct ActiveRuns(Arc<Mutex<HashSet<RunId>>>);

impl ActiveRuns {
    /// Claims an id until the claim is dropped; `None` if a run with it is in progress.
    pub(super) fn claim(&self, id: &RunId) -> Option<Claim> {
        let is_free = self.ids().insert(id.clone());
        is_free.then(|| Claim {
            runs: self.clone(),
            id: id.clone(),
        })
    }

    fn ids(&self) -> MutexGuard<'_, HashSet<RunId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The claim of a run on its id.
#[derive(Debug)]
pub(super) struct Claim {
    runs: ActiveRuns,
    id: RunId,
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.runs.ids().remove(&self.id);
    }
}
