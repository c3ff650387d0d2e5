//! Group commit: entries of all runs in one transaction, which is split if it fails.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::channel::oneshot;
use planwright_engine::JournalError;
use rusqlite::Connection;

use crate::error::{QueryError, StoreError};
use crate::file::StoreFile;
use crate::rows::{EntryBatch, RunTotals, insert_batch, run_exists, update_run};
use crate::run::Lease;
use crate::values::to_i64;

/// A request to write entries of one run.
#[derive(Debug)]
pub(crate) struct AppendRequest {
    pub(crate) progress: Arc<JournalProgress>,
    /// The encoded entries, or the reason why they cannot be encoded.
    pub(crate) batch: Result<EntryBatch, String>,
    /// The channel for the result.
    pub(crate) done: oneshot::Sender<Result<(), JournalError>>,
}

/// The progress of a run's journal. It owns the lease, so the run stays leased as long as an entry of it may still be written.
#[derive(Debug)]
pub(crate) struct JournalProgress {
    /// The key of the run.
    pub(crate) run: i64,
    /// The id of the run.
    pub(crate) id: String,
    state: Mutex<BatchState>,
    _lease: Lease,
}

/// The state of a journal, which changes with each entry.
#[derive(Clone, Debug, Default)]
pub(crate) struct BatchState {
    /// The number of the next entry.
    pub(crate) next: i64,
    /// The totals of all entries.
    pub(crate) totals: RunTotals,
    /// The first failure, after which nothing is written.
    pub(crate) failure: Option<JournalError>,
}

impl JournalProgress {
    pub(crate) fn new(run: i64, id: String, lease: Lease, state: BatchState) -> Self {
        Self {
            run,
            id,
            state: Mutex::new(state),
            _lease: lease,
        }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, BatchState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes the queued entries, and sends the results.
pub(super) fn write(to: &WriteTarget<'_>, group: &mut Vec<AppendRequest>) {
    let mut ready = Vec::with_capacity(group.len());
    for append in group.drain(..) {
        match append.batch {
            Err(reason) => {
                // Earlier entries of the same run must be written before it fails.
                commit(to, std::mem::take(&mut ready));
                let error = JournalError::new(reason);
                append.progress.state().failure.get_or_insert(error.clone());
                let _ = append.done.send(Err(error));
            }
            Ok(batch) => ready.push(EncodedAppend {
                progress: append.progress,
                batch,
                done: append.done,
            }),
        }
    }
    commit(to, ready);
}

/// The file that entries are written to.
#[derive(Clone, Copy)]
pub(super) struct WriteTarget<'a> {
    /// The path for messages, as the caller named it.
    pub(super) path: &'a Path,
    pub(super) file: &'a StoreFile,
    pub(super) connection: &'a Connection,
}

/// An append request whose entries are encoded.
struct EncodedAppend {
    progress: Arc<JournalProgress>,
    batch: EntryBatch,
    done: oneshot::Sender<Result<(), JournalError>>,
}

/// Writes `group` in one transaction. If that fails and one request may be the reason, each is written in its own.
fn commit(to: &WriteTarget<'_>, group: Vec<EncodedAppend>) {
    let group: Vec<EncodedAppend> = group.into_iter().filter_map(unless_failed).collect();
    if group.is_empty() {
        return;
    }
    match insert(to, &group) {
        Ok(()) => {
            // The leases are dropped before the results are sent: a receiver may lease the run again at once.
            let waiting: Vec<_> = group.into_iter().map(|ready| ready.done).collect();
            for done in waiting {
                let _ = done.send(Ok(()));
            }
        }
        Err(error) if error.is_local() && 1 < group.len() => {
            // One run's large output may not fit, for example. The other runs must not fail with it.
            for ready in group {
                commit(to, vec![ready]);
            }
        }
        Err(error) => {
            let error = JournalError::new(error.at(to.path).to_string());
            for ready in group {
                let mut state = ready.progress.state();
                state.failure.get_or_insert_with(|| error.clone());
                drop(state);
                let _ = ready.done.send(Err(error.clone()));
            }
        }
    }
}

/// Refuses entries of a journal that has failed before: a journal has no gaps.
fn unless_failed(ready: EncodedAppend) -> Option<EncodedAppend> {
    let failure = ready.progress.state().failure.clone();
    match failure {
        None => Some(ready),
        Some(error) => {
            let _ = ready.done.send(Err(error));
            None
        }
    }
}

/// Inserts all entries in one transaction, or none.
fn insert(to: &WriteTarget<'_>, group: &[EncodedAppend]) -> Result<(), QueryError> {
    let connection = to.connection;
    // Takes the write lock at once: a transaction that upgrades its lock later can fail halfway.
    connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
    let mut before = Vec::with_capacity(group.len());
    // The check is a part of the transaction: a commit to a file that was removed meanwhile would succeed and be lost.
    let result = to
        .file
        .check_in_place()
        .and_then(|()| insert_all(connection, group, &mut before))
        .and_then(|()| {
            connection.prepare_cached("COMMIT")?.execute([])?;
            Ok(())
        });
    if result.is_err() {
        // In reverse order: a run may have several requests in the group, and its first state must win.
        for (ready, state) in group.iter().zip(before).rev() {
            *ready.progress.state() = state;
        }
        // SQLite rolls back by itself after some failures.
        if !connection.is_autocommit() {
            let _ = connection.execute_batch("ROLLBACK");
        }
    }
    result
}

fn insert_all(
    connection: &Connection,
    group: &[EncodedAppend],
    before: &mut Vec<BatchState>,
) -> Result<(), QueryError> {
    for ready in group {
        let (run, batch) = (ready.progress.run, &ready.batch);
        let mut state = ready.progress.state();
        before.push(state.clone());
        let id = || ready.progress.id.clone();
        // The lease may be lost, for example on a file system without locks. These checks keep the journal consistent anyway.
        if !run_exists(connection, run)? {
            return Err(QueryError::Store(StoreError::Removed { run: id() }));
        }
        insert_batch(connection, run, state.next, batch).map_err(|error| {
            if error.is_conflict() {
                QueryError::Store(StoreError::Superseded { run: id() })
            } else {
                error
            }
        })?;
        state.next += to_i64(batch.rows.len());
        state.totals = state.totals.then(batch.totals);
        // Not with each commit, which would write one more page each time: readers count the entries of a run in progress.
        if batch.totals.standing.is_some() || batch.totals.steps.is_some() {
            update_run(connection, run, &state.totals)?;
        }
    }
    Ok(())
}
