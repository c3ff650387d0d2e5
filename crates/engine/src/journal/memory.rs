//! A journal that lives as long as its process.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::FutureExt;
use futures::future::BoxFuture;

use super::{Entry, Journal, JournalError, check_history};
use crate::run::History;

/// A journal in memory: for tests, and for runs that are looked at but not kept. Clones share what they hold.
///
/// It belongs to the run that opens it first, and holds no other.
#[derive(Clone, Debug, Default)]
pub struct MemoryJournal(Arc<Mutex<Held>>);

#[derive(Debug, Default)]
struct Held {
    run: Option<Arc<str>>,
    entries: Vec<Entry>,
}

impl MemoryJournal {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// What it holds.
    pub fn entries(&self) -> Vec<Entry> {
        self.held().entries.clone()
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Journal for MemoryJournal {
    fn open(&self, run: &str, history: Option<&History>) -> Result<(), JournalError> {
        let mut held = self.held();
        if let Some(other) = held.run.as_deref().filter(|other| *other != run) {
            let message = format!("the journal belongs to the run `{other}`, not to `{run}`");
            return Err(JournalError::new(message));
        }
        check_history(held.entries.len(), history)?;
        held.run = Some(run.into());
        Ok(())
    }

    fn append(&self, entries: Vec<Entry>) -> BoxFuture<'static, Result<(), JournalError>> {
        self.held().entries.extend(entries);
        futures::future::ready(Ok(())).boxed()
    }
}
