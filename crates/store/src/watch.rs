//! Polling for decisions and journal entries that other processes store.

use std::time::Duration;

use planwright_engine::journal::Entry;
use rusqlite::Connection;

use crate::decisions::{StoredDecision, decisions_after};
use crate::error::{QueryError, StoreError};
use crate::run::{JournalEntries, find};
use crate::store::Store;

/// The pause between two polls, below what a person who waits for an effect notices.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// A watcher for decisions about calls of one run, made by any process.
#[derive(Debug)]
pub struct DecisionWatcher {
    store: Store,
    connection: Connection,
    run: i64,
    id: String,
    /// SQLite's `data_version` at the last poll.
    version: Option<i64>,
    /// The number of the last decision that was returned.
    last: i64,
}

impl Store {
    /// Watches for decisions about calls of a run. The existing ones are returned first.
    ///
    /// # Errors
    ///
    /// Those of [`Store::run`].
    pub fn watch_decisions(&self, selector: &str) -> Result<DecisionWatcher, StoreError> {
        let connection = self.connect()?;
        let (run, id) = find(&connection, selector).map_err(|error| error.at(self.path()))?;
        Ok(DecisionWatcher {
            store: self.clone(),
            connection,
            run,
            id,
            version: None,
            last: 0,
        })
    }
}

impl DecisionWatcher {
    /// Waits for new decisions, and returns at least one, in the order in which they were made. Cancel-safe. It needs the clock of
    /// a tokio runtime.
    ///
    /// # Errors
    ///
    /// [`StoreError::File`] and [`StoreError::Format`].
    pub async fn next(&mut self) -> Result<Vec<StoredDecision>, StoreError> {
        loop {
            let new = self.poll().map_err(|error| error.at(self.store.path()))?;
            if !new.is_empty() {
                return Ok(new);
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Returns the decisions since the last poll. SQLite notifies no other process of a commit, but it counts commits in shared
    /// memory. Reading the counter takes microseconds, so the tables are queried only when it has changed.
    fn poll(&mut self) -> Result<Vec<StoredDecision>, QueryError> {
        let version: i64 = self
            .connection
            .pragma_query_value(None, "data_version", |row| row.get(0))?;
        if self.version == Some(version) {
            return Ok(Vec::new());
        }
        // The counter was read first: a decision that is stored in between changes it, and the next poll looks again.
        let new = decisions_after(&self.connection, self.run, &self.id, self.last)?;
        self.version = Some(version);
        if let Some(newest) = new.last() {
            self.last = newest.number;
        }
        Ok(new)
    }
}

/// A watcher for the journal entries of one run, written by any process.
#[derive(Debug)]
pub struct EntryWatcher {
    entries: JournalEntries,
    /// SQLite's `data_version` at the last poll.
    version: Option<i64>,
}

impl Store {
    /// Watches for the journal entries of a run, beginning with the entry `from`, counted from 0.
    ///
    /// # Errors
    ///
    /// Those of [`Store::entries`].
    pub fn watch_entries(&self, selector: &str, from: usize) -> Result<EntryWatcher, StoreError> {
        Ok(EntryWatcher {
            entries: self.entries_from(selector, from)?,
            version: None,
        })
    }
}

impl EntryWatcher {
    /// Waits for new entries, and returns at least one, in order. Cancel-safe. It needs the clock of a tokio runtime.
    ///
    /// # Errors
    ///
    /// [`StoreError::File`] and [`StoreError::Format`].
    pub async fn next(&mut self) -> Result<Vec<Entry>, StoreError> {
        loop {
            // The counter is read first: a commit in between makes the next poll look again.
            let version = self.entries.data_version()?;
            if self.version != Some(version) {
                let new = self.entries.read_new()?;
                self.version = Some(version);
                if !new.is_empty() {
                    return Ok(new);
                }
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }
}
