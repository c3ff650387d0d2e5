//! The writer thread: all writes pass through it, and queued journal entries share a transaction.
//!
//! See [the design](https://github.com/planwright/planwright/blob/main/docs/design/store.md#sqlite-with-one-writer-thread).

use std::cmp::Ordering;
use std::fmt;
use std::sync::atomic::{self, AtomicBool};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use planwright_engine::{JournalError, RunId};
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::database::{
    Database, QueryCause, QueryError, RunLease, SqlSession, SqlStatement, StoreConnection,
    TransactionKind, finish_transaction, in_transaction,
};
use crate::error::StoreError;
use crate::run::batch::{
    AppendStatements, EntryBatch, RunTotals, has_batch, insert_batch, insert_blobs, next_entry,
    update_run,
};
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
    lease: Arc<dyn RunLease>,
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

impl JournalPosition {
    /// Advances behind the entries of `batch`.
    fn advance(&mut self, batch: &EntryBatch) {
        self.next += to_i64(batch.rows.len());
        self.totals = self.totals.then(batch.totals);
    }
}

impl JournalProgress {
    pub(crate) fn new(
        run: i64,
        id: RunId,
        lease: Arc<dyn RunLease>,
        state: JournalPosition,
    ) -> Self {
        Self {
            run,
            id,
            state: Mutex::new(state),
            lease,
        }
    }

    pub(crate) fn lease(&self) -> &Arc<dyn RunLease> {
        &self.lease
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, JournalPosition> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The database that is written to.
struct WriteTarget<'a> {
    database: &'a dyn Database,
    connection: &'a mut dyn StoreConnection,
    /// True once the writer is dropped.
    is_closing: &'a AtomicBool,
}

impl WriteTarget<'_> {
    /// Begins a transaction. It waits for an unreachable database.
    fn begin(&mut self, kind: TransactionKind) -> Result<(), QueryError> {
        let mut deadline = RetryDeadline::new(self);
        loop {
            match self.connection.begin(kind) {
                Err(error) if error.is_transient() && deadline.wait(&error) => {}
                begun => return begun,
            }
        }
    }

    /// Executes statements in one transaction that is not synced.
    fn add_unsynced(&mut self, statements: &[SqlStatement<'_>]) -> Result<(), QueryError> {
        if statements.is_empty() {
            return Ok(());
        }
        self.connection.set_synced(false)?;
        let added = self.add(statements);
        self.connection.set_synced(true)?;
        added
    }

    /// Executes statements in one transaction.
    fn add(&mut self, statements: &[SqlStatement<'_>]) -> Result<(), QueryError> {
        if self.connection.try_append(statements)? {
            return Ok(());
        }
        self.begin(TransactionKind::Append)?;
        finish_transaction(self.connection, |session| {
            let execute = |statement: &SqlStatement<'_>| {
                session.execute(statement.sql, &statement.params).map(drop)
            };
            statements.iter().try_for_each(execute)
        })
    }
}

/// The time that one operation waits for an unreachable database, over all of its attempts.
struct RetryDeadline<'a> {
    deadline: Instant,
    pause: Duration,
    is_closing: &'a AtomicBool,
}

impl<'a> RetryDeadline<'a> {
    fn new(target: &WriteTarget<'a>) -> Self {
        Self {
            deadline: Instant::now() + target.database.write_timeout(),
            pause: MIN_RETRY_PAUSE,
            is_closing: target.is_closing,
        }
    }

    /// Pauses before the next attempt. Returns false if there is none: the time is over, or the writer is dropped.
    fn wait(&mut self, error: &QueryError) -> bool {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() || self.is_closing.load(atomic::Ordering::Acquire) {
            return false;
        }
        // The writer ends the pause when it is dropped.
        thread::park_timeout(self.pause.min(left));
        let next = (self.pause * 2).min(MAX_RETRY_PAUSE);
        if self.pause < MAX_RETRY_PAUSE && next == MAX_RETRY_PAUSE {
            // The wait is more than a short restart, so a person may wonder why the run does not continue.
            tracing::warn!("{error}; waiting for the store");
        }
        self.pause = next;
        !self.is_closing.load(atomic::Ordering::Acquire)
    }
}

