//! The writer thread: all writes pass through it, and queued journal entries share a transaction.
//!
//! See [the design](https://github.com/planwright/planwright/blob/main/docs/design/store.md#sqlite-with-one-writer-thread).

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use planwright_engine::JournalError;
use planwright_engine::RunId;
use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::error::{FileProblem, QueryError, StoreError};
use crate::file::StoreFile;
use crate::run::Lease;
use crate::run::entries::{EntryBatch, RunTotals, insert_batch, run_exists, update_run};
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
    /// The row id of the run.
    pub(crate) run: i64,
    /// The id of the run.
    pub(crate) id: RunId,
    state: Mutex<JournalPosition>,
    _lease: Lease,
}

/// The number and totals of the entries that a journal has so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct JournalPosition {
    /// The number of the next entry.
    pub(crate) next: i64,
    /// The totals of all entries.
    pub(crate) totals: RunTotals,
    /// The first failure, after which nothing is written.
    pub(crate) failure: Option<JournalError>,
}

impl JournalProgress {
    pub(crate) fn new(run: i64, id: RunId, lease: Lease, state: JournalPosition) -> Self {
        Self {
            run,
            id,
            state: Mutex::new(state),
            _lease: lease,
        }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, JournalPosition> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The file that entries are written to.
#[derive(Clone, Copy)]
struct WriteTarget<'a> {
    /// The path for messages, as the caller named it.
    path: &'a Path,
    file: &'a StoreFile,
    connection: &'a Connection,
}

/// An append request whose entries are encoded.
struct EncodedAppend {
    progress: Arc<JournalProgress>,
    batch: EntryBatch,
    done: oneshot::Sender<Result<(), JournalError>>,
}

/// The maximum number of jobs in one transaction, so that a job does not wait for all that were queued later.
const MAX_GROUP_SIZE: usize = 4096;

/// A change other than an append to a journal.
type Change = Box<dyn FnOnce(&mut Connection) + Send>;

/// A job of the writer thread.
enum Job {
    Append(AppendRequest),
    /// A change that is made after all earlier jobs.
    Change(Change),
    /// A change that is made before queued appends, since it is independent of them.
    UnsyncedChange(Change),
}

/// The handle of the writer thread. When it is dropped, the thread writes everything that is queued and ends.
pub(crate) struct StoreWriter {
    path: PathBuf,
    file: Arc<StoreFile>,
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl StoreWriter {
    pub(crate) fn start(
        path: PathBuf,
        file: Arc<StoreFile>,
        connection: Connection,
    ) -> Result<Self, StoreError> {
        let (sender, receiver) = mpsc::channel();
        let thread = {
            let (path, file) = (path.clone(), Arc::clone(&file));
            thread::Builder::new()
                .name("planwright-store".to_owned())
                .spawn(move || write_until_closed(&path, &file, connection, &receiver))
        };
        let thread = thread.map_err(|error| StoreError::File {
            path: path.clone(),
            trouble: FileProblem::Failed(error.to_string()),
        })?;
        Ok(Self {
            path,
            file,
            jobs: Some(sender),
            thread: Some(thread),
        })
    }

    /// Queues entries. If the thread has died, the sender for their result is dropped.
    pub(crate) fn append(&self, append: AppendRequest) {
        self.send(Job::Append(append));
    }

    /// Makes a change in a transaction, and waits until it is on the disk.
    pub(crate) fn change<T: Send + 'static>(
        &self,
        change: impl FnOnce(&Connection) -> Result<T, QueryError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.with_connection(move |connection| in_transaction(connection, change))
    }

    /// Makes a change in a transaction, and waits until it survives a crash of this process. A crash of the machine may undo it
    /// until a later synced change, which reaches the disk after it. Entries that were queued before may be written after it.
    pub(crate) fn change_unsynced<T: Send + 'static>(
        &self,
        change: impl FnOnce(&Connection) -> Result<T, QueryError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.submit(Job::UnsyncedChange, move |connection| {
            connection.execute_batch("PRAGMA synchronous = NORMAL")?;
            let result = in_transaction(connection, change);
            // `synchronous` cannot be changed within a transaction; here none is open.
            connection.execute_batch("PRAGMA synchronous = FULL")?;
            result
        })
    }

    /// Runs `work` outside of any transaction, and waits for its result.
    pub(crate) fn with_connection<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, QueryError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.submit(Job::Change, work)
    }

    fn submit<T: Send + 'static>(
        &self,
        job: fn(Change) -> Job,
        work: impl FnOnce(&mut Connection) -> Result<T, QueryError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (sender, receiver) = mpsc::sync_channel(1);
        let file = Arc::clone(&self.file);
        self.send(job(Box::new(move |connection| {
            // Otherwise a change to a removed file would be lost silently.
            let in_place = file.check_in_place();
            // A send fails if the caller has stopped waiting.
            let _ = sender.send(in_place.and_then(|()| work(connection)));
        })));
        match receiver.recv() {
            Ok(result) => result.map_err(|error| error.at(&self.path)),
            Err(_) => Err(StoreError::File {
                path: self.path.clone(),
                trouble: FileProblem::Failed("its writer has stopped".to_owned()),
            }),
        }
    }

    fn send(&self, job: Job) {
        if let Some(jobs) = &self.jobs {
            // Callers notice a dead thread when the channel of their result closes.
            let _ = jobs.send(job);
        }
    }
}

