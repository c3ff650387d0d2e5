//! The calls in flight, and the questions that are open.
//!
//! Each call is its own task, except those of tools that answer at once. A panic of foreign code (a call, a
//! decision, a commit) becomes an error, and the run continues.
//!
//! Design: [Fast calls are polled inline](https://github.com/planwright/planwright/blob/main/docs/design/execution.md#fast-calls-are-polled-inline).

use std::any::Any;
use std::collections::{HashMap, HashSet, VecDeque};
use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::future::{AbortHandle, Abortable, Aborted, BoxFuture, FutureExt};
use futures::stream::{FuturesUnordered, StreamExt};
use planwright_core::{Hashing, Tool};
use tokio::sync::Notify;
use tokio::task::{self, JoinError, JoinSet, coop};
use tokio::time::Instant;
use tracing::Instrument;

use crate::approval::{ApprovalRequest, Approver, Decision};
use crate::backend::{
    CallClock, CallProgress, ErrorKind, RetryAdvice, ToolBackend, ToolCall, ToolError, ToolOutput,
};
use crate::run::RunInput;
use crate::schedule::TaskId;

/// The maximum time of a call that counts as immediate.
const MAX_IMMEDIATE: Duration = Duration::from_micros(50);

/// The maximum time that the end of a run waits for aborted calls. Calls that block their thread cannot be
/// interrupted.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);

/// The result of a finished call.
pub(crate) struct CompletedCall {
    pub(crate) task: TaskId,
    pub(crate) attempt: u32,
    pub(crate) result: Result<ToolOutput, ToolError>,
}

impl From<CompletedCall> for RunInput {
    fn from(ended: CompletedCall) -> Self {
        Self::AttemptEnded {
            task: ended.task,
            attempt: ended.attempt,
            result: ended.result,
        }
    }
}

/// The result of a spawned task.
struct JoinedCall {
    ended: CompletedCall,
    tool: usize,
    was_immediate: bool,
}

/// The calls of a run that are in flight. Spawning a task costs many times as much as a call that does next to nothing, because another
/// thread has to wake up. So a tool whose latest call completed quickly at its first poll is polled inline in the driver. A call that
/// turns out to wait becomes a task nevertheless. So does the next call of a tool that was slow.
pub(crate) struct InFlightCalls {
    backend: Arc<dyn ToolBackend>,
    tasks: JoinSet<JoinedCall>,
    handles: HashMap<TaskId, (task::AbortHandle, CallClock), Hashing>,
    /// The pauses of finished calls for questions to people: the task, the start and the end.
    pauses: Vec<(TaskId, Instant, Instant)>,
    /// The addresses of the tools whose latest call was immediate. They stay unique, because the plan owns the tools for the whole run.
    immediate_tools: HashSet<usize, Hashing>,
    completed: VecDeque<CompletedCall>,
    /// Notified when a question within a call ends.
    question_closed: Arc<Notify>,
    /// Notified when a call reports progress; `None` if no one listens.
    progress_reported: Option<Arc<Notify>>,
}

impl InFlightCalls {
    pub(crate) fn new(
        backend: Arc<dyn ToolBackend>,
        question_closed: Arc<Notify>,
        progress_reported: Option<Arc<Notify>>,
    ) -> Self {
        Self {
            backend,
            tasks: JoinSet::new(),
            handles: HashMap::default(),
            pauses: Vec::new(),
            immediate_tools: HashSet::default(),
            completed: VecDeque::new(),
            question_closed,
            progress_reported,
        }
    }

    /// Sets that no one listens to the progress of calls.
    pub(crate) fn ignore_progress(&mut self) {
        self.progress_reported = None;
    }

