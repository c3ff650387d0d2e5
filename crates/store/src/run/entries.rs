//! The reading of journals: the entries of a run, with their large values.

use std::collections::{HashMap, VecDeque};

use planwright_core::Value;
use planwright_engine::RunId;
use planwright_engine::journal::{Entry, Record};
use planwright_format::journal::{BlobRef, Digest, parse_value, resolve};

use super::batch::EntryRow;
use super::info;
use crate::database::{QueryError, SqlSession, params};
use crate::error::StoreError;
use crate::store::Store;
use crate::values::to_i64;

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
    ///
    /// # Errors
    ///
    /// Those of [`Store::entries`].
    pub fn entries_from(&self, selector: &str, from: usize) -> Result<JournalEntries, StoreError> {
        let (run, id) = self.read(|session| {
            let (key, id) = info::find(session, selector)?;
            info::check_format(session, key, &id)?;
            Ok((key, id))
        })?;
        Ok(JournalEntries {
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
    run: i64,
    id: RunId,
    /// The number of the first entry after those in `chunk`.
    next: i64,
    chunk: VecDeque<Result<Entry, StoreError>>,
    values: HashMap<BlobRef, Value>,
    is_over: bool,
}

impl Iterator for JournalEntries {
    type Item = Result<Entry, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        // An entry after an unreadable one must not look like its successor.
        if self.is_over {
            return None;
        }
        let entry = self
            .read_next()
            .map_err(|error| error.at(self.store.path()));
        self.is_over = !matches!(entry, Ok(Some(_)));
        entry.transpose()
    }
}

impl JournalEntries {
    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// Reads the entries that were appended since the last call, up to an error.
    pub(crate) fn read_new(&mut self) -> (Vec<Entry>, Option<QueryError>) {
        let mut new = Vec::new();
        loop {
            match self.read_next() {
                Ok(Some(entry)) => new.push(entry),
                Ok(None) => return (new, None),
                Err(error) => return (new, Some(error)),
            }
        }
    }

    fn read_next(&mut self) -> Result<Option<Entry>, QueryError> {
        if self.chunk.is_empty() {
            self.read_chunk()?;
        }
        match self.chunk.pop_front() {
            Some(entry) => Ok(Some(entry?)),
            None => Ok(None),
        }
    }

    /// Reads the next entries, with their large values, from one snapshot. After an error, they can be read again.
    fn read_chunk(&mut self) -> Result<(), QueryError> {
        // In chunks, so that a long journal neither fills the memory nor holds one read transaction open, which would keep the
        // write-ahead log from shrinking.
        let (run, id, from, values) = (self.run, &self.id, self.next, &mut self.values);
        self.chunk = self.store.query(|session| {
            let rows = read_rows(session, run, id, from, ENTRIES_PER_READ)?;
            let entries = (from..)
                .zip(rows)
                .map(|(number, row)| decode(session, values, id, number, &row));
            entries.collect::<Result<_, QueryError>>()
        })?;
        self.next += to_i64(self.chunk.len());
        Ok(())
    }
}

/// Decodes the row of the entry `number` of a run. The inner error means that its content is invalid.
fn decode(
    session: &dyn SqlSession,
    values: &mut HashMap<BlobRef, Value>,
    id: &RunId,
    number: i64,
    row: &EntryRow,
) -> Result<Result<Entry, StoreError>, QueryError> {
    let mut failure = None;
    let entry = row.decode(&mut |reference| find_value(session, values, reference, &mut failure));
    match (entry, failure) {
        (Ok(mut entry), _) => {
            // The id is in the row of the run, and the body does not repeat it.
            if let Record::Opened { run, .. } = &mut entry.record {
                *run = Some(id.clone());
            }
            Ok(Ok(entry))
        }
        // A failure of the database does not mean that the entry is invalid: it can be read again.
        (Err(_), Some(failure)) => Err(failure),
        (Err(reason), None) => {
            let reason = format!("entry {number} is invalid: {reason}");
            Ok(Err(info::unreadable(id, &reason)))
        }
    }
}

/// Reads at most `limit` rows of a run, beginning with the number `from`, and verifies their checksums.
pub(crate) fn read_rows(
    session: &dyn SqlSession,
    run: i64,
    id: &RunId,
    from: i64,
    limit: i64,
) -> Result<VecDeque<EntryRow>, QueryError> {
    let mut rows = VecDeque::new();
    session.query(
        "SELECT at_ns, turn, kind, body, number, checksum FROM entries
         WHERE run = ?1 AND ?2 <= number ORDER BY number LIMIT ?3",
        params![run, from, limit],
        &mut |found| {
            let row = EntryRow {
                at_ns: found.get(0)?,
                turn: found.get(1)?,
                kind: found.get(2)?,
                body: found.get(3)?,
            };
            let (number, checksum): (i64, Option<i64>) = (found.get(4)?, found.get(5)?);
            // Entries of older versions have no checksum.
            if checksum.is_some_and(|checksum| checksum != row.checksum(run, number)) {
                let reason = format!("entry {number} was changed after it was stored");
                return Err(QueryError::Store(info::unreadable(id, &reason)));
            }
            rows.push_back(row);
            Ok(())
        },
    )?;
    Ok(rows)
}

/// Returns a large value. If the database cannot be read, its error is stored in `failure` as well.
fn find_value(
    session: &dyn SqlSession,
    values: &mut HashMap<BlobRef, Value>,
    reference: BlobRef,
    failure: &mut Option<QueryError>,
) -> Result<Value, String> {
    // Clearing everything is simple and rare; entries that share a value are mostly close to each other.
    if MAX_CACHED_VALUES <= values.len() {
        values.clear();
    }
    resolve(reference, values, &mut |digest| {
        read_value(session, digest, failure)
    })
}

fn read_value(
    session: &dyn SqlSession,
    digest: &Digest,
    failure: &mut Option<QueryError>,
) -> Result<Value, String> {
    let sql = "SELECT json FROM blobs WHERE digest = ?1";
    let json: Option<String> = session
        .row(sql, params![digest.0], |row| row.get(0))
        .map_err(|error| {
            let reason = error.to_string();
            *failure = Some(error);
            reason
        })?;
    let json = json.ok_or_else(|| format!("the value `{digest}` is missing"))?;
    // A damaged value must not reach a call.
    digest.check(&json)?;
    parse_value(&json)
}
