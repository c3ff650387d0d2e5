//! How far a run's journal has got.

use std::sync::{Mutex, MutexGuard, PoisonError};

use planwright_engine::JournalError;

use crate::format::Tally;
use crate::lease::Lease;

/// How far a run's journal has got. The run is held as long as anything of it may still be written.
#[derive(Debug)]
pub(crate) struct Progress {
    /// The run, as the tables know it.
    pub(crate) run: i64,
    /// The run, as people know it.
    pub(crate) id: String,
    state: Mutex<State>,
    _lease: Lease,
}

/// What changes with each entry.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    /// The number of the next entry.
    pub(crate) next: i64,
    /// What all entries together mean.
    pub(crate) tally: Tally,
    /// Why nothing more can be kept.
    pub(crate) failure: Option<JournalError>,
}

impl Progress {
    pub(crate) fn new(run: i64, id: String, lease: Lease, state: State) -> Self {
        Self {
            run,
            id,
            state: Mutex::new(state),
            _lease: lease,
        }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
