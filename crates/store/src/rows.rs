//! Rows of the table `entries`: batches of encoded entries, their checksums and totals, and the statements that write them.

use std::time::Duration;

use planwright_core::Value;
use planwright_engine::journal::{Entry, Record};
use planwright_engine::{RunStatus, StepStatus};
use planwright_format::duration_nanos;
use planwright_format::journal::{Blob, BlobLoader, decode_record, encode_record};
use rusqlite::{Connection, params};
use sha2::{Digest as _, Sha256};

use crate::error::QueryError;
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

    /// The checksum of the row as the entry `number` of the run with the key `run`: the first eight bytes of the SHA-256 over all
    /// columns. It detects damage, not forgery: a program that writes into the store can write checksums as well.
    pub(crate) fn checksum(&self, run: i64, number: i64) -> i64 {
        let mut hash = Sha256::new();
        for number in [run, number, self.at_ns, self.turn] {
            hash.update(number.to_le_bytes());
        }
        hash.update(self.kind.as_bytes());
        // No kind has a zero byte, so no two rows have the same bytes.
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
    pub(crate) standing: Option<RunState>,
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
                self.standing = Some(RunState::Open);
                // A process may resume the run with another plan than it began with.
                let steps = header.get("steps").and_then(Value::as_u64);
                self.steps = steps
                    .and_then(|steps| i64::try_from(steps).ok())
                    .or(self.steps);
            }
            Record::Ended { status } => self.standing = Some(RunState::Ended(*status)),
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
            standing: later.standing.or(self.standing),
        }
    }
}

/// Inserts entries of a run, numbered from `from`, and the blobs that they refer to.
pub(crate) fn insert_batch(
    connection: &Connection,
    run: i64,
    from: i64,
    batch: &EntryBatch,
) -> Result<(), QueryError> {
    for blob in &batch.blobs {
        // Other entries, also of other runs, may have stored the same value already.
        connection
            .prepare_cached(
                "INSERT INTO blobs (digest, json) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
            )?
            .execute(params![blob.digest.0, blob.json])?;
        connection
            .prepare_cached(
                "INSERT INTO uses (run, digest) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
            )?
            .execute(params![run, blob.digest.0])?;
    }
    let mut entry = connection.prepare_cached(
        "INSERT INTO entries (run, number, at_ns, turn, kind, body, checksum) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?;
    for (number, row) in (from..).zip(&batch.rows) {
        entry.execute(params![
            run,
            number,
            row.at_ns,
            row.turn,
            row.kind,
            row.body,
            row.checksum(run, number)
        ])?;
    }
    Ok(())
}

/// Returns true if the run is in the store.
pub(crate) fn run_exists(connection: &Connection, run: i64) -> Result<bool, QueryError> {
    Ok(connection
        .prepare_cached("SELECT 1 FROM runs WHERE key = ?1")?
        .exists([run])?)
}

/// Updates the totals in the row of a run.
pub(crate) fn update_run(
    connection: &Connection,
    run: i64,
    totals: &RunTotals,
) -> Result<(), QueryError> {
    connection
        .prepare_cached(
            "UPDATE runs SET done = ?2, calls = ?3, duration_ns = ?4, status = ?5, steps = coalesce(?6, steps)
             WHERE key = ?1",
        )?
        .execute(params![
            run,
            totals.done,
            totals.calls,
            totals.last_ns,
            totals.standing.and_then(RunState::keyword),
            totals.steps
        ])?;
    Ok(())
}
