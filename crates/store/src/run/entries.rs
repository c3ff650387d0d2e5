//! Rows of the table `entries`: batches of encoded entries, their checksums and totals, the statements that write them, and the reading of journals.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::Duration;

use planwright_core::Value;
use planwright_engine::RunId;
use planwright_engine::journal::{Entry, Record};
use planwright_engine::{RunStatus, StepStatus};
use planwright_format::duration_nanos;
use planwright_format::journal::{
    Blob, BlobLoader, BlobRef, Digest, decode_record, encode_record, parse_value, resolve,
};
use sha2::{Digest as _, Sha256};

use super::info;
use crate::database::{QueryError, SqlSession, SqlValue, ToSql, params};
use crate::error::StoreError;
use crate::store::Store;
use crate::values::to_i64;

/// An encoded entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EntryRow {
    pub(crate) at_ns: i64,
    pub(crate) turn: i64,
    pub(crate) kind: String,
    pub(crate) body: String,
}

impl EntryRow {
    /// Decodes the entry; `load` provides its large values.
    pub(crate) fn decode(&self, load: BlobLoader<'_>) -> Result<Entry, String> {
        let record = decode_record(&self.kind, &self.body, load)?;
        Ok(Entry {
            at: Duration::from_nanos(self.at_ns.unsigned_abs()),
            turn: self.turn.unsigned_abs(),
            record,
        })
    }

    /// Returns the checksum of the row as the entry `number` of the run with the key `run`: the first eight bytes of the SHA-256
    /// over all columns. It detects damage, not forgery: a program that writes into the store can write checksums as well.
    fn checksum(&self, run: i64, number: i64) -> i64 {
        // The key and the number are included, so that a row that was moved to another place is detected as well.
        let mut hash = Sha256::new();
        for number in [run, number, self.at_ns, self.turn] {
            hash.update(number.to_le_bytes());
        }
        hash.update(self.kind.as_bytes());
        // No kind has a zero byte, so different rows have different bytes.
        hash.update([0]);
        hash.update(self.body.as_bytes());
        let digest: [u8; 32] = hash.finalize().into();
        i64::from_le_bytes(digest.first_chunk().copied().unwrap_or_default())
    }
}

/// Encoded entries that are written together, with the large values that they refer to.
#[derive(Debug, Default)]
pub(crate) struct EntryBatch {
    pub(crate) rows: Vec<EntryRow>,
    pub(crate) blobs: Vec<Blob>,
    pub(crate) totals: RunTotals,
}

impl EntryBatch {
    /// Encodes entries.
    pub(crate) fn encode(entries: &[Entry]) -> Result<Self, String> {
        let mut batch = Self {
            rows: Vec::with_capacity(entries.len()),
            ..Self::default()
        };
        for entry in entries {
            batch.totals.add(entry);
            let (kind, body) = encode_record(&entry.record, &mut batch.blobs)?;
            batch.rows.push(EntryRow {
                at_ns: to_i64(duration_nanos(entry.at)),
                turn: to_i64(entry.turn),
                kind: kind.to_owned(),
                body,
            });
        }
        Ok(batch)
    }
}

/// The totals of a run's entries, or of a part of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RunTotals {
    /// The number of steps that have ended for good.
    pub(crate) done: i64,
    /// The number of calls that were sent.
    pub(crate) calls: i64,
    /// The time of the last entry.
    pub(crate) last_ns: i64,
    /// The number of steps of the plan, if these entries changed it.
    pub(crate) steps: Option<i64>,
    /// The state of the run, if these entries changed it.
    pub(crate) state: Option<RunState>,
}

/// The state of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RunState {
    /// The run is in progress, or, if no process has leased it, was interrupted.
    Open,
    /// The last process that drove the run ended it with this status.
    Ended(RunStatus),
}

impl RunState {
    /// Returns the keyword in the column `status`.
    pub(crate) fn keyword(self) -> Option<&'static str> {
        match self {
            Self::Open => None,
            Self::Ended(status) => Some(status.as_str()),
        }
    }
}

