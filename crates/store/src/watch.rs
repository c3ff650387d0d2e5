//! Waiting for decisions that other processes make.

use std::time::Duration;

use rusqlite::Connection;

use crate::decision::{StoredDecision, decisions_after};
use crate::error::{Fault, StoreError};
use crate::run::find;
use crate::store::Store;

/// The pause between two looks. It takes a person longer than that to see that nothing has happened yet.
const PAUSE: Duration = Duration::from_millis(100);

/// Waits for decisions about calls of one run, from whichever process.
#[derive(Debug)]
pub struct Decisions {
    store: Store,
    connection: Connection,
    run: i64,
    id: String,
    /// The version of the file that was looked at last.
    version: Option<i64>,
    /// The number of the last decision that was told.
    last: i64,
}

impl Store {
    /// Waits for decisions about calls of a run. Those that are there already are told first.
    ///
    /// # Errors
    ///
    /// Those of [`Store::run`].
    pub fn watch_decisions(&self, selector: &str) -> Result<Decisions, StoreError> {
        let connection = self.connect()?;
        let (run, id) = find(&connection, selector).map_err(|fault| fault.of(self.path()))?;
        Ok(Decisions {
            store: self.clone(),
            connection,
            run,
            id,
            version: None,
            last: 0,
        })
    }
}

impl Decisions {
    /// The decisions that were not told before, at least one, in the order in which they were made. Nothing is lost
    /// when the future is dropped before it is done. It needs the clock of a tokio runtime.
    ///
    /// # Errors
    ///
    /// [`StoreError::File`] and [`StoreError::Format`].
    pub async fn next(&mut self) -> Result<Vec<StoredDecision>, StoreError> {
        loop {
            let news = self.look().map_err(|fault| fault.of(self.store.path()))?;
            if !news.is_empty() {
                return Ok(news);
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// SQLite tells no process what another has done. But it counts, in memory that all share, and to look at the
    /// count takes some microseconds; only when it has changed are the tables asked.
    fn look(&mut self) -> Result<Vec<StoredDecision>, Fault> {
        let version: i64 = self
            .connection
            .pragma_query_value(None, "data_version", |row| row.get(0))?;
        if self.version == Some(version) {
            return Ok(Vec::new());
        }
        let news = decisions_after(&self.connection, self.run, &self.id, self.last)?;
        self.version = Some(version);
        if let Some(newest) = news.last() {
            self.last = newest.number;
        }
        Ok(news)
    }
}
