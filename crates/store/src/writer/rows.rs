//! What entries come to in the tables.

use rusqlite::{Connection, params};

use crate::error::Fault;
use crate::format::{Batch, Tally};
use crate::run::Standing;

/// Adds entries to a run, the first of them with the number `from`, and the large values that they speak of.
pub(crate) fn insert_batch(
    connection: &Connection,
    run: i64,
    from: i64,
    batch: &Batch,
) -> Result<(), Fault> {
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

/// Whether the run is in the store.
pub(super) fn is_there(connection: &Connection, run: i64) -> Result<bool, Fault> {
    Ok(connection
        .prepare_cached("SELECT 1 FROM runs WHERE key = ?1")?
        .exists([run])?)
}

/// Brings up to date what is known of a run as a whole.
pub(crate) fn update_run(connection: &Connection, run: i64, tally: &Tally) -> Result<(), Fault> {
    connection
        .prepare_cached(
            "UPDATE runs SET done = ?2, calls = ?3, duration_ns = ?4, status = ?5, steps = coalesce(?6, steps)
             WHERE key = ?1",
        )?
        .execute(params![
            run,
            tally.done,
            tally.calls,
            tally.last_ns,
            tally.standing.and_then(Standing::word),
            tally.steps
        ])?;
    Ok(())
}
