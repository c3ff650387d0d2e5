//! Interfaces that the host of a loop implements: observing and storing it, and running its solutions.

use std::sync::Arc;

use futures::future::BoxFuture;
use planwright_core::{CheckedPlan, Diagnostics, Value};
use planwright_engine::{Engine, RunSummary};
use tokio::time::Instant;

use super::state::AgentState;

/// An event in a loop.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum AgentEvent<'a> {
    /// A round starts and the model is asked.
    Asked {
        /// Number of the round, from 1.
        round: u32,
    },
    /// The model's solution has errors and is sent back.
    Unsound {
        /// The errors.
        diagnostics: &'a Diagnostics,
    },
    /// The model's solution is valid.
    Solution {
        /// The calls as the model wrote them.
        calls: &'a [Value],
        /// The output.
        output: &'a Value,
        /// The plan to run, if there is anything to run.
        plan: Option<&'a CheckedPlan>,
    },
}

/// Observer and storage of a loop.
pub trait AgentListener: Send + Sync {
    /// Handles an event.
    fn hear(&self, event: AgentEvent<'_>) {
        let _ = event;
    }

    /// Stores the state of the loop, before each run and after each round. The loop waits for it.
    ///
    /// # Errors
    ///
    /// The reason why the state cannot be stored. The loop then ends, and makes no call that was not stored before.
    fn keep(&self, state: &AgentState) -> Result<(), String> {
        let _ = state;
        Ok(())
    }
}

/// A listener that ignores events and stores nothing.
#[derive(Clone, Copy, Debug)]
pub struct NoopListener;

impl AgentListener for NoopListener {}

/// A solution to run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AgentRun {
    /// Id of the run.
    pub id: Arc<str>,
    /// The checked plan.
    pub plan: CheckedPlan,
    /// Text of the plan, in the dialect of the Acts.
    pub text: Arc<str>,
    /// Deadline of the run.
    pub deadline: Option<Instant>,
}

/// The outcome of running a solution.
#[derive(Debug)]
pub enum SolutionOutcome {
    /// The run has ended.
    Ended(Box<RunSummary>),
    /// The run has ended, with calls that a person had changed before.
    Changed {
        /// The calls that ran instead.
        calls: Vec<Value>,
        /// Summary of the run.
        summary: Box<RunSummary>,
    },
    /// A person refused to run the solution, with the reason to tell the model.
    Refused(String),
    /// The solution did not run, and the loop should end.
    Aborted,
}

/// The outcome of resuming a run.
#[derive(Debug)]
pub enum ResumeOutcome {
    /// The run has ended, now or before.
    SolutionOutcome(SolutionOutcome),
    /// The run never started.
    NotStarted,
    /// The run may or may not have started.
    Unknown,
}

/// Runs solutions on an engine and stores the runs if they are to be stored.
pub trait SolutionRunner: Send + Sync {
    /// Runs a solution to its end.
    fn run(&self, run: AgentRun) -> BoxFuture<'_, SolutionOutcome>;

    /// Resumes a run that another process may have started.
    fn resume(&self, run: AgentRun) -> BoxFuture<'_, ResumeOutcome> {
        let _ = run;
        Box::pin(async { ResumeOutcome::Unknown })
    }
}

impl SolutionRunner for Engine {
    fn run(&self, run: AgentRun) -> BoxFuture<'_, SolutionOutcome> {
        Box::pin(async move {
            let (handle, events) = self.start(run.id, run.plan);
            // The loop needs the summary only.
            drop(events);
            let canceller = handle.canceller();
            let out_of_time = async {
                match run.deadline {
                    Some(deadline) => tokio::time::sleep_until(deadline).await,
                    None => std::future::pending().await,
                }
            };
            tokio::pin!(handle);
            let summary = tokio::select! {
                summary = &mut handle => summary,
                () = out_of_time => {
                    canceller.cancel();
                    // The summary of a cancelled run still lists the calls that are done.
                    handle.as_mut().await
                }
            };
            SolutionOutcome::Ended(Box::new(summary))
        })
    }
}