impl RunTotals {
    pub(crate) fn add(&mut self, entry: &Entry) {
        self.last_ns = to_i64(duration_nanos(entry.at));
        match &entry.record {
            Record::Opened { header, .. } => {
                self.state = Some(RunState::Open);
                // A process may resume the run with another plan than it began with.
                let steps = header.get("steps").and_then(Value::as_u64);
                self.steps = steps
                    .and_then(|steps| i64::try_from(steps).ok())
                    .or(self.steps);
            }
            Record::Ended { status } => self.state = Some(RunState::Ended(*status)),
            Record::Extended { steps, .. } => self.steps = i64::try_from(*steps).ok(),
            Record::Sent { .. } => self.calls += 1,
            Record::Settled { at, status, .. } => {
                let is_over = matches!(
                    status,
                    StepStatus::Succeeded | StepStatus::Failed | StepStatus::Skipped
                );
                // Steps of inner plans, items and rounds are parts of a step of the plan.
                let is_whole = at.inside.is_none() && at.item.is_none() && at.round.is_none();
                self.done += i64::from(is_over && is_whole);
            }
            Record::Answered { .. }
            | Record::Aborted { .. }
            | Record::Asked { .. }
            | Record::Decided { .. }
            | Record::Chosen { .. }
            | Record::TimerFired { .. }
            | Record::Closed
            | Record::Draining
            | Record::Cancelled
            | Record::OutOfTime
            | Record::Paused { .. }
            | Record::Resumed => {}
        }
    }

    /// Combines these totals with those of later entries.
    pub(crate) fn then(self, later: Self) -> Self {
        Self {
            done: self.done + later.done,
            calls: self.calls + later.calls,
            last_ns: later.last_ns,
            steps: later.steps.or(self.steps),
            state: later.state.or(self.state),
        }
    }
}

/// Inserts the blobs of all batches of a transaction. They are sorted by digest, so that two transactions with the same blobs
/// cannot wait for each other forever.
pub(crate) fn insert_blobs<'a>(
    session: &dyn SqlSession,
    batches: impl Iterator<Item = &'a EntryBatch>,
) -> Result<(), QueryError> {
    let blobs = batches.flat_map(|batch| &batch.blobs);
    let blobs: BTreeMap<_, _> = blobs.map(|blob| (&blob.digest.0, &blob.json)).collect();
    // Other entries, also of other runs, may have stored the same value already.
    session.execute_each(
        "INSERT INTO blobs (digest, json) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
        &mut blobs
            .into_iter()
            .map(|(digest, json)| vec![digest.to_sql(), json.to_sql()]),
    )
}

/// Inserts entries of a run, numbered from `from`, whose blobs are [inserted](insert_blobs).
pub(crate) fn insert_batch(
    session: &dyn SqlSession,
    run: i64,
    from: i64,
    batch: &EntryBatch,
) -> Result<(), QueryError> {
    // The table `uses` keeps a value until the last run that refers to it is pruned.
    for blob in &batch.blobs {
        session.execute(
            "INSERT INTO uses (run, digest) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
            params![run, blob.digest.0],
        )?;
    }
    session.execute_each(
        "INSERT INTO entries (run, number, at_ns, turn, kind, body, checksum) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        &mut (from..).zip(&batch.rows).map(|(number, row)| {
            vec![
                SqlValue::Integer(run),
                SqlValue::Integer(number),
                row.at_ns.to_sql(),
                row.turn.to_sql(),
                row.kind.to_sql(),
                row.body.to_sql(),
                SqlValue::Integer(row.checksum(run, number)),
            ]
        }),
    )
}

/// Returns true if the entries of a run from `from` on begin with this batch. Further batches may follow it.
pub(crate) fn has_batch(
    session: &dyn SqlSession,
    run: i64,
    from: i64,
    batch: &EntryBatch,
) -> Result<bool, QueryError> {
    let found: Vec<Option<i64>> = session.rows(
        "SELECT checksum FROM entries WHERE run = ?1 AND ?2 <= number ORDER BY number LIMIT ?3",
        params![run, from, to_i64(batch.rows.len())],
        |row| row.get::<Option<i64>>(0),
    )?;
    let expected = (from..).zip(&batch.rows);
    Ok(expected
        .map(|(number, row)| Some(row.checksum(run, number)))
        .eq(found))
}

/// Returns the number of the next entry of a run, or `None` if the run is not in the store.
pub(crate) fn next_entry(session: &dyn SqlSession, run: i64) -> Result<Option<i64>, QueryError> {
    session.row(
        // The outer query returns no row for a run that was deleted meanwhile, instead of the number 0.
        "SELECT (SELECT coalesce(max(number) + 1, 0) FROM entries WHERE run = ?1) FROM runs WHERE key = ?1",
        params![run],
        |row| row.get(0),
    )
}

/// Updates the totals in the row of a run.
pub(crate) fn update_run(
    session: &dyn SqlSession,
    run: i64,
    totals: &RunTotals,
) -> Result<(), QueryError> {
    session
        // The status is overwritten by `NULL` while the run is open: a resumed run must not look ended.
        .execute("UPDATE runs SET done = ?2, calls = ?3, duration_ns = ?4, status = ?5, steps = coalesce(?6, steps)
             WHERE key = ?1", params![
            run,
            totals.done,
            totals.calls,
            totals.last_ns,
            totals.state.and_then(RunState::keyword),
            totals.steps
        ])?;
    Ok(())
}

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
