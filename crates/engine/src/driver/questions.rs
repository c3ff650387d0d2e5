//! Questions to people without an answer.

use std::collections::HashMap;
use std::sync::Arc;

use futures::future::{AbortHandle, Abortable, Aborted, BoxFuture, FutureExt};
use futures::stream::{FuturesUnordered, StreamExt};
use planwright_core::Hashing;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::approval::Decision;
use crate::schedule::TaskId;

/// The open questions of a run.
pub(crate) struct OpenQuestions {
    decisions: FuturesUnordered<BoxFuture<'static, (TaskId, Result<Decision, Aborted>)>>,
    /// The handle of each open question, and the time when it was asked.
    handles: HashMap<TaskId, (AbortHandle, Instant), Hashing>,
    /// The closed questions: the task, the start and the end.
    closed: Vec<(TaskId, Instant, Instant)>,
    /// Notified when a question is closed.
    question_closed: Arc<Notify>,
}

impl OpenQuestions {
    pub(crate) fn new(question_closed: Arc<Notify>) -> Self {
        Self {
            decisions: FuturesUnordered::new(),
            handles: HashMap::default(),
            closed: Vec::new(),
            question_closed,
        }
    }

    pub(crate) fn ask(&mut self, task: TaskId, decision: BoxFuture<'static, Decision>) {
        // A future that is already in the set can only be withdrawn by aborting it.
        let (handle, registration) = AbortHandle::new_pair();
        let decision = Abortable::new(decision, registration);
        self.decisions
            .push(decision.map(move |decided| (task, decided)).boxed());
        self.handles.insert(task, (handle, Instant::now()));
    }

    /// Withdraws a question, if there is one. It is removed when the next decision is awaited.
    pub(crate) fn withdraw(&mut self, task: TaskId) {
        if let Some(handle) = self.close(task) {
            handle.abort();
        }
    }

    fn close(&mut self, task: TaskId) -> Option<AbortHandle> {
        let (handle, since) = self.handles.remove(&task)?;
        self.closed.push((task, since, Instant::now()));
        self.question_closed.notify_one();
        Some(handle)
    }

    /// The closed questions: the task, the start and the end.
    pub(crate) fn closed(&self) -> impl Iterator<Item = (TaskId, Instant, Instant)> {
        self.closed.iter().copied()
    }

    /// The tasks with an open question.
    pub(crate) fn open(&self) -> impl Iterator<Item = TaskId> {
        self.handles.keys().copied()
    }

    /// Returns true if a question is open.
    pub(crate) fn any_open(&self) -> bool {
        !self.handles.is_empty()
    }

    /// Returns true if no future is left to poll, not even one of a withdrawn question.
    pub(crate) fn is_empty(&self) -> bool {
        self.decisions.is_empty()
    }

    /// Waits for the next decision. `None` once no question is open.
    pub(crate) async fn next(&mut self) -> Option<(TaskId, Decision)> {
        while let Some((task, decided)) = self.decisions.next().await {
            // A withdrawn question ends as aborted and is skipped.
            if let Ok(decision) = decided {
                self.close(task);
                return Some((task, decision));
            }
        }
        None
    }
}