/// An append request whose entries are encoded.
struct EncodedAppend {
    progress: Arc<JournalProgress>,
    batch: EntryBatch,
    done: oneshot::Sender<Result<(), JournalError>>,
}

/// The maximum number of jobs in one transaction, so that a job does not wait for all later ones.
const MAX_GROUP_SIZE: usize = 4096;

/// A change other than an append to a journal.
type Change = Box<dyn FnOnce(&mut WriteTarget<'_>) + Send>;

/// The first pause between two attempts to reach the database. It doubles with each attempt.
const MIN_RETRY_PAUSE: Duration = Duration::from_millis(20);
/// The longest pause between two attempts.
const MAX_RETRY_PAUSE: Duration = Duration::from_secs(1);

/// A job of the writer thread.
enum Job {
    Append(AppendRequest),
    /// A change that is made after all earlier jobs.
    Change(Change),
    /// A change that is made before queued appends, since it is independent of them.
    UnsyncedChange(Change),
}

/// The handle of the writer thread. When it is dropped, the thread writes everything that is queued, without waiting for an
/// unreachable database, and ends.
pub(crate) struct StoreWriter {
    database: Arc<dyn Database>,
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
    is_closing: Arc<AtomicBool>,
}

impl StoreWriter {
    pub(crate) fn start(
        database: Arc<dyn Database>,
        mut connection: Box<dyn StoreConnection>,
    ) -> Result<Self, StoreError> {
        let (sender, receiver) = mpsc::channel();
        let is_closing = Arc::<AtomicBool>::default();
        let thread = {
            let (database, is_closing) = (Arc::clone(&database), Arc::clone(&is_closing));
            thread::Builder::new()
                .name("planwright-store".to_owned())
                .spawn(move || {
                    let mut target = WriteTarget {
                        database: &*database,
                        connection: &mut *connection,
                        is_closing: &is_closing,
                    };
                    write_until_closed(&mut target, &receiver);
                })
        };
        let thread = thread
            .map_err(|error| QueryError::failed(error.to_string()).at(database.location()))?;
        Ok(Self {
            database,
            jobs: Some(sender),
            thread: Some(thread),
            is_closing,
        })
    }

    /// Queues entries. If the thread has died, the sender for their result is dropped.
    pub(crate) fn append(&self, append: AppendRequest) {
        self.send(Job::Append(append));
    }

    /// Makes a change in a transaction, and waits until it is on the disk.
    pub(crate) fn change<T: Send + 'static>(
        &self,
        change: impl FnOnce(&dyn SqlSession) -> Result<T, QueryError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.submit(Job::Change, move |to| {
            to.begin(TransactionKind::Write)?;
            finish_transaction(to.connection, change)
        })
    }

    /// Makes a change in a transaction, and waits until it is on the disk, unless `is_dry`: then it is rolled back.
    pub(crate) fn try_change<T: Send + 'static>(
        &self,
        is_dry: bool,
        change: impl FnOnce(&dyn StoreConnection) -> Result<T, QueryError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.submit(Job::Change, move |to| {
            to.begin(TransactionKind::Write)?;
            let mut result = change(&*to.connection);
            if result.is_ok() && !is_dry {
                result = to.connection.commit().and(result);
            }
            if is_dry || result.is_err() {
                to.connection.roll_back();
            }
            result
        })
    }

    /// Makes a change in a transaction, and waits until it survives a crash of this process. A crash of the machine may undo it
    /// until a later synced change, which reaches the disk after it. Entries that were queued before may be written after it.
    pub(crate) fn change_unsynced<T: Send + 'static>(
        &self,
        change: impl FnOnce(&dyn SqlSession) -> Result<T, QueryError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.submit(Job::UnsyncedChange, move |to| {
            to.connection.set_synced(false)?;
            let begun = to.begin(TransactionKind::Write);
            let result = begun.and_then(|()| finish_transaction(to.connection, change));
            to.connection.set_synced(true)?;
            result
        })
    }

    /// Executes the statements that `take` returns, if there are any, as an [unsynced](Self::change_unsynced) change that may overlap with
    /// appends.
    pub(crate) fn add_unsynced(
        &self,
        take: impl FnOnce() -> Vec<SqlStatement<'static>> + Send + 'static,
    ) -> Result<(), StoreError> {
        self.submit(Job::UnsyncedChange, move |to| to.add_unsynced(&take()))
    }

    /// Queues the statements that `take` returns, as [`add_unsynced`](Self::add_unsynced) does, without waiting for them. A failure is logged;
    /// `what` says what is lost then.
    pub(crate) fn queue_unsynced(
        &self,
        what: &'static str,
        take: impl FnOnce() -> Vec<SqlStatement<'static>> + Send + 'static,
    ) {
        self.send(Job::UnsyncedChange(Box::new(move |to| {
            let in_place = to.database.check_in_place();
            // The statements are taken in any case, so that the next ones are queued again.
            let statements = take();
            if let Err(error) = in_place.and_then(|()| to.add_unsynced(&statements)) {
                let error = error.at(to.database.location());
                tracing::warn!("{what} were not recorded: {error}");
            }
        })));
    }

    /// Runs `work` outside of any transaction, and waits for its result.
    pub(crate) fn with_connection<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut dyn StoreConnection) -> Result<T, QueryError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.submit(Job::Change, |to| work(to.connection))
    }

    fn submit<T: Send + 'static>(
        &self,
        job: fn(Change) -> Job,
        work: impl FnOnce(&mut WriteTarget<'_>) -> Result<T, QueryError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (sender, receiver) = mpsc::sync_channel(1);
        self.send(job(Box::new(move |to| {
            // Otherwise a change to a removed file would be lost silently.
            let in_place = to.database.check_in_place();
            // A send fails if the caller has stopped waiting.
            let _ = sender.send(in_place.and_then(|()| work(to)));
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
        self.is_closing.store(true, atomic::Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
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
                commit_or_split(to, std::mem::take(&mut ready), Attempt::First);
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
    commit_or_split(to, ready, Attempt::First);
}

/// Writes `group` in one transaction. If it fails and one request may be the reason, each request gets its own transaction.
fn commit_or_split(to: &mut WriteTarget<'_>, group: Vec<EncodedAppend>, mut attempt: Attempt) {
    let group: Vec<EncodedAppend> = group.into_iter().filter_map(refuse_if_failed).collect();
    if group.is_empty() {
        return;
    }
    match insert_repeatedly(to, &group, &mut attempt) {
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
                commit_or_split(to, vec![append], attempt);
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

/// Inserts all entries in one transaction, which is repeated if the connection is lost. `attempt` is that of the last transaction.
fn insert_repeatedly(
    to: &mut WriteTarget<'_>,
    group: &[EncodedAppend],
    attempt: &mut Attempt,
) -> Result<(), QueryError> {
    let mut deadline = RetryDeadline::new(to);
    loop {
        match insert_in_transaction(to, group, *attempt) {
            Err(error) if error.is_transient() && deadline.wait(&error) => {
                *attempt = Attempt::Repeated;
            }
            result => return result,
        }
    }
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
    // After a lost connection, the entries that are there are compared, which takes several steps.
    if attempt == Attempt::First {
        let appended = match append_statements(group, &mut before) {
            Some(statements) => to.connection.try_append(&statements),
            None => Ok(false),
        };
        if matches!(appended, Ok(true)) {
            return Ok(());
        }
        restore_positions(group, &mut before);
        appended?;
    }
    let database = to.database;
    let result = in_transaction(to.connection, TransactionKind::Append, |session| {
        // The check is a part of the transaction: a commit to a file that was removed meanwhile would succeed and be lost.
        database.check_in_place()?;
        insert_entries(session, group, attempt, &mut before)
    });
    if result.is_err() {
        restore_positions(group, &mut before);
    }
    result
}

/// Resets the journals of `group` to the positions `before` their requests.
fn restore_positions(group: &[EncodedAppend], before: &mut Vec<JournalPosition>) {
    // In reverse order: a run may have several requests in the group, and its first state must win.
    for (append, state) in group.iter().zip(before.drain(..)).rev() {
        *append.progress.state() = state;
    }
}

/// Returns the statements that append `group`, and advances its journals; `None` if the statements depend on what the database contains, or
/// the leases are not rows of it.
fn append_statements<'a>(
    group: &'a [EncodedAppend],
    before: &mut Vec<JournalPosition>,
) -> Option<Vec<SqlStatement<'a>>> {
    let mut statements = AppendStatements::default();
    for append in group {
        let (run, batch) = (append.progress.run, &append.batch);
        let lease = append.progress.lease.query()?;
        let mut state = append.progress.state();
        before.push(state.clone());
        statements.add(run, state.next, batch, lease);
        state.advance(batch);
        if batch.changes_run() {
            // The ended steps of a resumed run are counted in the database.
            if 1 < state.totals.processes {
                return None;
            }
            statements.update_run(run, &state.totals);
        }
    }
    Some(statements.finish())
}

fn insert_entries(
    session: &dyn SqlSession,
    group: &[EncodedAppend],
    attempt: Attempt,
    before: &mut Vec<JournalPosition>,
) -> Result<(), QueryError> {
    insert_blobs(session, group.iter().map(|append| &append.batch))?;
    for append in group {
        let (run, batch) = (append.progress.run, &append.batch);
        let mut state = append.progress.state();
        before.push(state.clone());
        append.progress.lease.verify(session)?;
        if needs_insert(session, append, state.next, attempt)? {
            insert_batch(session, run, state.next, batch)
                .map_err(|error| conflict_error(error, &append.progress.id, attempt))?;
        }
        state.advance(batch);
        if batch.changes_run() {
            update_run(session, run, &state.totals)?;
        }
    }
    Ok(())
}

/// Returns true if the entries of `append`, whose first has the number `next`, have to be inserted, and false if an earlier
/// attempt has committed them. The lease may be lost, for example on a file system without locks; these checks keep the journal
/// consistent anyway.
fn needs_insert(
    session: &dyn SqlSession,
    append: &EncodedAppend,
    next: i64,
    attempt: Attempt,
) -> Result<bool, QueryError> {
    let JournalProgress { run, id, .. } = &*append.progress;
    let stored = next_entry(session, *run)?
        .ok_or_else(|| QueryError::Store(StoreError::Removed { run: id.clone() }))?;
    match stored.cmp(&next) {
        Ordering::Equal => Ok(true),
        // The database has lost commits, for example in a failover to an outdated copy.
        Ordering::Less => Err(QueryError::Store(StoreError::Format(format!(
            "the run `{id}` cannot be continued: the store has lost its entries from {stored} on"
        )))),
        Ordering::Greater
            if attempt == Attempt::Repeated && has_batch(session, *run, next, &append.batch)? =>
        {
            Ok(false)
        }
        Ordering::Greater => Err(QueryError::Store(StoreError::Superseded {
            run: id.clone(),
        })),
    }
}

/// Converts an error of an insertion whose entries exist already.
fn conflict_error(error: QueryError, run: &RunId, attempt: Attempt) -> QueryError {
    match error {
        QueryError::Database(mut error) if error.cause == QueryCause::Conflict => match attempt {
            Attempt::First => QueryError::Store(StoreError::Superseded { run: run.clone() }),
            // The lost connection has committed them just now: the next attempt compares them.
            Attempt::Repeated => {
                error.cause = QueryCause::Transient;
                QueryError::Database(error)
            }
        },
        other => other,
    }
}

/// Runs the jobs until the queue is closed.
fn write_until_closed(to: &mut WriteTarget<'_>, jobs: &Receiver<Job>) {
    let mut group = Vec::new();
    while let Ok(first) = jobs.recv() {
        // All jobs that were queued while the disk was busy share the next commit: waiting for the disk costs far more than the rows.
        for job in std::iter::once(first).chain(jobs.try_iter().take(MAX_GROUP_SIZE)) {
            match job {
                Job::Append(append) => group.push(append),
                Job::Change(change) => {
                    write_group(to, &mut group);
                    change(to);
                }
                // The group is not flushed first: this change waits for no disk, and the queued entries still share one commit.
                Job::UnsyncedChange(change) => change(to),
            }
        }
        write_group(to, &mut group);
    }
}