    /// Starts a call.
    pub(crate) fn start(&mut self, task: TaskId, attempt: u32, call: Box<ToolCall>) {
        let tool = tool_address(&call.tool);
        let clock = call.clock.clone();
        // The limit of the call starts now, not when the run decided to send it.
        let started = Instant::now();
        let progress = self.progress_reported.as_ref();
        clock.start(started, &self.question_closed, progress);
        // Created here, within the span of the run: the call may be polled in its own task.
        let span = tracing::info_span!(
            "call",
            step = %call.context.step,
            tool = call.tool.qualified_name().as_str(),
            attempt
        );
        let called = call_tool(Arc::clone(&self.backend), call);
        // A span that no subscriber wants costs nothing.
        let mut result = if span.is_disabled() {
            called.boxed()
        } else {
            called.instrument(span).boxed()
        };
        if self.immediate_tools.contains(&tool) {
            let completed = result.as_mut().now_or_never();
            // A tool that waits or is slow is not polled inline until a later call is immediate again.
            if completed.is_none() || MAX_IMMEDIATE < started.elapsed() {
                self.immediate_tools.remove(&tool);
            }
            if let Some(result) = completed {
                return self.completed.push_back(CompletedCall {
                    task,
                    attempt,
                    result,
                });
            }
        }
        let handle = self.tasks.spawn(async move {
            let (result, was_immediate) = observe_first_poll(result).await;
            let ended = CompletedCall {
                task,
                attempt,
                result,
            };
            JoinedCall {
                ended,
                tool,
                was_immediate,
            }
        });
        self.handles.insert(task, (handle, clock));
    }

    /// Returns the minimum time until the call of `task` can have been inactive for `limit`. Returns `None` while its clock is paused,
    /// and if the backend has its own limit.
    pub(crate) fn remaining(&self, task: TaskId, limit: Duration) -> Option<Duration> {
        let call = self.handles.get(&task);
        call.map_or(Some(Duration::ZERO), |(_, clock)| clock.remaining(limit))
    }

    /// Returns the explanation of the backend why the call of `task` may have got no answer.
    pub(crate) fn silence(&self, task: TaskId) -> Option<String> {
        self.handles.get(&task)?.1.silence()
    }

    /// Returns the progress that calls in flight have reported since the last call of this function.
    pub(crate) fn take_progress(&self) -> impl Iterator<Item = (TaskId, CallProgress)> {
        let calls = self.handles.iter();
        calls.filter_map(|(task, (_, clock))| Some((*task, clock.take_progress()?)))
    }

    /// Returns the calls that currently ask a person.
    pub(crate) fn paused(&self) -> impl Iterator<Item = TaskId> {
        let calls = self.handles.iter();
        calls.filter_map(|(task, (_, clock))| clock.is_paused().then_some(*task))
    }

    /// The pauses of all calls so far, in which people were asked: the task, the start and the end.
    pub(crate) fn pauses(&self) -> impl Iterator<Item = (TaskId, Instant, Instant)> {
        let current = self.handles.iter().flat_map(|(task, (_, clock))| {
            let pauses = clock.pauses().into_iter();
            pauses.map(|(start, end)| (*task, start, end))
        });
        self.pauses.iter().copied().chain(current)
    }

    /// Removes the handle of a call that has ended or is aborted.
    fn remove(&mut self, task: TaskId) -> Option<task::AbortHandle> {
        let (handle, clock) = self.handles.remove(&task)?;
        if clock.is_paused() {
            self.question_closed.notify_one();
        }
        let pauses = clock.pauses().into_iter();
        self.pauses
            .extend(pauses.map(|(start, end)| (task, start, end)));
        Some(handle)
    }

    /// Aborts the call of `task`.
    pub(crate) fn abort(&mut self, task: TaskId) {
        if let Some(handle) = self.remove(task) {
            handle.abort();
        }
    }

    /// Returns true if the latest call that completed inline is that of `task`.
    pub(crate) fn completed_inline(&self, task: TaskId) -> bool {
        self.completed
            .back()
            .is_some_and(|ended| ended.task == task)
    }

    /// Returns true if a call that completed inline waits to be reported.
    pub(crate) fn has_completed_inline(&self) -> bool {
        !self.completed.is_empty()
    }

