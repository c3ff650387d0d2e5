//! The durations that all runs of an engine learn from and add to.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::durations::Durations;

/// Durations learned in all runs of an engine.
#[derive(Clone, Debug, Default)]
pub(crate) struct SharedDurations(Arc<Mutex<Durations>>);

impl SharedDurations {
    pub(crate) fn new(durations: Durations) -> Self {
        Self(Arc::new(Mutex::new(durations)))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Durations> {
        // Nothing panics while the lock is held, so a poisoned one is still consistent.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
