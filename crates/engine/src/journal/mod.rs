//! The journal of a run, from which the run can be inspected, resumed and replayed.
//!
//! A run is a pure function of its timed inputs. So its journal holds exactly these, call by call, together with the
//! decisions of the run: enough to resume it after its process has died, and enough to prove later that it would
//! decide the same again.

mod buffered;
mod memory;
mod record;

use std::sync::Arc;

use futures::future::BoxFuture;

pub use buffered::BufferedJournal;
pub(crate) use memory::FailingJournal;
pub use memory::MemoryJournal;
pub use record::{Entry, Record};

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
    /// The reason why the run must not use the journal. Nothing is called then.
    fn open(&self, _run: &str, _history: Option<&History>) -> Result<(), JournalError> {
        Ok(())
    }

    /// Appends `entries` after all earlier ones. They are accepted before this returns; the future completes once
    /// they, and all before them, would survive a crash of the machine. A panic means that they are not stored.
    fn append(&self, entries: Vec<Entry>) -> BoxFuture<'static, Result<(), JournalError>>;
}

/// Compares the number of entries in a journal with the number that the history of a run was read from.
///
/// # Errors
///
/// If they differ: the history is missing, stale, or of another journal.
pub fn check_history(held: usize, history: Option<&History>) -> Result<(), JournalError> {
    let read = history.map_or(0, History::entry_count);
    if held == read {
        return Ok(());
    }
    Err(JournalError::new(if read == 0 {
        "the journal holds a run already, and the run was started without its history".to_owned()
    } else {
        format!("the journal has {held} entries, and the history was read from {read}")
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