    /// Aborts all calls and waits until they have stopped, so no tool is running once the run has ended.
    pub(crate) async fn shutdown(&mut self) {
        if !self.tasks.is_empty() {
            // Calls that do not stop within the timeout are detached.
            let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, self.tasks.shutdown()).await;
        }
    }

    /// Returns true if no call is in flight or waiting to be reported.
    pub(crate) fn is_empty(&self) -> bool {
        self.completed.is_empty() && self.tasks.is_empty()
    }

    /// Waits for the next call to end. `None` if that call was aborted.
    pub(crate) async fn next(&mut self) -> Option<CompletedCall> {
        if !self.completed.is_empty() {
            // Many immediate calls in a row must not starve the other tasks of the runtime.
            coop::consume_budget().await;
            return self.completed.pop_front();
        }
        let joined = self.tasks.join_next().await?;
        self.on_joined(joined)
    }

    /// The next call that has already ended.
    pub(crate) fn try_next(&mut self) -> Option<CompletedCall> {
        let completed = self.completed.pop_front();
        completed.or_else(|| {
            // Aborted calls are not reported.
            while let Some(joined) = self.tasks.try_join_next() {
                let ended = self.on_joined(joined);
                if ended.is_some() {
                    return ended;
                }
            }
            None
        })
    }

    fn on_joined(&mut self, joined: Result<JoinedCall, JoinError>) -> Option<CompletedCall> {
        // Only an abort ends a task without a result: panics of the backend are caught inside.
        let JoinedCall {
            ended,
            tool,
            was_immediate,
        } = joined.ok()?;
        self.remove(ended.task);
        if was_immediate {
            self.immediate_tools.insert(tool);
        }
        Some(ended)
    }
}

/// A decision about a task, or the withdrawal of its question.
type FutureDecision = BoxFuture<'static, (TaskId, Result<Decision, Aborted>)>;

/// The open questions of a run.
pub(crate) struct OpenQuestions {
    decisions: FuturesUnordered<FutureDecision>,
    /// The questions that no approver has seen yet.
    new: Vec<FutureDecision>,
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
            new: Vec::new(),
            handles: HashMap::default(),
            closed: Vec::new(),
            question_closed,
        }
    }

    /// Adds a question, which the approver sees with the next [`begin`](Self::begin).
    pub(crate) fn add(
        &mut self,
        task: TaskId,
        approver: Arc<dyn Approver>,
        request: ApprovalRequest,
    ) {
        // A future that is already in the set can only be withdrawn by aborting it.
        let (handle, registration) = AbortHandle::new_pair();
        let decision = Abortable::new(request_decision(approver, request), registration);
        self.new
            .push(decision.map(move |decided| (task, decided)).boxed());
        self.handles.insert(task, (handle, Instant::now()));
    }

    /// Asks all new questions together, so that a person can decide about several of them at once.
    pub(crate) fn begin(&mut self) {
        self.decisions.extend(self.new.drain(..));
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

/// Requests one decision. A panic of the approver counts as a rejection.
async fn request_decision(approver: Arc<dyn Approver>, request: ApprovalRequest) -> Decision {
    let decided = AssertUnwindSafe(async move { approver.decide(request).await }).catch_unwind();
    decided.await.unwrap_or_else(|panic| Decision::Reject {
        because: Some(format!("the approver panicked: {}", panic_message(&*panic))),
    })
}

/// Makes one call. A panic of the backend becomes an error.
async fn call_tool(
    backend: Arc<dyn ToolBackend>,
    call: Box<ToolCall>,
) -> Result<ToolOutput, ToolError> {
    let tool = Arc::clone(&call.tool);
    // A panic in foreign code must not end the run.
    match AssertUnwindSafe(async move { backend.call(*call).await })
        .catch_unwind()
        .await
    {
        Ok(result) => result,
        Err(panic) => {
            let what = panic_message(&*panic);
            let message = format!(
                "the backend of `{}` panicked: {what}",
                tool.qualified_name()
            );
            Err(ToolError {
                // The backend may have called the tool before it panicked.
                retry: RetryAdvice::Uncertain,
                ..ToolError::new(ErrorKind::Internal, message)
            })
        }
    }
}

/// The message of a panic.
pub(super) fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned())
}

fn tool_address(tool: &Arc<Tool>) -> usize {
    Arc::as_ptr(tool).addr()
}

/// Runs `work`; the flag is true if it completed quickly at its first poll.
async fn observe_first_poll<T>(mut work: BoxFuture<'static, T>) -> (T, bool) {
    let (started, mut polls) = (Instant::now(), 0_u32);
    let completed = poll_fn(|context| {
        polls = polls.saturating_add(1);
        work.as_mut().poll(context)
    });
    let result = completed.await;
    (result, polls == 1 && started.elapsed() <= MAX_IMMEDIATE)
}
