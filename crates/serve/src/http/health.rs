//! The note of a health check.

use std::sync::{Arc, Mutex, PoisonError};

/// A note that health checks show beside `ok`: something that a person has to decide, while the gateway serves as before. Clones share it.
///
/// Each program that reaches the gateway can read it, so it names neither files nor servers.
#[derive(Clone, Debug, Default)]
pub struct HealthNote(Arc<Mutex<Option<&'static str>>>);

impl HealthNote {
    /// Replaces the note; `None` removes it.
    pub fn set(&self, note: Option<&'static str>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = note;
    }

    /// Returns the note.
    pub fn get(&self) -> Option<&'static str> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
