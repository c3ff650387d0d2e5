//! The writer thread: all writes pass through it, and queued journal entries share a transaction; and the batches of encoded entries that it
//! writes, with their checksums and totals.
//!
//! See [the design](https://github.com/planwright/planwright/blob/main/docs/design/store.md#sqlite-with-one-writer-thread).

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{self, AtomicBool};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use planwright_core::Value;
use planwright_engine::journal::{Entry, Record};
use planwright_engine::{JournalError, RunId, RunStatus, StepStatus};
use planwright_format::duration_nanos;
use planwright_format::journal::{Blob, BlobLoader, decode_record, encode_record};
use sha2::{Digest as _, Sha256};
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::database::{
    Database, QueryCause, QueryError, RunLease, SqlSession, SqlValue, StoreConnection, ToSql,
    TransactionKind, finish_transaction, in_transaction, params,
};
use crate::error::StoreError;
use crate::run::count_entries;
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
    /// Begins a writing transaction. It waits for an unreachable database.
    fn begin(&mut self) -> Result<(), QueryError> {
        let mut deadline = RetryDeadline::new(self);
        loop {
            match self.connection.begin(TransactionKind::Write) {
                Err(error) if error.is_transient() && deadline.wait() => {}
                begun => return begun,
            }
        }
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
    fn wait(&mut self) -> bool {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() || self.is_closing.load(atomic::Ordering::Acquire) {
            return false;
        }
        // The writer ends the pause when it is dropped.
        thread::park_timeout(self.pause.min(left));
        self.pause = (self.pause * 2).min(MAX_RETRY_PAUSE);
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
            to.begin()?;
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
            to.begin()?;
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
            let begun = to.begin();
            let result = begun.and_then(|()| finish_transaction(to.connection, change));
            to.connection.set_synced(true)?;
            result
        })
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
            Err(error) if error.is_transient() && deadline.wait() => *attempt = Attempt::Repeated,
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
        state.next += to_i64(batch.rows.len());
        state.totals = state.totals.then(batch.totals);
        // Updating the row with each commit would write one more page each time. Readers count the entries of a run in progress
        // instead.
        if batch.totals.state.is_some() || batch.totals.steps.is_some() {
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
    fn then(self, later: Self) -> Self {
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
        "INSERT INTO blobs (digest, json) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
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
        session.execute(
            "INSERT INTO uses (run, digest) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
            params![run, blob.digest.0],
        )?;
    }
    session.execute_each(
        "INSERT INTO entries (run, number, at_ns, turn, kind, body, checksum) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        &mut (from..).zip(&batch.rows).map(|(number, row)| {
            vec![
                SqlValue::Integer(run),
                SqlValue::Integer(number),
                row.at_ns.to_sql(),
                row.turn.to_sql(),
                row.kind.to_sql(),
                row.body.to_sql(),
                SqlValue::Integer(row.checksum(run, number)),
            ]
        }),
    )
}

/// Returns true if the entries of a run from `from` on begin with this batch. Further batches may follow it.
fn has_batch(
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
fn next_entry(session: &dyn SqlSession, run: i64) -> Result<Option<i64>, QueryError> {
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
    session
        .execute("UPDATE runs SET done = ?2, calls = ?3, duration_ns = ?4, status = ?5, steps = coalesce(?6, steps)
             WHERE key = ?1", params![
            run,
            done,
            totals.calls,
            totals.last_ns,
            totals.state.and_then(RunState::keyword),
            totals.steps
        ])?;
    Ok(())
}
