//! The writer thread: all writes pass through it, and queued journal entries share a transaction.
//!
//! See [the design](https://github.com/planwright/planwright/blob/main/docs/design/store.md#sqlite-with-one-writer-thread).

use std::fmt;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use planwright_engine::JournalError;
use planwright_engine::RunId;
use tokio::sync::oneshot;

use crate::database::{
    Connection, Database, QueryError, RunLease, Session, TransactionKind, in_transaction,
};
use crate::error::StoreError;
use crate::run::entries::{EntryBatch, RunTotals, has_batch, insert_batch, run_exists, update_run};
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
    lease: Box<dyn RunLease>,
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
    pub(crate) fn new(
        run: i64,
        id: RunId,
        lease: Box<dyn RunLease>,
        state: JournalPosition,
    ) -> Self {
        Self {
            run,
            id,
            state: Mutex::new(state),
            lease,
        }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, JournalPosition> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The database that entries are written to.
struct WriteTarget<'a> {
    database: &'a dyn Database,
    connection: &'a mut dyn Connection,
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
type Change = Box<dyn FnOnce(&mut dyn Connection) + Send>;

/// The number of times that entries are written again after the connection to the database was lost.
const MAX_RETRIES: u32 = 100;
/// The pause between two attempts.
const RETRY_PAUSE: Duration = Duration::from_millis(50);

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
    database: Arc<dyn Database>,
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl StoreWriter {
    pub(crate) fn start(
        database: Arc<dyn Database>,
        connection: Box<dyn Connection>,
    ) -> Result<Self, StoreError> {
        let (sender, receiver) = mpsc::channel();
        let thread = {
            let database = Arc::clone(&database);
            thread::Builder::new()
                .name("planwright-store".to_owned())
                .spawn(move || write_until_closed(&*database, connection, &receiver))
        };
        let thread = thread
            .map_err(|error| QueryError::failed(error.to_string()).at(database.location()))?;
        Ok(Self {
            database,
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
        change: impl FnOnce(&dyn Session) -> Result<T, QueryError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.with_connection(move |connection| {
            in_transaction(connection, TransactionKind::Write, change)
        })
    }

    /// Makes a change in a transaction, and waits until it survives a crash of this process. A crash of the machine may undo it
    /// until a later synced change, which reaches the disk after it. Entries that were queued before may be written after it.
    pub(crate) fn change_unsynced<T: Send + 'static>(
        &self,
        change: impl FnOnce(&dyn Session) -> Result<T, QueryError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.submit(Job::UnsyncedChange, move |connection| {
            connection.set_synced(false)?;
            let result = in_transaction(connection, TransactionKind::Write, change);
            connection.set_synced(true)?;
            result
        })
    }

    /// Runs `work` outside of any transaction, and waits for its result.
    pub(crate) fn with_connection<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut dyn Connection) -> Result<T, QueryError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.submit(Job::Change, work)
    }

    fn submit<T: Send + 'static>(
        &self,
        job: fn(Change) -> Job,
        work: impl FnOnce(&mut dyn Connection) -> Result<T, QueryError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (sender, receiver) = mpsc::sync_channel(1);
        let database = Arc::clone(&self.database);
        self.send(job(Box::new(move |connection| {
            // Otherwise a change to a removed file would be lost silently.
            let in_place = database.check_in_place();
            // A send fails if the caller has stopped waiting.
            let _ = sender.send(in_place.and_then(|()| work(connection)));
        })));
        let result = receiver
            .recv()
            .unwrap_or_else(|_| Err(QueryError::failed("its writer has stopped")));
        result.map_err(|error| error.at(self.database.location()))
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
            .field("database", &self.database)
            .finish_non_exhaustive()
    }
}

