//! What a caller holds of a run that goes on by itself.

use std::pin::Pin;
use std::task::{Context, Poll};

use planwright_core::check::CheckedPlan;
use tokio::sync::mpsc;
use tokio::task::JoinError;

use crate::dispatch::Wish;
use crate::run::RunSummary;

/// A run that goes on by itself.
#[derive(Debug)]
pub struct RunHandle {
    wishes: mpsc::UnboundedSender<Wish>,
    task: tokio::task::JoinHandle<RunSummary>,
}

impl RunHandle {
    pub(crate) fn new(
        wishes: mpsc::UnboundedSender<Wish>,
        task: tokio::task::JoinHandle<RunSummary>,
    ) -> Self {
        Self { wishes, task }
    }

    /// Adds the further steps of `plan` to the run: it must be the running plan,
    /// [extended](CheckedPlan::extend).
    ///
    /// Only a run that [grows](crate::options::Arrival::Growing) waits for steps. Those that come to another one just as its last
    /// step ends, or to one that was cancelled, may never run: then they are not in its summary.
    ///
    /// # Errors
    ///
    /// The plan comes back where the run has ended.
    pub fn extend(&self, plan: CheckedPlan) -> Result<(), CheckedPlan> {
        match self.wishes.send(Wish::Extend(plan)) {
            Err(mpsc::error::SendError(Wish::Extend(plan))) => Err(plan),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Says that no further steps will come: a [growing](crate::options::Arrival::Growing) run ends with its last step, and the plan of
    /// a [tentative](crate::options::Arrival::Tentative) one is whole.
    pub fn close(&self) {
        // A run that has ended needs no telling.
        let _ = self.wishes.send(Wish::Close);
    }

    /// Stops driving the run, as if the process had died: calls under way are dropped, and the journal ends where it is, so that
    /// another process can continue the run. Nothing of it happens any more once this is over.
    pub async fn abandon(mut self) {
        self.task.abort();
        // A run that ended first has a summary that nobody asks for.
        drop((&mut self.task).await);
    }

    /// Somebody else's means to cancel the run.
    pub fn canceller(&self) -> Canceller {
        Canceller(self.wishes.clone())
    }

    /// Ends the run now: calls under way are cancelled, nothing new starts.
    pub fn cancel(&self) {
        self.canceller().cancel();
    }
}

/// Cancels a run.
#[derive(Clone, Debug)]
pub struct Canceller(mpsc::UnboundedSender<Wish>);

impl Canceller {
    /// Ends the run now: calls under way are cancelled, nothing new starts.
    pub fn cancel(&self) {
        // A run that has ended needs no telling.
        let _ = self.0.send(Wish::Cancel);
    }
}

impl Future for RunHandle {
    type Output = RunSummary;

    /// Waits for the end of the run.
    ///
    /// # Panics
    ///
    /// Where the tokio runtime that drove the run is gone, or the run itself has panicked: there is nothing to report then.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<RunSummary> {
        match Pin::new(&mut self.task).poll(context) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Ok(summary)) => Poll::Ready(summary),
            Poll::Ready(Err(error)) => give_up(error),
        }
    }
}

/// Ends as the run's task has ended.
#[expect(
    clippy::panic,
    reason = "there is no summary to give, and whoever has dropped the runtime knows"
)]
fn give_up(error: JoinError) -> ! {
    if let Ok(panic) = error.try_into_panic() {
        std::panic::resume_unwind(panic);
    }
    panic!("the tokio runtime that drove the run is gone")
}

impl Drop for RunHandle {
    /// A run that nobody waits for any more is given up, and its calls with it.
    fn drop(&mut self) {
        self.task.abort();
    }
}
