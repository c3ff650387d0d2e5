//! Events of a run, for journal, terminal, web and gateway.

use std::sync::Arc;
use std::time::Duration;

use planwright_core::{PlanDigest, Value};

pub use crate::address::Address;
use crate::backend::{CallProgress, ToolError};
use crate::id::RunId;
use crate::run::{RunStatus, SkipReason, StepStatus};

/// An event of a run with its time.
#[derive(Clone, Debug)]
pub struct StampedEvent {
    /// The time since the start of the run.
    pub at: Duration,
    /// The event.
    pub event: RunEvent,
}

/// An event of a run.
#[derive(Clone, Debug)]
pub enum RunEvent {
    /// The run has begun.
    RunStarted {
        /// The run's id.
        run: RunId,
        /// The plan's name.
        plan: Option<Arc<str>>,
        /// The plan's digest.
        digest: PlanDigest,
        /// The number of its steps.
        steps: usize,
    },
    /// Steps were added to the running plan.
    PlanExtended {
        /// The number of all its steps, including the added ones.
        steps: usize,
    },
    /// A step, item or round has begun.
    StepStarted {
        /// The step, item or round.
        at: Arc<Address>,
        /// The tool that it calls.
        tool: Option<Arc<str>>,
        /// The number of items, if it runs once for each item of a list.
        items: Option<u64>,
    },
    /// A call has been sent.
    AttemptStarted {
        /// The step, item or round.
        at: Arc<Address>,
        /// The tool.
        tool: Arc<str>,
        /// The number of the attempt, from 1.
        attempt: u32,
        /// The arguments.
        args: Value,
    },
    /// The tool of a call in flight has reported progress. Reports that follow one another quickly are left out.
    CallProgress {
        /// The step, item or round.
        at: Arc<Address>,
        /// The tool.
        tool: Arc<str>,
        /// The progress.
        progress: CallProgress,
    },
    /// A call has been answered, or was aborted.
    AttemptEnded {
        /// The step, item or round.
        at: Arc<Address>,
        /// The tool.
        tool: Arc<str>,
        /// The number of the attempt, from 1.
        attempt: u32,
        /// The error, if it failed.
        error: Option<ToolError>,
    },
    /// Another attempt is scheduled.
    RetryScheduled {
        /// The step, item or round.
        at: Arc<Address>,
        /// The attempt that failed.
        attempt: u32,
        /// The pause before the next attempt.
        pause: Duration,
    },
    /// A person was asked to approve a call.
    ApprovalAsked {
        /// The step, item or round.
        at: Arc<Address>,
        /// The tool.
        tool: Arc<str>,
        /// The arguments.
        args: Value,
    },
    /// A person has decided about a call.
    ApprovalDecided {
        /// The step, item or round.
        at: Arc<Address>,
        /// True if the call is allowed.
        approved: bool,
        /// The replacement arguments, if any.
        changed_args: Option<Value>,
    },
    /// The outcome of a call is unknown: its process died, its time was up, or its connection was lost. The call may
    /// have happened, and a person must decide what follows.
    OutcomeUnknown {
        /// The step, item or round.
        at: Arc<Address>,
        /// The tool.
        tool: Arc<str>,
        /// The arguments.
        args: Value,
    },
    /// A step, item or round has ended.
    StepEnded {
        /// The step, item or round.
        at: Arc<Address>,
        /// The tool that it calls.
        tool: Option<Arc<str>>,
        /// The final status.
        status: StepStatus,
        /// The output.
        output: Option<Value>,
        /// The error, if it failed.
        error: Option<ToolError>,
        /// The reason why it did not run, if it did not.
        reason: Option<SkipReason>,
        /// The number of calls of its tool.
        attempts: u32,
    },
    /// The run drains: nothing new starts, and calls in flight may end.
    RunDraining,
    /// The run has ended.
    RunEnded {
        /// The final status.
        status: RunStatus,
    },
}