impl Drop for StoreWriter {
    fn drop(&mut self) {
        // The thread ends when the queue is closed and empty.
        drop(self.jobs.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for StoreWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreWriter")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

/// Writes the queued entries, and sends the results.
fn write_group(to: &WriteTarget<'_>, group: &mut Vec<AppendRequest>) {
    let mut ready = Vec::with_capacity(group.len());
    for append in group.drain(..) {
        match append.batch {
            Err(reason) => {
                // Earlier entries of the same run must be written before it fails.
                commit_or_split(to, std::mem::take(&mut ready));
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
    commit_or_split(to, ready);
}

/// Writes `group` in one transaction. If it fails for a reason that one request may have, each request gets its own transaction.
fn commit_or_split(to: &WriteTarget<'_>, group: Vec<EncodedAppend>) {
    let group: Vec<EncodedAppend> = group.into_iter().filter_map(refuse_if_failed).collect();
    if group.is_empty() {
        return;
    }
    match insert_in_transaction(to, &group) {
        Ok(()) => {
            // The leases are dropped before the results are sent: a receiver may lease the run again at once.
            let waiting: Vec<_> = group.into_iter().map(|append| append.done).collect();
            for done in waiting {
                let _ = done.send(Ok(()));
            }
        }
        Err(error) if error.is_local() && 1 < group.len() => {
            // One run's large output may not fit, for example. The other runs must not fail with it.
            for append in group {
                commit_or_split(to, vec![append]);
            }
        }
        Err(error) => {
            let error = JournalError::new(error.at(to.path).to_string());
            for append in group {
                let mut state = append.progress.state();
                state.failure.get_or_insert_with(|| error.clone());
                drop(state);
                let _ = append.done.send(Err(error.clone()));
            }
        }
    }
}

/// Refuses entries of a journal that has failed before: a journal has no gaps.
fn refuse_if_failed(append: EncodedAppend) -> Option<EncodedAppend> {
    let failure = append.progress.state().failure.clone();
    match failure {
        None => Some(append),
        Some(error) => {
            let _ = append.done.send(Err(error));
            None
        }
    }
}

/// Inserts all entries in one transaction, or none.
fn insert_in_transaction(to: &WriteTarget<'_>, group: &[EncodedAppend]) -> Result<(), QueryError> {
    let connection = to.connection;
    // Takes the write lock at once: a transaction that upgrades its lock later can fail halfway.
    connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
    let mut before = Vec::with_capacity(group.len());
    // The check is a part of the transaction: a commit to a file that was removed meanwhile would succeed and be lost.
    let result = to
        .file
        .check_in_place()
        .and_then(|()| insert_entries(connection, group, &mut before))
        .and_then(|()| {
            connection.prepare_cached("COMMIT")?.execute([])?;
            Ok(())
        });
    if result.is_err() {
        // In reverse order: a run may have several requests in the group, and its first state must win.
        for (append, state) in group.iter().zip(before).rev() {
            *append.progress.state() = state;
        }
        // SQLite rolls back by itself after some failures.
        if !connection.is_autocommit() {
            let _ = connection.execute_batch("ROLLBACK");
        }
    }
    result
}

fn insert_entries(
    connection: &Connection,
    group: &[EncodedAppend],
    before: &mut Vec<JournalPosition>,
) -> Result<(), QueryError> {
    for append in group {
        let (run, batch) = (append.progress.run, &append.batch);
        let mut state = append.progress.state();
        before.push(state.clone());
        let id = || append.progress.id.clone();
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
        if batch.totals.state.is_some() || batch.totals.steps.is_some() {
            update_run(connection, run, &state.totals)?;
        }
    }
    Ok(())
}

fn in_transaction<T>(
    connection: &mut Connection,
    change: impl FnOnce(&Connection) -> Result<T, QueryError>,
) -> Result<T, QueryError> {
    let transaction =
        connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let result = change(&transaction)?;
    transaction.commit()?;
    Ok(result)
}

/// Runs the jobs until the queue is closed.
fn write_until_closed(
    path: &Path,
    file: &StoreFile,
    mut connection: Connection,
    jobs: &Receiver<Job>,
) {
    let mut group = Vec::new();
    while let Ok(first) = jobs.recv() {
        // All jobs that were queued while the disk was busy share the next commit: waiting for the disk costs far more than the rows.
        for job in std::iter::once(first).chain(jobs.try_iter().take(MAX_GROUP_SIZE)) {
            match job {
                Job::Append(append) => group.push(append),
                Job::Change(change) => {
                    write_group(
                        &WriteTarget {
                            path,
                            file,
                            connection: &connection,
                        },
                        &mut group,
                    );
                    change(&mut connection);
                }
                // Without flushing the group: it waits for no disk, and the entries still share one commit.
                Job::UnsyncedChange(change) => change(&mut connection),
            }
        }
        write_group(
            &WriteTarget {
                path,
                file,
                connection: &connection,
            },
            &mut group,
        );
    }
}