/// Writes the queued entries, and sends the results.
fn write_group(to: &mut WriteTarget<'_>, group: &mut Vec<AppendRequest>) {
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
fn commit_or_split(to: &mut WriteTarget<'_>, group: Vec<EncodedAppend>) {
    let group: Vec<EncodedAppend> = group.into_iter().filter_map(refuse_if_failed).collect();
    if group.is_empty() {
        return;
    }
    match insert_repeatedly(to, &group) {
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
            let error = JournalError::new(error.at(to.database.location()).to_string());
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

/// Inserts all entries in one transaction, which is repeated if the connection is lost.
fn insert_repeatedly(to: &mut WriteTarget<'_>, group: &[EncodedAppend]) -> Result<(), QueryError> {
    let mut result = insert_in_transaction(to, group, Attempt::First);
    for _ in 0..MAX_RETRIES {
        match result {
            Err(error) if error.is_transient() => {
                // A database that cannot be reached is waited for when the next transaction begins.
                thread::sleep(RETRY_PAUSE);
                result = insert_in_transaction(to, group, Attempt::Repeated);
            }
            other => return other,
        }
    }
    result
}

/// An attempt to insert entries.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Attempt {
    First,
    /// The connection was lost before, perhaps after the commit.
    Repeated,
}

/// Inserts all entries in one transaction, or none.
fn insert_in_transaction(
    to: &mut WriteTarget<'_>,
    group: &[EncodedAppend],
    attempt: Attempt,
) -> Result<(), QueryError> {
    let mut before = Vec::with_capacity(group.len());
    let database = to.database;
    let result = in_transaction(to.connection, TransactionKind::Append, |session| {
        // The check is a part of the transaction: a commit to a file that was removed meanwhile would succeed and be lost.
        database.check_in_place()?;
        insert_entries(session, group, attempt, &mut before)
    });
    if result.is_err() {
        // In reverse order: a run may have several requests in the group, and its first state must win.
        for (append, state) in group.iter().zip(before).rev() {
            *append.progress.state() = state;
        }
    }
    result
}

fn insert_entries(
    session: &dyn Session,
    group: &[EncodedAppend],
    attempt: Attempt,
    before: &mut Vec<JournalPosition>,
) -> Result<(), QueryError> {
    for append in group {
        let (run, batch) = (append.progress.run, &append.batch);
        let mut state = append.progress.state();
        before.push(state.clone());
        let id = || append.progress.id.clone();
        append.progress.lease.verify(session)?;
        // The lease may be lost, for example on a file system without locks. These checks keep the journal consistent anyway.
        if !run_exists(session, run)? {
            return Err(QueryError::Store(StoreError::Removed { run: id() }));
        }
        if attempt == Attempt::First || !has_batch(session, run, state.next, batch)? {
            insert_batch(session, run, state.next, batch).map_err(|error| {
                if error.is_conflict() {
                    QueryError::Store(StoreError::Superseded { run: id() })
                } else {
                    error
                }
            })?;
        }
        state.next += to_i64(batch.rows.len());
        state.totals = state.totals.then(batch.totals);
        // Not with each commit, which would write one more page each time: readers count the entries of a run in progress.
        if batch.totals.state.is_some() || batch.totals.steps.is_some() {
            update_run(session, run, &state.totals)?;
        }
    }
    Ok(())
}

/// Runs the jobs until the queue is closed.
fn write_until_closed(
    database: &dyn Database,
    mut connection: Box<dyn Connection>,
    jobs: &Receiver<Job>,
) {
    let mut to = WriteTarget {
        database,
        connection: &mut *connection,
    };
    let mut group = Vec::new();
    while let Ok(first) = jobs.recv() {
        // All jobs that were queued while the disk was busy share the next commit: waiting for the disk costs far more than the rows.
        for job in std::iter::once(first).chain(jobs.try_iter().take(MAX_GROUP_SIZE)) {
            match job {
                Job::Append(append) => group.push(append),
                Job::Change(change) => {
                    write_group(&mut to, &mut group);
                    change(to.connection);
                }
                // Without flushing the group: it waits for no disk, and the entries still share one commit.
                Job::UnsyncedChange(change) => change(to.connection),
            }
        }
        write_group(&mut to, &mut group);
    }
}
