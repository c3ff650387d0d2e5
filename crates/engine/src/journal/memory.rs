//! Simple journals: one in memory, and one that stores nothing.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::FutureExt;
use futures::future::BoxFuture;

use super::{Entry, Journal, JournalError, check_history};
use crate::run::History;

/// A journal in memory, for tests and for runs that are inspected but not stored. Clones share the entries.
///
/// It belongs to the run that opens it first, and accepts no other.
#[derive(Clone, Debug, Default)]
pub struct MemoryJournal(Arc<Mutex<MemoryEntries>>);

#[derive(Debug, Default)]
struct MemoryEntries {
    run: Option<Arc<str>>,
    entries: Vec<Entry>,
}

impl MemoryJournal {
    /// Creates an empty journal.
    pub fn new() -> Self {
        Self::default()
    }

    /// The stored entries.
    pub fn entries(&self) -> Vec<Entry> {
        self.lock().entries.clone()
    }

    fn lock(&self) -> MutexGuard<'_, MemoryEntries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Journal for MemoryJournal {
    fn open(&self, run: &str, history: Option<&History>) -> Result<(), JournalError> {
        let mut lock = self.lock();
        if let Some(other) = lock.run.as_deref().filter(|other| *other != run) {
            let message = format!("the journal belongs to the run `{other}`, not to `{run}`");
            return Err(JournalError::new(message));
        }
        check_history(lock.entries.len(), history)?;
        lock.run = Some(run.into());
        Ok(())
    }

    fn append(&self, entries: Vec<Entry>) -> BoxFuture<'static, Result<(), JournalError>> {
        self.lock().entries.extend(entries);
        futures::future::ready(Ok(())).boxed()
    }
}

/// A journal for a run that must not start. It fails to store anything, so nothing is called.
#[derive(Debug)]
pub(crate) struct FailingJournal(pub(crate) JournalError);

impl Journal for FailingJournal {
    fn append(&self, _: Vec<Entry>) -> BoxFuture<'static, Result<(), JournalError>> {
        futures::future::ready(Err(self.0.clone())).boxed()
    }
}
