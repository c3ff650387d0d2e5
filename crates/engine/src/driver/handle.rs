//! The caller's side of a run: the request that starts or resumes it, and the handle to it while it runs.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use planwright_core::Value;
use planwright_core::check::CheckedPlan;
use tokio::sync::mpsc;
use tokio::task::JoinError;

use super::journal_gate::JournalGate;
use crate::id::RunId;
use crate::journal::{Entry, FailingJournal, Journal, JournalError, Record};
use crate::options::{PlanState, RunOptions};
use crate::run::{History, RunMachine, RunSummary};

/// The reason why a run must not start.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    /// The history belongs to another run.
    #[error("the history is that of the run `{history}`, not of `{run}`")]
    OtherRun {
        /// The run to start.
        run: RunId,
        /// The run that the history belongs to.
        history: RunId,
    },
    /// The journal refuses the run.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

/// The specification of a run: the plan, its journal, and the history to resume from.
#[derive(Clone)]
pub struct SpawnRequest {
    run: RunId,
    plan: CheckedPlan,
    journal: Option<Arc<dyn Journal>>,
    header: Value,
    history: Option<Arc<History>>,
    plan_state: Option<PlanState>,
    pub(crate) is_cancelled: bool,
}

impl fmt::Debug for SpawnRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpawnRequest")
            .field("run", &self.run)
            .field("journal", &self.journal.is_some())
            .field("history", &self.history.is_some())
            .finish_non_exhaustive()
    }
}

impl SpawnRequest {
    /// Creates a new run of `plan` without a journal.
    pub fn new(run: RunId, plan: CheckedPlan) -> Self {
        Self {
            run,
            plan,
            journal: None,
            header: Value::Null,
            history: None,
            plan_state: None,
            is_cancelled: false,
        }
    }

    /// The run's id.
    pub fn id(&self) -> &RunId {
        &self.run
    }

    /// Stores the run in `journal`. `header` goes into its first entry, with whatever the caller needs to resume the
    /// run.
    #[must_use]
    pub fn with_journal(mut self, journal: Arc<dyn Journal>, header: Value) -> Self {
        self.journal = Some(journal);
        self.header = header;
        self
    }

    /// Resumes a run from the history in its journal. The caller ensures that the plan is that of the journal, or that
    /// the history of changed steps was [forgotten](History::forget).
    #[must_use]
    pub fn after(mut self, history: History) -> Self {
        self.history = Some(Arc::new(history));
        self
    }

    /// Starts with a provisional plan, regardless of the engine's options.
    #[must_use]
    pub fn provisional(mut self) -> Self {
        self.plan_state = Some(PlanState::Provisional);
        self
    }

    /// Cancels the run before it begins or continues: nothing is called, and it ends as cancelled.
    #[must_use]
    pub fn cancelled(mut self) -> Self {
        self.is_cancelled = true;
        self
    }

    /// Checks that the run may start: its history belongs to it, and its journal accepts it. A run
    /// that is launched although it must not start calls nothing, and its summary has [the
    /// reason](crate::RunSummary::journal_error).
    ///
    /// # Errors
    ///
    /// The reason why it must not start.
    pub fn check(&self) -> Result<(), StartError> {
        let history = self.history.as_deref();
        if let Some(of) = history.and_then(History::run)
            && *of != self.run
        {
            return Err(StartError::OtherRun {
                run: self.run.clone(),
                history: of.clone(),
            });
        }
        match &self.journal {
            Some(journal) => Ok(journal.open(&self.run, history)?),
            None => Ok(()),
        }
    }

    /// The request of a run that must not start. Calls are sent only after an acknowledged entry, so a failing journal keeps the run from
    /// calling anything.
    pub(crate) fn refused(mut self, error: &StartError) -> Self {
        let refused = FailingJournal(JournalError::new(error.to_string()));
        self.journal = Some(Arc::new(refused));
        self
    }

    pub(crate) fn open(self, mut options: RunOptions) -> (RunMachine, Option<JournalGate>) {
        let id = self.run.clone();
        let digest = self.plan.digest().clone();
        // An engine has the options of all its runs, and a streamed run starts provisional on the same engine.
        options.plan_state = self.plan_state.unwrap_or(options.plan_state);
        let mut run = RunMachine::new(self.run, self.plan, options);
        let mut turn = 0;
        if let Some(history) = self.history {
            turn = history.next_turn();
            run = run.after(history);
        }
        let Some(journal) = self.journal else {
            return (run, None);
        };
        let run = run.journaled();
        let opened = Entry {
            at: run.now(),
            turn,
            record: run.redacted(Record::Opened {
                run: Some(id),
                digest,
                header: self.header,
            }),
        };
        (run, Some(JournalGate::new(journal, opened)))
    }
}

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
    /// just as its last step ends, or to a cancelled one, may never run, and are not in its summary then.
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
    /// If the tokio runtime that drove the run is gone, or the run itself has panicked: there is no summary to return
    /// then.
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
