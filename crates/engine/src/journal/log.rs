//! The interface to the party that stores a journal, and journals in memory.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::FutureExt;
use futures::future::BoxFuture;

use super::record::Entry;
use crate::id::RunId;
use crate::run::History;

/// A durable, ordered log of one run.
pub trait Journal: Send + Sync + 'static {
    /// Prepares the journal for a process that drives `run` and resumes it from `history`, or begins it if there is
    /// none. It is called before the first [`append`](Self::append) of a process, and may be called again before that.
    ///
    /// A journal that knows its contents refuses another run, and a history that does not match them. The default
    /// accepts everything.
    ///
    /// # Errors
    ///
    /// The reason why the run must not use the journal. After an error, nothing is called.
    fn open(&self, _run: &RunId, _history: Option<&History>) -> Result<(), JournalError> {
        Ok(())
    }

    /// Appends `entries` after all earlier ones. They are accepted before this returns. The future completes once they and all earlier
    /// entries would survive a crash of the machine. A panic means that they are not stored.
    fn append(&self, entries: Vec<Entry>) -> BoxFuture<'static, Result<(), JournalError>>;

    /// Returns true if it is certain that no other process drives the run at this moment. It is called right before each tool call is sent,
    /// so it must not block.
    fn is_exclusive(&self) -> bool {
        true
    }

    /// Makes certain again that no other process drives the run.
    ///
    /// # Errors
    ///
    /// The reason why that is not certain. After an error, nothing more is called.
    fn confirm_exclusive(&self) -> BoxFuture<'static, Result<(), JournalError>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

/// Compares the number of entries in a journal with the number from which the history of a run was read.
///
/// # Errors
///
/// If they differ: the history is missing, stale, or of another journal.
pub fn check_history(stored: usize, history: Option<&History>) -> Result<(), JournalError> {
    // The number is enough: entries are only appended, and those of another run are refused by its id.
    let read = history.map_or(0, History::entry_count);
    if stored == read {
        return Ok(());
    }
    Err(JournalError::new(if read == 0 {
        "the journal holds a run already, and the run was started without its history".to_owned()
    } else {
        format!("the journal has {stored} entries, and the history was read from {read}")
    }))
}

/// An error of a journal. Entries appended after the failed ones are not stored either.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct JournalError {
    /// A clause with the failed operation and the reason.
    pub message: Arc<str>,
}

impl JournalError {
    /// Creates an error from one clause.
    pub fn new(message: impl Into<Arc<str>>) -> Self {
        Self {
            message: message.into(),
        }
    }
}

/// A journal in memory, for tests and for runs that are inspected but not stored. Clones share the entries.
///
/// It belongs to the run that opens it first, and accepts no other.
#[derive(Clone, Debug, Default)]
pub struct MemoryJournal(Arc<Mutex<MemoryEntries>>);

#[derive(Debug, Default)]
struct MemoryEntries {
    run: Option<RunId>,
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

    // Entries are only appended, so a panic leaves a consistent list.
    fn lock(&self) -> MutexGuard<'_, MemoryEntries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Journal for MemoryJournal {
    fn open(&self, run: &RunId, history: Option<&History>) -> Result<(), JournalError> {
        let mut lock = self.lock();
        if let Some(other) = lock.run.as_ref().filter(|other| *other != run) {
            let message = format!("the journal belongs to the run `{other}`, not to `{run}`");
            return Err(JournalError::new(message));
        }
        check_history(lock.entries.len(), history)?;
        // Claimed only now: a run that is refused must not keep the journal from its own.
        lock.run = Some(run.clone());
        Ok(())
    }

    fn append(&self, entries: Vec<Entry>) -> BoxFuture<'static, Result<(), JournalError>> {
        self.lock().entries.extend(entries);
        futures::future::ready(Ok(())).boxed()
    }
}

/// A journal for a run that must not start. It fails to store any entry, so nothing is called.
#[derive(Debug)]
pub(crate) struct FailingJournal(pub(crate) JournalError);

impl Journal for FailingJournal {
    // `open` stays the default: the refusal has to reach the summary, which only a started run has.
    fn append(&self, _: Vec<Entry>) -> BoxFuture<'static, Result<(), JournalError>> {
        futures::future::ready(Err(self.0.clone())).boxed()
    }
}
