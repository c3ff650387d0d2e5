//! Group commit: entries of all runs in one transaction, and what becomes of them when it fails.

use std::path::Path;
use std::sync::Arc;

use futures::channel::oneshot;
use planwright_engine::JournalError;
use rusqlite::Connection;

use super::progress::{Progress, State};
use super::rows::{insert_batch, is_there, update_run};
use crate::error::{Fault, StoreError};
use crate::file::StoreFile;
use crate::format::Batch;

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
pub(super) fn write(to: &Target<'_>, group: &mut Vec<Append>) {
    let mut ready = Vec::with_capacity(group.len());
    for append in group.drain(..) {
        match append.batch {
            Err(reason) => {
                // What was handed over before it is kept.
                commit(to, std::mem::take(&mut ready));
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
    commit(to, ready);
}

/// Where it is written to.
#[derive(Clone, Copy)]
pub(super) struct Target<'a> {
    /// The store as it was named.
    pub(super) path: &'a Path,
    pub(super) file: &'a StoreFile,
    pub(super) connection: &'a Connection,
}

/// Entries that can be written.
struct Ready {
    progress: Arc<Progress>,
    batch: Batch,
    done: oneshot::Sender<Result<(), JournalError>>,
}

/// Writes `group` in one transaction. Where that fails for a reason that may lie in a part of it, each part is tried alone.
fn commit(to: &Target<'_>, group: Vec<Ready>) {
    let group: Vec<Ready> = group.into_iter().filter_map(unless_failed).collect();
    if group.is_empty() {
        return;
    }
    match insert(to, &group) {
        Ok(()) => {
            // Whoever hears of it may hold the run anew at once.
            let waiting: Vec<_> = group.into_iter().map(|ready| ready.done).collect();
            for done in waiting {
                let _ = done.send(Ok(()));
            }
        }
        Err(fault) if fault.is_local() && 1 < group.len() => {
            for ready in group {
                commit(to, vec![ready]);
            }
        }
        Err(fault) => {
            let error = JournalError::new(fault.of(to.path).to_string());
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
fn insert(to: &Target<'_>, group: &[Ready]) -> Result<(), Fault> {
    let connection = to.connection;
    connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
    let mut before = Vec::with_capacity(group.len());
    let result = to
        .file
        .check_in_place()
        .and_then(|()| insert_all(connection, group, &mut before))
        .and_then(|()| {
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
    for ready in group {
        let (run, batch) = (ready.progress.run, &ready.batch);
        let mut state = ready.progress.state();
        before.push(state.clone());
        let id = || ready.progress.id.clone();
        // Whatever became of the lease: what is written about a run is found with it, and follows what was there.
        if !is_there(connection, run)? {
            return Err(Fault::Store(StoreError::Removed { run: id() }));
        }
        insert_batch(connection, run, state.next, batch).map_err(|fault| {
            if fault.is_conflict() {
                Fault::Store(StoreError::Overtaken { run: id() })
            } else {
                fault
            }
        })?;
        state.next += i64::try_from(batch.rows.len()).unwrap_or(i64::MAX);
        state.tally = state.tally.then(batch.tally);
        // Only where the run begins, grows or ends: to do so each time would write one more page with each commit.
        if batch.tally.standing.is_some() || batch.tally.steps.is_some() {
            update_run(connection, run, &state.tally)?;
        }
    }
    Ok(())
}
