//! Reading of journals.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use planwright_core::Value;
use planwright_engine::journal::{Entry, Record};
use rusqlite::{Connection, OptionalExtension, params};

use super::info;
use crate::error::{QueryError, StoreError};
use crate::rows::EntryRow;
use crate::store::Store;
use planwright_format::journal::{BlobRef, Digest, parse_value, resolve};

/// The number of entries that one query reads.
const ENTRIES_PER_READ: i64 = 512;
/// The maximum number of cached large values, so that entries that refer to the same value share it in memory.
const MAX_CACHED_VALUES: usize = 1024;

impl Store {
    /// Returns the journal entries of a run, in order.
    ///
    /// # Errors
    ///
    /// Those of [`Store::run`]; [`StoreError::Format`] if a newer version has written it. The iterator yields
    /// [`StoreError::File`] and [`StoreError::Format`], and ends after an error.
    pub fn entries(&self, selector: &str) -> Result<JournalEntries, StoreError> {
        self.entries_from(selector, 0)
    }

    /// Returns the journal entries of a run from the entry `from` on, counted from 0.
    pub(crate) fn entries_from(
        &self,
        selector: &str,
        from: usize,
    ) -> Result<JournalEntries, StoreError> {
        let (run, id) = self.read(|connection| {
            let (key, id) = info::find(connection, selector)?;
            info::check_format(connection, key, &id)?;
            Ok((key, id))
        })?;
        Ok(JournalEntries {
            connection: self.connect()?,
            store: self.clone(),
            run,
            id,
            next: i64::try_from(from).unwrap_or(i64::MAX),
            chunk: VecDeque::new(),
            values: HashMap::new(),
            is_over: false,
        })
    }
}

/// An iterator over the entries of a run. It includes entries that are appended during the iteration.
#[derive(Debug)]
pub struct JournalEntries {
    store: Store,
    connection: Connection,
    run: i64,
    id: String,
    next: i64,
    chunk: VecDeque<EntryRow>,
    values: HashMap<BlobRef, Value>,
    is_over: bool,
}

impl Iterator for JournalEntries {
    type Item = Result<Entry, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let entry = self.read().map_err(|error| error.at(self.store.path()));
        self.is_over = !matches!(entry, Ok(Some(_)));
        entry.transpose()
    }
}

impl JournalEntries {
    /// SQLite's `data_version`, which changes with each commit of another connection, in this process or another one.
    pub(crate) fn data_version(&self) -> Result<i64, StoreError> {
        let version = self
            .connection
            .pragma_query_value(None, "data_version", |row| row.get(0));
        version.map_err(|error| QueryError::from(error).at(self.store.path()))
    }

    /// Reads the entries that were appended since the last call.
    pub(crate) fn read_new(&mut self) -> Result<Vec<Entry>, StoreError> {
        let mut new = Vec::new();
        while let Some(entry) = self.read().map_err(|error| error.at(self.store.path()))? {
            new.push(entry);
        }
        Ok(new)
    }

    fn read(&mut self) -> Result<Option<Entry>, QueryError> {
        if self.chunk.is_empty() {
            self.chunk = rows(
                &self.connection,
                self.run,
                &self.id,
                self.next,
                ENTRIES_PER_READ,
            )?;
        }
        let Some(row) = self.chunk.pop_front() else {
            return Ok(None);
        };
        let number = self.next;
        self.next += 1;
        let (connection, values) = (&self.connection, &mut self.values);
        let entry = row.decode(&mut |reference| find(connection, values, reference));
        let mut entry = entry.map_err(|reason| {
            info::unreadable(&self.id, &format!("entry {number} is invalid: {reason}"))
        })?;
        // The id is in the row of the run, and the body does not repeat it.
        if let Record::Opened { run, .. } = &mut entry.record {
            *run = Some(Arc::from(self.id.as_str()));
        }
        Ok(Some(entry))
    }
}

/// Reads at most `limit` rows of a run, beginning with the number `from`, and verifies their checksums.
pub(crate) fn rows(
    connection: &Connection,
    run: i64,
    id: &str,
    from: i64,
    limit: i64,
) -> Result<VecDeque<EntryRow>, QueryError> {
    let mut statement = connection.prepare_cached(
        "SELECT at_ns, turn, kind, body, number, checksum FROM entries
         WHERE run = ?1 AND ?2 <= number ORDER BY number LIMIT ?3",
    )?;
    let found = statement.query_map(params![run, from, limit], |row| {
        let entry = EntryRow {
            at_ns: row.get(0)?,
            turn: row.get(1)?,
            kind: row.get(2)?,
            body: row.get(3)?,
        };
        Ok((entry, row.get(4)?, row.get(5)?))
    })?;
    let mut rows = VecDeque::new();
    for found in found {
        let (row, number, checksum): (EntryRow, i64, Option<i64>) = found?;
        // Entries of older versions have no checksum.
        if checksum.is_some_and(|checksum| checksum != row.checksum(run, number)) {
            let reason = format!("entry {number} was changed after it was stored");
            return Err(QueryError::Store(info::unreadable(id, &reason)));
        }
        rows.push_back(row);
    }
    Ok(rows)
}

fn find(
    connection: &Connection,
    values: &mut HashMap<BlobRef, Value>,
    reference: BlobRef,
) -> Result<Value, String> {
    if MAX_CACHED_VALUES <= values.len() {
        values.clear();
    }
    resolve(reference, values, &mut |digest| read(connection, digest))
}

fn read(connection: &Connection, digest: &Digest) -> Result<Value, String> {
    let json: Option<String> = connection
        .prepare_cached("SELECT json FROM blobs WHERE digest = ?1")
        .and_then(|mut statement| statement.query_row([digest.0], |row| row.get(0)).optional())
        .map_err(|error| error.to_string())?;
    let json = json.ok_or_else(|| format!("the value `{digest}` is missing"))?;
    // A damaged value must not reach a call.
    digest.check(&json)?;
    parse_value(&json)
}
