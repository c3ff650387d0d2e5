//! The write-ahead gate: calls and questions wait until the entries of their turn are stored.

use std::any::Any;
use std::collections::HashMap;
use std::future::ready;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt};
use futures::stream::{FuturesOrdered, StreamExt};
use planwright_core::Hashing;
use tokio::time::Instant;

use super::in_flight::panic_message;
use super::timers::wait_until;
use crate::approval::ApprovalRequest;
use crate::backend::ToolCall;
use crate::journal::{Entry, Journal, JournalError, Record};
use crate::schedule::TaskId;

/// The maximum time for which entries that nothing waits for are delayed, so that they share a commit with later ones. It is about the
/// duration of a commit, so a crash loses them hardly more often than if they were written at once.
const MAX_BATCH_DELAY: Duration = Duration::from_millis(2);

/// The calls and questions that a stored batch releases.
#[derive(Default)]
pub(super) struct ReleasedWork {
    /// Calls to send.
    pub(super) calls: Vec<(TaskId, PendingCall)>,
    /// Questions to ask. They are stored first, so another process that decides finds them.
    pub(super) questions: Vec<(TaskId, Box<ApprovalRequest>)>,
}

/// A call whose intent is not stored yet.
pub(super) struct PendingCall {
    pub(super) attempt: u32,
    pub(super) call: Box<ToolCall>,
    /// The time of the decision to send it, since the start of the run.
    pub(super) decided: Duration,
    /// The time limit of the call once it is sent.
    pub(super) timeout: Option<Duration>,
}

/// The calls and questions that wait for one batch of entries.
#[derive(Default)]
struct BatchWaiters {
    calls: Vec<(TaskId, u32)>,
    questions: Vec<TaskId>,
}

/// A committed batch: what it releases, and the result.
type CommitResult = (BatchWaiters, Result<(), JournalError>);

/// The journal of a run, with the calls that wait for it. All records of one turn of the driver are appended as one batch, and the
/// calls of the turn wait until the batch is stored. The batch holds the intents of these calls, and the answers that led to them are
/// in this batch or in an earlier one. So one commit stores both. If nothing waits for the records of a turn, they are delayed briefly,
/// and stored together with those of later turns.
pub(crate) struct JournalGate {
    journal: Arc<dyn Journal>,
    turn: u64,
    /// True if the turn has records.
    has_records: bool,
    batch: Vec<Entry>,
    /// The time at which the batch is written at the latest, if it holds records of finished turns.
    flush_at: Option<Instant>,
    /// The calls and questions that wait for the batch.
    waiters: BatchWaiters,
    pending_calls: HashMap<TaskId, PendingCall, Hashing>,
    pending_questions: HashMap<TaskId, Box<ApprovalRequest>, Hashing>,
    // Commits finish in order: a call must not be released before earlier entries are stored.
    commits: FuturesOrdered<BoxFuture<'static, CommitResult>>,
}

impl JournalGate {
    pub(crate) fn new(journal: Arc<dyn Journal>, opened: Entry) -> Self {
        Self {
            journal,
            turn: opened.turn,
            has_records: true,
            batch: vec![opened],
            flush_at: None,
            waiters: BatchWaiters::default(),
            pending_calls: HashMap::default(),
            pending_questions: HashMap::default(),
            commits: FuturesOrdered::new(),
        }
    }

    /// Adds a record to the batch.
    pub(super) fn add_record(&mut self, at: Duration, record: Record) {
        self.has_records = true;
        self.batch.push(Entry {
            at,
            turn: self.turn,
            record,
        });
    }

    /// Delays a call until the batch is stored.
    pub(super) fn delay_call(
        &mut self,
        task: TaskId,
        attempt: u32,
        call: Box<ToolCall>,
        decided: Duration,
    ) {
        self.waiters.calls.push((task, attempt));
        let pending = PendingCall {
            attempt,
            call,
            decided,
            timeout: None,
        };
        self.pending_calls.insert(task, pending);
    }

    /// Attaches the timer of a call to its pending call. Returns false if the call is not pending.
    pub(super) fn delay_timer(&mut self, task: TaskId, after: Duration) -> bool {
        let pending = self.pending_calls.get_mut(&task);
        pending.is_some_and(|pending| pending.timeout.replace(after).is_none())
    }

    /// Delays a question until the batch is stored.
    pub(super) fn delay_question(&mut self, task: TaskId, request: Box<ApprovalRequest>) {
        self.waiters.questions.push(task);
        self.pending_questions.insert(task, request);
    }

    /// Returns true if calls are pending.
    pub(super) fn has_pending_calls(&self) -> bool {
        !self.pending_calls.is_empty()
    }

    /// Returns true if questions are pending.
    pub(super) fn has_pending_questions(&self) -> bool {
        !self.pending_questions.is_empty()
    }

