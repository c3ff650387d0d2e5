//! Group commit: entries of all runs in one transaction, and what becomes of them when it fails.

use std::path::Path;
use std::sync::Arc;

use futures::channel::oneshot;
use planwright_engine::JournalError;
use rusqlite::{Connection, params};

use super::progress::{Progress, State};
use crate::error::Fault;
use crate::format::Batch;
use crate::run::Standing;

/// Entries of one run that are to be kept.
#[derive(Debug)]
pub(crate) struct Append {
    pub(crate) progress: Arc<Progress>,
    /// The entries, unless there is no way to write them down.
    pub(crate) batch: Result<Batch, String>,
    /// Who waits for them.
    pub(crate) done: oneshot::Sender<Result<(), JournalError>>,
}

/// Writes what waits, and tells those who wait for it.
pub(super) fn write(path: &Path, connection: &Connection, group: &mut Vec<Append>) {
    let mut ready = Vec::with_capacity(group.len());
    for append in group.drain(..) {
        match append.batch {
            Err(reason) => {
                // What was handed over before it is kept.
                commit(path, connection, std::mem::take(&mut ready));
                let error = JournalError::new(reason);
                append.progress.state().failure.get_or_insert(error.clone());
                let _ = append.done.send(Err(error));
            }
            Ok(batch) => ready.push(Ready {
                progress: append.progress,
                batch,
                done: append.done,
            }),
        }
    }
    commit(path, connection, ready);
}

/// Entries that can be written.
struct Ready {
    progress: Arc<Progress>,
    batch: Batch,
    done: oneshot::Sender<Result<(), JournalError>>,
}

/// Writes `group` in one transaction. Where that fails for a reason that may lie in a part of it, each part is tried alone.
fn commit(path: &Path, connection: &Connection, group: Vec<Ready>) {
    let group: Vec<Ready> = group.into_iter().filter_map(unless_failed).collect();
    if group.is_empty() {
        return;
    }
    match insert(connection, &group) {
        Ok(()) => {
            // Whoever hears of it may hold the run anew at once.
            let waiting: Vec<_> = group.into_iter().map(|ready| ready.done).collect();
            for done in waiting {
                let _ = done.send(Ok(()));
            }
        }
        Err(fault) if fault.is_local() && 1 < group.len() => {
            for ready in group {
                commit(path, connection, vec![ready]);
            }
        }
        Err(fault) => {
            let error = JournalError::new(fault.of(path).to_string());
            for ready in group {
                let mut state = ready.progress.state();
                state.failure.get_or_insert_with(|| error.clone());
                drop(state);
                let _ = ready.done.send(Err(error.clone()));
            }
        }
    }
}

/// Nothing is kept behind a gap.
fn unless_failed(ready: Ready) -> Option<Ready> {
    let failure = ready.progress.state().failure.clone();
    match failure {
        None => Some(ready),
        Some(error) => {
            let _ = ready.done.send(Err(error));
            None
        }
    }
}

/// All or nothing.
fn insert(connection: &Connection, group: &[Ready]) -> Result<(), Fault> {
    connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
    let mut before = Vec::with_capacity(group.len());
    let result = insert_all(connection, group, &mut before).and_then(|()| {
        connection.prepare_cached("COMMIT")?.execute([])?;
        Ok(())
    });
    if result.is_err() {
        for (ready, state) in group.iter().zip(before).rev() {
            *ready.progress.state() = state;
        }
        // After some failures SQLite has rolled back of its own accord.
        if !connection.is_autocommit() {
            let _ = connection.execute_batch("ROLLBACK");
        }
    }
    result
}

fn insert_all(
    connection: &Connection,
    group: &[Ready],
    before: &mut Vec<State>,
) -> Result<(), Fault> {
    let mut entry = connection.prepare_cached(
        "INSERT INTO entries (run, number, at_ns, turn, kind, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    for Ready {
        progress, batch, ..
    } in group
    {
        let mut state = progress.state();
        before.push(state.clone());
        for blob in &batch.blobs {
            connection
                .prepare_cached("INSERT OR IGNORE INTO blobs (digest, json) VALUES (?1, ?2)")?
                .execute(params![blob.digest.0, blob.json])?;
            connection
                .prepare_cached("INSERT OR IGNORE INTO uses (run, digest) VALUES (?1, ?2)")?
                .execute(params![progress.run, blob.digest.0])?;
        }
        for row in &batch.rows {
            entry.execute(params![
                progress.run,
                state.next,
                row.at_ns,
                row.turn,
                row.kind,
                row.body
            ])?;
            state.next += 1;
        }
        state.tally = state.tally.then(batch.tally);
        if batch.tally.standing.is_some() || batch.tally.steps.is_some() {
            update_run(connection, progress.run, &state)?;
        }
    }
    Ok(())
}

/// Brings up to date what is known of the run as a whole. Only where it begins, grows or ends: to do so with each
/// entry would write one more page with each commit.
fn update_run(connection: &Connection, run: i64, state: &State) -> Result<(), Fault> {
    let tally = &state.tally;
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
