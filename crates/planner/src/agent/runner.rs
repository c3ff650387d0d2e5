//! Who runs solutions: always an engine, with whatever belongs to it.

use std::sync::Arc;

use futures::future::BoxFuture;
use planwright_core::{CheckedPlan, Value};
use planwright_engine::{Engine, RunSummary};
use tokio::time::Instant;

/// A solution that is to run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AgentRun {
    /// The run's id.
    pub id: Arc<str>,
    /// What runs.
    pub plan: CheckedPlan,
    /// The plan's text, in the dialect of the Acts.
    pub text: Arc<str>,
    /// When there is no more time for it.
    pub until: Option<Instant>,
}

/// What became of a solution.
#[derive(Debug)]
pub enum Ran {
    /// It ran.
    Ended(Box<RunSummary>),
    /// It ran after somebody had changed its calls.
    Changed {
        /// The calls that ran in their place.
        calls: Vec<Value>,
        /// What they came to.
        summary: Box<RunSummary>,
    },
    /// Somebody did not want it to run; in their words, for the model.
    Refused(String),
    /// It did not run, and the loop is to end.
    GivenUp,
}

/// What became of a run that was begun before.
#[derive(Debug)]
pub enum Resumed {
    /// It went on, or had ended.
    Ran(Ran),
    /// It was surely never begun.
    NotBegun,
    /// Nobody knows.
    Unknown,
}

/// Runs solutions over an engine, and keeps what there is to keep of them.
pub trait Runner: Send + Sync {
    /// Runs a solution to its end.
    fn run(&self, run: AgentRun) -> BoxFuture<'_, Ran>;

    /// Goes on with a run that may have been begun by another process.
    fn resume(&self, run: AgentRun) -> BoxFuture<'_, Resumed> {
        let _ = run;
        Box::pin(async { Resumed::Unknown })
    }
}

impl Runner for Engine {
    fn run(&self, run: AgentRun) -> BoxFuture<'_, Ran> {
        Box::pin(async move {
            let (handle, events) = self.start(run.id, run.plan);
            drop(events);
            let canceller = handle.canceller();
            let out_of_time = async {
                match run.until {
                    Some(until) => tokio::time::sleep_until(until).await,
                    None => std::future::pending().await,
                }
            };
            tokio::pin!(handle);
            let summary = tokio::select! {
                summary = &mut handle => summary,
                () = out_of_time => {
                    canceller.cancel();
                    handle.as_mut().await
                }
            };
            Ran::Ended(Box::new(summary))
        })
    }
}
