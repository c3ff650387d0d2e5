//! Sees to it that nothing is sent before it is in the journal that it will be.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::{FuturesOrdered, StreamExt};
use planwright_core::Hashing;
use tokio::time::{Instant, sleep_until};

use crate::approval::ApprovalRequest;
use crate::backend::ToolCall;
use crate::execute;
use crate::journal::{Entry, Journal, JournalError, Record};
use crate::schedule::TaskId;

/// How long entries that nothing waits for may wait for others to share a commit with. It is about as long as a commit takes, so
/// a crash finds them missing not much more often than if they were handed over at once.
const LINGER: Duration = Duration::from_millis(2);

/// What may be done now that it is kept.
#[derive(Default)]
pub(crate) struct Released {
    /// Calls to be sent.
    pub(crate) calls: Vec<(TaskId, HeldCall)>,
    /// Questions to be asked: whoever decides from another process must find them.
    pub(crate) questions: Vec<(TaskId, Box<ApprovalRequest>)>,
}

/// A call that is to be sent.
pub(crate) struct HeldCall {
    pub(crate) attempt: u32,
    pub(crate) call: Box<ToolCall>,
    /// When it was decided, counted from the start of the run.
    pub(crate) decided: Duration,
    /// The time that it may take, once it is sent.
    pub(crate) timeout: Option<Duration>,
}

/// What waits for one batch of entries.
#[derive(Default)]
struct Waiting {
    calls: Vec<(TaskId, u32)>,
    questions: Vec<TaskId>,
}

/// What one batch of entries sets free once it is kept.
type Kept = (Waiting, Result<(), JournalError>);

/// The journal of a run, and the calls that wait for it.
///
/// All that one turn of the driver leads to is appended as one batch, and its calls wait until the batch is kept. The
/// batch holds their intents, and the answers that made them possible are in it or in one before; so one commit serves both.
/// Where a turn leads to nothing that waits, its entries stay for a moment, and go along with those of the next turns.
pub(crate) struct Keeping {
    journal: Arc<dyn Journal>,
    turn: u64,
    /// Whether there is something to be kept of this turn.
    is_new: bool,
    batch: Vec<Entry>,
    /// When the batch is handed over at the latest, where turns have ended that are in it.
    due: Option<Instant>,
    /// What waits for the batch.
    waiting: Waiting,
    held: HashMap<TaskId, HeldCall, Hashing>,
    held_questions: HashMap<TaskId, Box<ApprovalRequest>, Hashing>,
    commits: FuturesOrdered<BoxFuture<'static, Kept>>,
}

impl Keeping {
    pub(crate) fn new(journal: Arc<dyn Journal>, opened: Entry) -> Self {
        Self {
            journal,
            turn: opened.turn,
            is_new: true,
            batch: vec![opened],
            due: None,
            waiting: Waiting::default(),
            held: HashMap::default(),
            held_questions: HashMap::default(),
            commits: FuturesOrdered::new(),
        }
    }

    /// Keeps a record, with the others of this turn.
    pub(crate) fn remember(&mut self, at: Duration, record: Record) {
        self.is_new = true;
        self.batch.push(Entry {
            at,
            turn: self.turn,
            record,
        });
    }

    /// Holds a call back until this turn is kept.
    pub(crate) fn hold(
        &mut self,
        task: TaskId,
        attempt: u32,
        call: Box<ToolCall>,
        decided: Duration,
    ) {
        self.waiting.calls.push((task, attempt));
        let held = HeldCall {
            attempt,
            call,
            decided,
            timeout: None,
        };
        self.held.insert(task, held);
    }

    /// Holds the timer of a call back as long as the call. Says whether that is held back.
    pub(crate) fn hold_timer(&mut self, task: TaskId, after: Duration) -> bool {
        let held = self.held.get_mut(&task);
        held.is_some_and(|held| held.timeout.replace(after).is_none())
    }

    /// Holds a question back until this turn is kept.
    pub(crate) fn hold_question(&mut self, task: TaskId, request: Box<ApprovalRequest>) {
        self.waiting.questions.push(task);
        self.held_questions.insert(task, request);
    }

    /// Whether questions are held back.
    pub(crate) fn holds_questions(&self) -> bool {
        !self.held_questions.is_empty()
    }

    /// Forgets a call that has not been sent, or a question that has not been asked.
    pub(crate) fn withdraw(&mut self, task: TaskId) {
        self.held.remove(&task);
        self.held_questions.remove(&task);
    }

    /// Ends the turn: hands its batch to the journal, now or soon.
    pub(crate) fn end_turn(&mut self) {
        let is_awaited = !self.waiting.calls.is_empty() || !self.waiting.questions.is_empty();
        if std::mem::take(&mut self.is_new) || is_awaited {
            self.turn += 1;
        }
        if is_awaited {
            self.hand_over();
        } else if !self.batch.is_empty() && self.due.is_none() {
            self.due = Some(Instant::now() + LINGER);
        }
    }

    /// Hands the batch to the journal.
    fn hand_over(&mut self) {
        self.due = None;
        let waiting = std::mem::take(&mut self.waiting);
        let kept = execute::append(&self.journal, std::mem::take(&mut self.batch));
        self.commits
            .push_back(Box::pin(async move { (waiting, kept.await) }));
    }

    /// Whether something has not been kept yet.
    pub(crate) fn is_busy(&self) -> bool {
        !self.commits.is_empty() || self.due.is_some()
    }

    /// Waits for the next batch to be kept, and gives what it sets free.
    pub(crate) async fn next(&mut self) -> Result<Released, JournalError> {
        let kept = tokio::select! {
            biased;
            Some(kept) = self.commits.next(), if !self.commits.is_empty() => kept,
            () = until(self.due) => {
                self.hand_over();
                return Ok(Released::default());
            }
        };
        self.released(kept)
    }

    fn released(&mut self, (waiting, kept): Kept) -> Result<Released, JournalError> {
        kept?;
        let mut released = Released {
            calls: Vec::with_capacity(waiting.calls.len()),
            questions: Vec::with_capacity(waiting.questions.len()),
        };
        for task in waiting.questions {
            if let Some(request) = self.held_questions.remove(&task) {
                released.questions.push((task, request));
            }
        }
        for (task, attempt) in waiting.calls {
            // A call that was withdrawn may have been followed by another of the same task.
            let is_same = |held: &HeldCall| held.attempt == attempt;
            if self.held.get(&task).is_some_and(is_same)
                && let Some(held) = self.held.remove(&task)
            {
                released.calls.push((task, held));
            }
        }
        Ok(released)
    }

    /// Waits until all is kept. What was still held back is dropped.
    pub(crate) async fn finish(&mut self) -> Result<(), JournalError> {
        self.held.clear();
        self.held_questions.clear();
        if !self.batch.is_empty() {
            self.hand_over();
        }
        while let Some(kept) = self.commits.next().await {
            self.released(kept)?;
        }
        Ok(())
    }
}

impl Drop for Keeping {
    /// A run that is given up keeps what it was told.
    fn drop(&mut self) {
        if self.due.is_some() {
            self.hand_over();
        }
    }
}

/// Waits until `due`, for ever where that is never.
async fn until(due: Option<Instant>) {
    match due {
        Some(due) => sleep_until(due).await,
        None => std::future::pending().await,
    }
}
