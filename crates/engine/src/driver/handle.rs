//! The caller's handle to a run: the commands that it sends, and the summary that it waits for.

use std::pin::Pin;
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
    Cancel,
}

/// A running run. Awaiting it gives the summary.
#[derive(Debug)]
pub struct RunHandle {
    commands: mpsc::UnboundedSender<RunCommand>,
    task: tokio::task::JoinHandle<RunSummary>,
}

impl RunHandle {
    pub(crate) fn new(
        commands: mpsc::UnboundedSender<RunCommand>,
        task: tokio::task::JoinHandle<RunSummary>,
    ) -> Self {
        Self { commands, task }
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
        Canceller(self.commands.clone())
    }

    /// Drains the run: nothing new starts, and the run ends once the calls in flight have ended. Calls that take
    /// longer than `limit` from now are cancelled. A second request can only shorten the time.
    ///
    /// A run with steps left ends as [cancelled](crate::RunStatus::Cancelled), without calls whose outcome is unknown
    /// unless the limit was exceeded, and can be resumed.
    pub fn drain(&self, limit: Duration) {
        self.canceller().drain(limit);
    }

    /// Cancels the run: calls in flight are aborted, nothing new starts.
    pub fn cancel(&self) {
        self.canceller().cancel();
    }
}

/// Cancels or drains a run.
#[derive(Clone, Debug)]
pub struct Canceller(mpsc::UnboundedSender<RunCommand>);

impl Canceller {
    /// Cancels the run: calls in flight are aborted, nothing new starts.
    pub fn cancel(&self) {
        // Sending fails only if the run has ended already.
        let _ = self.0.send(RunCommand::Cancel);
    }

    /// Drains the run, see [`RunHandle::drain`].
    pub fn drain(&self, limit: Duration) {
        // Sending fails only if the run has ended already.
        let _ = self.0.send(RunCommand::Drain(limit));
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
