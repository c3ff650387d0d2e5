//! The caller's handle to a run: the commands that it sends, and the summary that it waits for.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use planwright_core::check::CheckedPlan;
use tokio::sync::mpsc;
use tokio::task::JoinError;

use crate::run::RunSummary;

/// A command of the caller to a running run.
#[derive(Debug)]
pub(crate) enum RunCommand {
    Extend(CheckedPlan),
    Close,
    /// Drain, and cancel after this time.
    Drain(Duration),
    /// Hand the run over once its calls in flight have ended, or after this time.
    HandOver(Duration),
    Cancel,
}

/// A running run. Awaiting it gives the summary.
#[derive(Debug)]
pub struct RunHandle {
    commands: mpsc::UnboundedSender<RunCommand>,
    successor: Arc<Mutex<Succession>>,
    task: tokio::task::JoinHandle<RunSummary>,
}

impl RunHandle {
    pub(crate) fn new(
        commands: mpsc::UnboundedSender<RunCommand>,
        task: tokio::task::JoinHandle<RunSummary>,
    ) -> Self {
        Self {
            commands,
            successor: Arc::default(),
            task,
        }
    }

    /// Adds the further steps of `plan` to the run: it must be the running plan, [extended](CheckedPlan::extend).
    ///
    /// Only a run with an [open](crate::options::PlanState::Open) plan waits for steps. Steps added to another one
    /// just as its last step ends, or to a cancelled one, may never run. Such steps are not in its summary.
    ///
    /// # Errors
    ///
    /// Returns the plan if the run has ended.
    pub fn extend(&self, plan: CheckedPlan) -> Result<(), CheckedPlan> {
        match self.commands.send(RunCommand::Extend(plan)) {
            Err(mpsc::error::SendError(RunCommand::Extend(plan))) => Err(plan),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Declares the plan complete: a run with an [open](crate::options::PlanState::Open) plan ends with its last
    /// step, and one with a [provisional](crate::options::PlanState::Provisional) plan may start all its steps.
    pub fn close(&self) {
        // Sending fails only if the run has ended already.
        let _ = self.commands.send(RunCommand::Close);
    }

    /// Stops driving the run as if the process had died: calls in flight are dropped, and the journal ends as it
    /// is, so another process can resume the run. Nothing of the run happens after this returns.
    pub async fn abandon(mut self) {
        self.task.abort();
        // The task may have ended before the abort; its summary is not needed.
        drop((&mut self.task).await);
    }

    /// Returns a handle that can cancel the run.
    pub fn canceller(&self) -> Canceller {
        Canceller {
            commands: self.commands.clone(),
            successor: Arc::clone(&self.successor),
        }
    }

    /// Lets all cancellers of this run, which has ended, end the run of `next` from now on: that run completes the work of this one. It
    /// ends at once if this one was asked to.
    pub fn succeed(&self, next: Canceller) {
        let mut succession = lock(&self.successor);
        match succession.requested.take() {
            Some(Request::Drain(limit)) => next.drain(limit),
            Some(Request::Cancel) => next.cancel(),
            None => {}
        }
        succession.next = Some(next);
    }

    /// Drains the run: nothing new starts, and the run ends once the calls in flight have ended. Calls that take
    /// longer than `limit` from now are cancelled. A second request can only shorten the time.
    ///
    /// A run with steps left ends as [cancelled](crate::RunStatus::Cancelled), without calls whose outcome is unknown
    /// unless the limit was exceeded, and can be resumed.
    pub fn drain(&self, limit: Duration) {
        self.canceller().drain(limit);
    }

    /// Hands the run over, see [`Canceller::hand_over`].
    pub fn hand_over(&self, limit: Duration) {
        self.canceller().hand_over(limit);
    }

    /// Cancels the run: calls in flight are aborted, nothing new starts.
    pub fn cancel(&self) {
        self.canceller().cancel();
    }
}

/// Cancels or drains a run, and the one that [succeeds](RunHandle::succeed) it.
#[derive(Clone, Debug)]
pub struct Canceller {
    commands: mpsc::UnboundedSender<RunCommand>,
    successor: Arc<Mutex<Succession>>,
}

/// The run that completes the work of another one, if there is one, and the request to the latter that the former has not received.
#[derive(Debug, Default)]
struct Succession {
    next: Option<Canceller>,
    requested: Option<Request>,
}

/// A request to end a run.
#[derive(Clone, Copy, Debug)]
enum Request {
    Drain(Duration),
    Cancel,
}

fn lock(succession: &Mutex<Succession>) -> MutexGuard<'_, Succession> {
    succession.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Canceller {
    /// Cancels the run: calls in flight are aborted, nothing new starts.
    pub fn cancel(&self) {
        self.request(Request::Cancel);
    }

    /// Cancels the run as [`cancel`](Self::cancel) does, but not the run that succeeds it, for a caller that only lost interest in the result.
    pub fn cancel_alone(&self) {
        // Sending fails only if the run has ended already.
        let _ = self.commands.send(RunCommand::Cancel);
    }

    /// Drains the run, see [`RunHandle::drain`].
    pub fn drain(&self, limit: Duration) {
        self.request(Request::Drain(limit));
    }

    /// Stops driving the run, so that another process can continue it: nothing new starts, and once the calls in flight have ended and their
    /// outcomes are stored, the summary [says so](RunSummary::is_handed_over). Calls that take longer than `limit` are dropped, and their outcome
    /// is unknown. A run whose steps have all ended meanwhile ends as usual.
    ///
    /// Unlike [`drain`](Self::drain), the journal gets no end: the run is still in progress. A run that succeeds this one is not affected.
    pub fn hand_over(&self, limit: Duration) {
        // Sending fails only if the run has ended already.
        let _ = self.commands.send(RunCommand::HandOver(limit));
    }

    fn request(&self, request: Request) {
        let command = match request {
            Request::Drain(limit) => RunCommand::Drain(limit),
            Request::Cancel => RunCommand::Cancel,
        };
        // Sending fails only if the run has ended already.
        let _ = self.commands.send(command);
        let next = {
            let mut succession = lock(&self.successor);
            let next = succession.next.clone();
            if next.is_none() {
                succession.requested = Some(request);
            }
            next
        };
        if let Some(next) = next {
            next.request(request);
        }
    }
}

impl Future for RunHandle {
    type Output = RunSummary;

    /// Waits for the end of the run.
    ///
    /// # Panics
    ///
    /// If the tokio runtime that drove the run is gone, or the run itself has panicked: neither leaves a summary to
    /// return.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<RunSummary> {
        match Pin::new(&mut self.task).poll(context) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Ok(summary)) => Poll::Ready(summary),
            Poll::Ready(Err(error)) => propagate_panic(error),
        }
    }
}

/// Propagates the panic of the run's task.
#[expect(
    clippy::panic,
    reason = "there is no summary to return: the caller has dropped the runtime"
)]
fn propagate_panic(error: JoinError) -> ! {
    if let Ok(panic) = error.try_into_panic() {
        std::panic::resume_unwind(panic);
    }
    panic!("the tokio runtime that drove the run is gone")
}

impl Drop for RunHandle {
    /// Dropping the handle aborts the run and its calls.
    fn drop(&mut self) {
        self.task.abort();
    }
}
