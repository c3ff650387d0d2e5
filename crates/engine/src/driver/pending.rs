//! Timers that run and questions that are open.

use std::collections::{HashMap, HashSet};
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use futures::future::{AbortHandle, Abortable, Aborted, BoxFuture, FutureExt};
use futures::stream::{FuturesUnordered, StreamExt};
use planwright_core::Hashing;
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::time::DelayQueue;
use tokio_util::time::delay_queue::{Expired, Key};

use crate::approval::Decision;
use crate::schedule::{TaskId, Timer};

/// The maximum time that one timer is set for; longer timers are set again when it expires. The queue accepts some two
/// years from when it last fired, and panics beyond that.
const MAX_TIMER: Duration = Duration::from_hours(30 * 24);

/// The timers of a run, at most one for each task and kind of timer.
#[derive(Default)]
pub(super) struct Timers {
    /// Each entry holds the rest of its time after it expires.
    queue: DelayQueue<(TaskId, Timer, Duration)>,
    keys: HashMap<(TaskId, Timer), Key, Hashing>,
    /// The timers that have expired during a question and are set again after it.
    suspended: HashSet<(TaskId, Timer), Hashing>,
}

/// An expired timer.
pub(super) struct ExpiredTimer {
    pub(super) task: TaskId,
    pub(super) timer: Timer,
    /// The rest of a time that was too long for one timer.
    pub(super) rest: Duration,
}

impl Timers {
    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Sets a timer. It replaces an earlier one of the same task and kind.
    pub(super) fn set(&mut self, task: TaskId, timer: Timer, after: Duration) {
        self.suspended.remove(&(task, timer));
        let now = after.min(MAX_TIMER);
        let rest = after.saturating_sub(now);
        let key = self.queue.insert((task, timer, rest), now);
        if let Some(old) = self.keys.insert((task, timer), key) {
            self.queue.try_remove(&old);
        }
    }

    /// Suspends an expired timer until it is set again.
    pub(super) fn suspend(&mut self, task: TaskId, timer: Timer) {
        self.suspended.insert((task, timer));
    }

    /// Removes and returns the suspended timers.
    pub(super) fn take_suspended(&mut self) -> HashSet<(TaskId, Timer), Hashing> {
        std::mem::take(&mut self.suspended)
    }

    pub(super) fn clear(&mut self, task: TaskId, timer: Timer) {
        self.suspended.remove(&(task, timer));
        if let Some(key) = self.keys.remove(&(task, timer)) {
            self.queue.try_remove(&key);
        }
    }

    /// Waits for the next timer to expire. `None` if there is none.
    pub(super) async fn next(&mut self) -> Option<ExpiredTimer> {
        let expired = self.queue.next().await?;
        Some(self.take(expired))
    }

    /// A timer that has already expired.
    pub(super) async fn try_next(&mut self) -> Option<ExpiredTimer> {
        if self.queue.is_empty() {
            return None;
        }
        let polled = poll_fn(|context| match self.queue.poll_expired(context) {
            Poll::Ready(expired) => Poll::Ready(expired),
            Poll::Pending => Poll::Ready(None),
        });
        let expired = polled.await?;
        Some(self.take(expired))
    }

    fn take(&mut self, expired: Expired<(TaskId, Timer, Duration)>) -> ExpiredTimer {
        let (task, timer, rest) = expired.into_inner();
        self.keys.remove(&(task, timer));
        ExpiredTimer { task, timer, rest }
    }
}

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
