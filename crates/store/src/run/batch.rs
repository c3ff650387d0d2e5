//! Batches of encoded journal entries, with their checksums and totals, and the statements that write them.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use planwright_core::Value;
use planwright_engine::journal::{Entry, Record};
use planwright_engine::{RunStatus, StepStatus};
use planwright_format::duration_nanos;
use planwright_format::journal::{Blob, BlobLoader, decode_record, encode_record};
use sha2::{Digest as _, Sha256};

use super::info::count_entries;
use crate::database::{QueryError, SqlSession, SqlStatement, SqlValue, ToSql, params};
use crate::values::to_i64;

const INSERT_BLOB: &str = "INSERT INTO blobs (digest, json) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
const INSERT_USE: &str = "INSERT INTO uses (run, digest) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
const INSERT_ENTRY: &str = "INSERT INTO entries (run, number, at_ns, turn, kind, body, checksum) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
const UPDATE_RUN: &str =
    "UPDATE runs SET done = ?2, calls = ?3, duration_ns = ?4, status = ?5, steps = coalesce(?6, steps)
     WHERE key = ?1";
/// Finds a row if the next entry of the run `?1` has the number `?2`.
const IS_AT: &str = "SELECT key FROM runs WHERE key = ?1
     AND (SELECT coalesce(max(number) + 1, 0) FROM entries WHERE run = ?1) = ?2";

/// An encoded entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EntryRow {
    pub(crate) at_ns: i64,
    pub(crate) turn: i64,
    pub(crate) kind: String,
    pub(crate) body: String,
}

impl EntryRow {
    /// Returns the parameters of [`INSERT_ENTRY`].
    fn params(&self, run: i64, number: i64) -> Vec<SqlValue<'_>> {
        vec![
            SqlValue::Integer(run),
            SqlValue::Integer(number),
            self.at_ns.to_sql(),
            self.turn.to_sql(),
            self.kind.to_sql(),
            self.body.to_sql(),
            SqlValue::Integer(self.checksum(run, number)),
        ]
    }

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
    pub(crate) fn checksum(&self, run: i64, number: i64) -> i64 {
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
    /// Returns true if the row of the run has to be updated. To do that with each commit would write one more page each time; readers
    /// count the entries of a run in progress instead.
    pub(crate) fn changes_run(&self) -> bool {
        self.totals.state.is_some() || self.totals.steps.is_some()
    }

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
    /// The number of processes that have driven the run.
    pub(crate) processes: i64,
    /// The number of times that a step has ended. In a run of one process, each step ends once.
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
                self.processes += 1;
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
            processes: self.processes + later.processes,
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
        INSERT_BLOB,
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
    for blob in &batch.blobs {
        session.execute(INSERT_USE, params![run, blob.digest.0])?;
    }
    session.execute_each(
        INSERT_ENTRY,
        &mut (from..)
            .zip(&batch.rows)
            .map(|(number, row)| row.params(run, number)),
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
    // The steps of a run that was resumed may have ended before, too.
    let done = match totals.processes {
        ..=1 => totals.done,
        2.. => to_i64(count_entries(session, run)?.done),
    };
    session.execute(UPDATE_RUN, &update_params(run, done, totals))?;
    Ok(())
}

fn update_params(run: i64, done: i64, totals: &RunTotals) -> Vec<SqlValue<'static>> {
    let status = totals.state.and_then(RunState::keyword);
    vec![
        SqlValue::Integer(run),
        SqlValue::Integer(done),
        SqlValue::Integer(totals.calls),
        SqlValue::Integer(totals.last_ns),
        status.map_or(SqlValue::Null, |status| SqlValue::Text(status.into())),
        totals.steps.map_or(SqlValue::Null, SqlValue::Integer),
    ]
}

/// The statements that append batches to journals, for a database that executes a whole transaction at once. Those with the same text are
/// neighbours, so that the database can combine them.
#[derive(Debug, Default)]
pub(crate) struct AppendStatements<'a> {
    blobs: BTreeMap<&'a [u8; 32], &'a str>,
    /// The runs whose lease and position the statements check.
    checked: HashSet<i64>,
    leases: Vec<SqlStatement<'a>>,
    positions: Vec<SqlStatement<'a>>,
    uses: Vec<SqlStatement<'a>>,
    entries: Vec<SqlStatement<'a>>,
    updates: Vec<SqlStatement<'a>>,
}

impl<'a> AppendStatements<'a> {
    /// Adds a batch of the run with this key, whose entries are numbered from `from`. `lease` finds a row while the run is leased.
    pub(crate) fn add(
        &mut self,
        run: i64,
        from: i64,
        batch: &'a EntryBatch,
        lease: SqlStatement<'a>,
    ) {
        if self.checked.insert(run) {
            let position = vec![SqlValue::Integer(run), SqlValue::Integer(from)];
            self.leases.push(lease);
            self.positions.push(SqlStatement::required(IS_AT, position));
        }
        for blob in &batch.blobs {
            self.blobs.insert(&blob.digest.0, &blob.json);
            let digest = SqlValue::Bytes(blob.digest.0.as_slice().into());
            let params = vec![SqlValue::Integer(run), digest];
            self.uses.push(SqlStatement::insertion(INSERT_USE, params));
        }
        for (number, row) in (from..).zip(&batch.rows) {
            let params = row.params(run, number);
            self.entries
                .push(SqlStatement::insertion(INSERT_ENTRY, params));
        }
    }

    /// Adds the update of a run that one process has driven from its beginning.
    pub(crate) fn update_run(&mut self, run: i64, totals: &RunTotals) {
        let params = update_params(run, totals.done, totals);
        self.updates.push(SqlStatement::new(UPDATE_RUN, params));
    }

    /// Returns the statements: the checks come before what they protect.
    pub(crate) fn finish(self) -> Vec<SqlStatement<'a>> {
        let blobs = self.blobs.into_iter().map(|(digest, json)| {
            let digest = SqlValue::Bytes(digest.as_slice().into());
            let params = vec![digest, SqlValue::Text(json.into())];
            SqlStatement::insertion(INSERT_BLOB, params)
        });
        let parts = [
            self.leases,
            self.positions,
            self.uses,
            self.entries,
            self.updates,
        ];
        blobs.chain(parts.into_iter().flatten()).collect()
    }
}
