//! The ids of the runs in progress: two of them with one id would share idempotency keys, decisions and a journal.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::BoxFuture;
use planwright_engine::approval::ApprovalRequest;
use planwright_engine::{Approver, Decision};

/// The ids of the runs in progress.
#[derive(Clone, Debug, Default)]
pub(super) struct ActiveRuns(Arc<Mutex<HashSet<Arc<str>>>>);

impl ActiveRuns {
    /// Claims an id until the claim is dropped; `None` if a run with it is in progress.
    pub(super) fn claim(&self, id: &Arc<str>) -> Option<Claim> {
        let is_free = self.ids().insert(Arc::clone(id));
        is_free.then(|| Claim {
            runs: self.clone(),
            id: Arc::clone(id),
        })
    }

    fn ids(&self) -> MutexGuard<'_, HashSet<Arc<str>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The claim of a run on its id.
#[derive(Debug)]
pub(super) struct Claim {
    runs: ActiveRuns,
    id: Arc<str>,
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.runs.ids().remove(&self.id);
    }
}

/// The approver of a run. The engine drops it when the run has ended or was abandoned, and with it the claim on the id.
pub(super) struct ClaimingApprover {
    pub(super) approver: Arc<dyn Approver>,
    pub(super) _claim: Claim,
}

impl Approver for ClaimingApprover {
    fn decide(&self, request: ApprovalRequest) -> BoxFuture<'_, Decision> {
        self.approver.decide(request)
    }
}
