//! Sees to it that nothing is sent before it is in the journal that it will be.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::{FuturesOrdered, StreamExt};
use planwright_core::Hashing;

use crate::approval::ApprovalRequest;
use crate::backend::ToolCall;
use crate::journal::{Entry, Journal, JournalError, Record};
use crate::schedule::TaskId;

/// What may be done now that it is kept.
#[derive(Default)]
pub(crate) struct Released {
    /// Calls to be sent.
    pub(crate) calls: Vec<(TaskId, u32, Box<ToolCall>)>,
    /// Questions to be asked: whoever decides from another process must find them.
    pub(crate) questions: Vec<(TaskId, Box<ApprovalRequest>)>,
}

/// What waits for one batch of entries.
#[derive(Default)]
struct Waiting {
    calls: Vec<(TaskId, u32)>,
    questions: Vec<(TaskId, Box<ApprovalRequest>)>,
}

/// What one batch of entries sets free once it is kept.
type Kept = (Waiting, Result<(), JournalError>);

/// The journal of a run, and the calls that wait for it.
///
/// All that one turn of the driver leads to is appended as one batch, and its calls wait until the batch is kept. The
/// batch holds their intents, and the answers that made them possible are in it or in one before; so one commit serves both.
pub(crate) struct Keeping {
    journal: Arc<dyn Journal>,
    turn: u64,
    batch: Vec<Entry>,
    /// What waits for this turn's batch.
    waiting: Waiting,
    /// How many questions wait for a batch.
    questions: usize,
    held: HashMap<TaskId, (u32, Box<ToolCall>), Hashing>,
    commits: FuturesOrdered<BoxFuture<'static, Kept>>,
}

impl Keeping {
    pub(crate) fn new(journal: Arc<dyn Journal>, opened: Entry) -> Self {
        Self {
            journal,
            turn: opened.turn,
            batch: vec![opened],
            waiting: Waiting::default(),
            questions: 0,
            held: HashMap::default(),
            commits: FuturesOrdered::new(),
        }
    }

    /// Keeps a record, with the others of this turn.
    pub(crate) fn remember(&mut self, at: Duration, record: Record) {
        self.batch.push(Entry {
            at,
            turn: self.turn,
            record,
        });
    }

    /// Holds a call back until this turn is kept.
    pub(crate) fn hold(&mut self, task: TaskId, attempt: u32, call: Box<ToolCall>) {
        self.waiting.calls.push((task, attempt));
        self.held.insert(task, (attempt, call));
    }

    /// Holds a question back until this turn is kept.
    pub(crate) fn hold_question(&mut self, task: TaskId, request: Box<ApprovalRequest>) {
        self.questions += 1;
        self.waiting.questions.push((task, request));
    }

    /// Whether questions are held back.
    pub(crate) fn holds_questions(&self) -> bool {
        self.questions > 0
    }

    /// Forgets a call that has not been sent. Says whether there was one.
    pub(crate) fn withdraw(&mut self, task: TaskId) -> bool {
        self.held.remove(&task).is_some()
    }

    /// Ends the turn: hands its batch to the journal.
    pub(crate) fn end_turn(&mut self) {
        let waiting = std::mem::take(&mut self.waiting);
        if self.batch.is_empty() && waiting.calls.is_empty() && waiting.questions.is_empty() {
            return;
        }
        let kept = self.journal.append(std::mem::take(&mut self.batch));
        self.commits
            .push_back(Box::pin(async move { (waiting, kept.await) }));
        self.turn += 1;
    }

    /// Whether something has not been kept yet.
    pub(crate) fn is_busy(&self) -> bool {
        !self.commits.is_empty()
    }

    /// Waits for the next batch to be kept, and gives what it sets free.
    pub(crate) async fn next(&mut self) -> Result<Released, JournalError> {
        let Some((waiting, kept)) = self.commits.next().await else {
            return Ok(Released::default());
        };
        kept?;
        self.questions = self.questions.saturating_sub(waiting.questions.len());
        let mut released = Released {
            calls: Vec::with_capacity(waiting.calls.len()),
            questions: waiting.questions,
        };
        for (task, attempt) in waiting.calls {
            // A call that was withdrawn may have been followed by another of the same task.
            if self.held.get(&task).is_some_and(|held| held.0 == attempt)
                && let Some((_, call)) = self.held.remove(&task)
            {
                released.calls.push((task, attempt, call));
            }
        }
        Ok(released)
    }

    /// Waits until all is kept. Calls that were still held back are dropped.
    pub(crate) async fn finish(&mut self) -> Result<(), JournalError> {
        self.held.clear();
        while self.is_busy() {
            self.next().await?;
        }
        Ok(())
    }
}
