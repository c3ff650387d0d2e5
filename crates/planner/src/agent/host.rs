//! A loop as its host sees it: the agent with its limits, the outcome, and the interfaces for observing and storing the loop and
//! for running its solutions.

use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use planwright_core::check::Policy;
use planwright_core::{CheckContext, CheckedPlan, Diagnostics, Schema, Value};
use planwright_engine::RunId;
use planwright_engine::{Engine, RunSummary};
use tokio::time::Instant;

use super::state::AgentState;
use crate::model::{DEFAULT_TEMPERATURE, DeclineReason, Model, ModelError};
use crate::prompt::TimeContext;

/// Limits and settings of a loop.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct AgentLimits {
    /// Maximum number of rounds.
    pub rounds: NonZeroU32,
    /// Maximum number of requests to the model per solution.
    pub tries: NonZeroU32,
    /// Maximum number of requests to the model in all.
    pub asks: Option<NonZeroU32>,
    /// Maximum number of input and output tokens in all.
    pub tokens: Option<u64>,
    /// Maximum cost in US dollars, as far as prices are known.
    pub cost: Option<f64>,
    /// Maximum duration of the loop, summed over all processes that run it.
    pub time: Option<Duration>,
    /// Maximum tokens of tool signatures per request.
    pub tool_tokens: usize,
    /// Target for the tokens of state, data, plan and errors per request. Long values are cut to reach it.
    pub context_tokens: usize,
    /// Maximum size of a reply, in bytes. Larger replies are rejected unread.
    pub max_reply_bytes: usize,
    /// Sampling temperature.
    pub temperature: f64,
    /// Maximum number of output tokens per reply.
    pub max_tokens: Option<u32>,
}

impl Default for AgentLimits {
    fn default() -> Self {
        Self {
            rounds: NonZeroU32::MIN.saturating_add(9),
            tries: NonZeroU32::MIN.saturating_add(2),
            asks: None,
            tokens: None,
            cost: None,
            time: None,
            tool_tokens: 6000,
            context_tokens: 8000,
            max_reply_bytes: 256 * 1024,
            temperature: DEFAULT_TEMPERATURE,
            max_tokens: None,
        }
    }
}

/// A limit that a loop has reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentLimit {
    /// The number of rounds.
    Rounds,
    /// The number of requests to the model.
    Asks,
    /// The number of tokens.
    Tokens,
    /// The cost.
    Cost,
    /// The duration.
    Time,
}

impl fmt::Display for AgentLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Rounds => "rounds",
            Self::Asks => "questions to the model",
            Self::Tokens => "tokens",
            Self::Cost => "money",
            Self::Time => "time",
        })
    }
}

/// The outcome of a loop.
#[derive(Debug)]
#[non_exhaustive]
pub struct AgentOutcome {
    /// The reason why the loop ended.
    pub end: AgentEnd,
    /// The output, if it is known.
    pub output: Option<Value>,
    /// The final state. A loop that reached a limit, waits for a person, or failed can continue from it.
    pub state: AgentState,
}

/// The reason why a loop ended.
#[derive(Clone, Debug)]
pub enum AgentEnd {
    /// A solution had an output, and no call beside it failed.
    Output,
    /// A solution had neither calls nor an output.
    NoCalls,
    /// The context asks for solutions to be shown before they run, and one was found.
    Shown,
    /// The run with this id waits for a person.
    Waiting(RunId),
    /// A run was cancelled.
    Cancelled,
    /// A limit was reached.
    Bound(AgentLimit),
    /// The same solution came twice in a row without any effect.
    Stuck,
    /// No solution of the round was valid, with the errors of the last.
    Unsound(Diagnostics),
    /// The model declined.
    Declined(DeclineReason),
    /// The model failed to reply.
    Model(ModelError),
    /// The state could not be stored.
    NotStored(String),
}

impl AgentEnd {
    /// Returns a one-word name for programs.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Output => "output",
            Self::NoCalls => "no_calls",
            Self::Shown => "shown",
            Self::Waiting(_) => "waiting",
            Self::Cancelled => "cancelled",
            Self::Bound(_) => "bound",
            Self::Stuck => "stuck",
            Self::Unsound(_) => "unsound",
            Self::Declined(reason) => reason.as_str(),
            Self::Model(_) => "model",
            // Programs know the end by this word.
            Self::NotStored(_) => "unkept",
        }
    }
}

impl fmt::Display for AgentEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Output => f.write_str("the output is known"),
            Self::NoCalls => f.write_str("the model wants no further calls and has no output"),
            Self::Shown => f.write_str("the solution was shown, and nothing was called"),
            Self::Waiting(run) => write!(f, "the run `{run}` waits for a person"),
            Self::Cancelled => f.write_str("the run was cancelled"),
            Self::Bound(limit) => write!(f, "the limit of {limit} is reached"),
            Self::Stuck => {
                f.write_str("the model sent the same solution twice, and it had no effect")
            }
            Self::Unsound(_) => f.write_str("no reply of the model was a valid solution"),
            Self::Declined(reason) => write!(f, "the model {reason}"),
            Self::Model(error) => write!(f, "{error}"),
            Self::NotStored(reason) => {
                write!(f, "the state of the loop cannot be stored: {reason}")
            }
        }
    }
}

/// An event in a loop.
#[derive(Clone, Copy, Debug)]
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
        /// The plan to run; `None` if the solution has nothing to run.
        plan: Option<&'a CheckedPlan>,
    },
}

/// Observer and storage of a loop.
pub trait AgentListener: Send + Sync {
    /// Handles an event.
    fn on_event(&self, event: AgentEvent<'_>) {
        let _ = event;
    }

    /// Stores the state of the loop, before each run and after each round. The loop waits for it.
    ///
    /// # Errors
    ///
    /// The reason why the state cannot be stored. The loop then ends, and makes no call that was not stored before.
    fn save(&self, state: &AgentState) -> Result<(), String> {
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
    pub id: RunId,
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
    Resumed(SolutionOutcome),
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

/// An agent: everything that a loop needs apart from its state.
#[derive(Clone, Copy)]
pub struct Agent<'a> {
    /// The model that writes solutions.
    pub model: &'a dyn Model,
    /// The runner of solutions.
    pub runner: &'a dyn SolutionRunner,
    /// Context of the plan check. Tools named in the agent's context restrict its catalog.
    pub check: CheckContext<'a>,
    /// Policy of the check once the model has seen results of calls, since these may contain untrusted text.
    pub policy_after_results: &'a Policy,
    /// Schema of the output.
    pub output: Option<&'a Schema>,
    /// The current day, and phrases of time in the person's messages.
    pub moment: TimeContext<'a>,
    /// Limits of the loop.
    pub bounds: &'a AgentLimits,
    /// Observer and storage of the loop.
    pub listener: &'a dyn AgentListener,
}

impl<'a> Agent<'a> {
    /// Returns the context of the check for what the model writes in this state.
    pub(super) fn check_after(&self, state: &AgentState) -> CheckContext<'a> {
        if state.completed.is_empty() {
            self.check
        } else {
            self.check.with_policy(self.policy_after_results)
        }
    }
}

impl fmt::Debug for Agent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent")
            .field("model", &self.model.name())
            .field("bounds", self.bounds)
            .finish_non_exhaustive()
    }
}
