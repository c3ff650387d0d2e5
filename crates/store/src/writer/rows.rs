//! The statements that write entries and run totals.

use rusqlite::{Connection, params};

use crate::error::QueryError;
use crate::format::{EntryBatch, RunTotals};
use crate::run::RunState;

/// Inserts entries of a run, numbered from `from`, and the blobs that they refer to.
pub(crate) fn insert_batch(
    connection: &Connection,
    run: i64,
    from: i64,
    batch: &EntryBatch,
) -> Result<(), QueryError> {
    for blob in &batch.blobs {
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
pub(super) fn run_exists(connection: &Connection, run: i64) -> Result<bool, QueryError> {
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