    /// Drops a pending call or question.
    pub(super) fn withdraw(&mut self, task: TaskId) {
        self.pending_calls.remove(&task);
        self.pending_questions.remove(&task);
    }

    /// Ends the turn: writes its batch now if something waits for it, otherwise soon.
    pub(super) fn end_turn(&mut self) {
        let is_awaited = !self.waiters.calls.is_empty() || !self.waiters.questions.is_empty();
        // A turn without records is not counted, so the numbers in the journal are consecutive.
        if std::mem::take(&mut self.has_records) || is_awaited {
            self.turn += 1;
        }
        if is_awaited {
            self.flush();
        } else if !self.batch.is_empty() && self.flush_at.is_none() {
            self.flush_at = Some(Instant::now() + MAX_BATCH_DELAY);
        }
    }

    /// Appends the batch to the journal.
    fn flush(&mut self) {
        self.flush_at = None;
        let waiters = std::mem::take(&mut self.waiters);
        let batch = std::mem::take(&mut self.batch);
        let result = without_panic(|| self.journal.append(batch));
        self.commits
            .push_back(Box::pin(async move { (waiters, result.await) }));
    }

    /// Returns true if entries are not stored yet.
    fn has_open_commits(&self) -> bool {
        !self.commits.is_empty() || self.flush_at.is_some()
    }

    /// Waits for the next batch to be stored and returns what it releases.
    async fn next_commit(&mut self) -> Result<ReleasedWork, JournalError> {
        let result = tokio::select! {
            // Finished commits come first, since they release calls.
            biased;
            Some(result) = self.commits.next(), if !self.commits.is_empty() => result,
            () = wait_until(self.flush_at) => {
                self.flush();
                return Ok(ReleasedWork::default());
            }
        };
        self.release(result)
    }

    fn release(&mut self, (waiters, result): CommitResult) -> Result<ReleasedWork, JournalError> {
        result?;
        // The process may have been suspended after its intents were stored, for so long that another process has taken the run over.
        if !waiters.calls.is_empty() && !self.journal.is_exclusive() {
            let confirmed = without_panic(|| self.journal.confirm_exclusive());
            self.commits
                .push_front(Box::pin(async move { (waiters, confirmed.await) }));
            return Ok(ReleasedWork::default());
        }
        let mut released = ReleasedWork {
            calls: Vec::with_capacity(waiters.calls.len()),
            questions: Vec::with_capacity(waiters.questions.len()),
        };
        for task in waiters.questions {
            if let Some(request) = self.pending_questions.remove(&task) {
                released.questions.push((task, request));
            }
        }
        for (task, attempt) in waiters.calls {
            // The call may have been withdrawn and followed by another one of the same task.
            let is_same = |pending: &PendingCall| pending.attempt == attempt;
            if self.pending_calls.get(&task).is_some_and(is_same)
                && let Some(pending) = self.pending_calls.remove(&task)
            {
                released.calls.push((task, pending));
            }
        }
        Ok(released)
    }

    /// Waits until everything is stored. Pending calls and questions are dropped.
    pub(super) async fn finish(&mut self) -> Result<(), JournalError> {
        self.pending_calls.clear();
        self.pending_questions.clear();
        if !self.batch.is_empty() {
            self.flush();
        }
        while let Some(result) = self.commits.next().await {
            self.release(result)?;
        }
        Ok(())
    }
}

impl Drop for JournalGate {
    /// An aborted run still writes the inputs that it has accepted.
    fn drop(&mut self) {
        if self.flush_at.is_some() {
            self.flush();
        }
    }
}

/// Returns the future of an operation of a journal, with its panics as errors: then the entries are not stored.
fn without_panic(
    operation: impl FnOnce() -> BoxFuture<'static, Result<(), JournalError>>,
) -> BoxFuture<'static, Result<(), JournalError>> {
    let failed = |panic: Box<dyn Any + Send>| {
        JournalError::new(format!("the journal panicked: {}", panic_message(&*panic)))
    };
    match catch_unwind(AssertUnwindSafe(operation)) {
        Ok(stored) => {
            let stored = AssertUnwindSafe(stored).catch_unwind();
            stored
                .map(move |stored| stored.unwrap_or_else(|panic| Err(failed(panic))))
                .boxed()
        }
        Err(panic) => ready(Err(failed(panic))).boxed(),
    }
}

/// Waits for the next commit; pending forever without a journal or an open commit.
pub(super) async fn next_commit_of(
    journal: Option<&mut JournalGate>,
) -> Result<ReleasedWork, JournalError> {
    match journal {
        Some(journal) if journal.has_open_commits() => journal.next_commit().await,
        _ => std::future::pending().await,
    }
}
