//! A journal that lives as long as its process.

use std::sync::{Arc, Mutex, PoisonError};

use futures::FutureExt;
use futures::future::BoxFuture;

use super::{Entry, Journal, JournalError};

/// A journal in memory: for tests, and for runs that are looked at but not kept. Clones share what they hold.
#[derive(Clone, Debug, Default)]
pub struct MemoryJournal(Arc<Mutex<Vec<Entry>>>);

impl MemoryJournal {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// What it holds.
    pub fn entries(&self) -> Vec<Entry> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl Journal for MemoryJournal {
    fn append(&self, entries: Vec<Entry>) -> BoxFuture<'static, Result<(), JournalError>> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .extend(entries);
        futures::future::ready(Ok(())).boxed()
    }
}
