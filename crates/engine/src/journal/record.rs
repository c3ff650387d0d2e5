//! The entries of journals: inputs and decisions of a run.

use std::sync::Arc;
use std::time::Duration;

use planwright_core::{PlanDigest, ServerName, Value};

use crate::address::Address;
use crate::approval::CallSubject;
use crate::backend::{ToolError, ToolOutput};
use crate::id::RunId;
use crate::run::{Choice, RunStatus, SkipReason, StepStatus};
use crate::schedule::Timer;

/// An entry of a journal.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The time since the start of the run; time between two processes does not count.
    pub at: Duration,
    /// The turn of the driver, from 0. All inputs of a turn were applied before anything new was started.
    pub turn: u64,
    /// The record.
    pub record: Record,
}

/// An input or a decision of a run. Secrets are replaced by `[redacted]`.
#[derive(Clone, Debug, PartialEq)]
pub enum Record {
    /// A process has begun to drive the run: the first one, or one that resumes it. The owner of the journal stores differences in its
    /// settings.
    Opened {
        /// The run's id, if it is recorded.
        run: Option<RunId>,
        /// The plan's digest.
        digest: PlanDigest,
        /// Further data of the caller, for resuming the run.
        header: Value,
    },
    /// Decision: this call is to be sent.
    Sent {
        /// The step, item or round that called.
        at: Arc<Address>,
        /// The tool's server.
        server: ServerName,
        /// The tool's name at its server.
        tool: Arc<str>,
        /// The number of the attempt over all processes, from 1.
        attempt: u32,
        /// The arguments.
        args: Value,
        /// The [digest of the call](crate::approval::CallSubject::digest), if it needs consent.
        consent: Option<Arc<str>>,
    },
    /// Input: a call was answered.
    Answered {
        /// The step, item or round that called.
        at: Arc<Address>,
        /// The number of the attempt.
        attempt: u32,
        /// The answer.
        result: Result<ToolOutput, ToolError>,
    },
    /// Decision: this call was aborted; its answer is ignored.
    Aborted {
        /// The step, item or round that called.
        at: Arc<Address>,
        /// The number of the attempt.
        attempt: u32,
    },
    /// Decision: a person is to be asked.
    Asked {
        /// The step, item or round that makes the call.
        at: Arc<Address>,
        /// The call to decide about.
        subject: Box<CallSubject>,
        /// The reason for asking, as one clause, if it is known.
        reason: Option<Arc<str>>,
    },
    /// Input: a person has decided about a call.
    Decided {
        /// The step, item or round that makes the call.
        at: Arc<Address>,
        /// True if the call is allowed.
        approved: bool,
        /// The replacement arguments, if any.
        changed_args: Option<Value>,
        /// The reason for a rejection, in the person's words.
        because: Option<Arc<str>>,
    },
    /// Input: a person's choice about a step, made when the run was resumed.
    Chosen {
        /// The step, item or round.
        at: Arc<Address>,
        /// The choice.
        choice: Choice,
    },
    /// Input: a timer has expired.
    TimerFired {
        /// The step, item or round that the timer belongs to.
        at: Arc<Address>,
        /// The timer.
        timer: Timer,
    },
    /// Input: the plan has further steps. The owner of the journal stores the plan itself.
    Extended {
        /// The digest of the longer plan.
        digest: PlanDigest,
        /// The number of its steps.
        steps: usize,
    },
    /// Input: no further steps follow.
    Closed,
    /// Input: the run drains. Nothing new starts from here on, and calls in flight may end.
    Draining,
    /// Input: the run was cancelled.
    Cancelled,
    /// Input: the time limit of the run was exceeded.
    OutOfTime,
    /// Input: the records that follow, up to [`Resumed`](Self::Resumed), arrived while the run was computing.
    Paused {
        /// The number of commands executed since the last input.
        after: u64,
    },
    /// Input: the run resumes the interrupted work.
    Resumed,
    /// Decision: a step, item or round has ended.
    Settled {
        /// The step, item or round.
        at: Arc<Address>,
        /// The final status.
        status: StepStatus,
        /// The output, unless it is the answer to its last call or composed of the outputs of its parts.
        output: Option<Value>,
        /// The error, if it failed.
        error: Option<ToolError>,
        /// True if the plan handles the failure.
        handled: bool,
        /// The reason why it did not run, if it did not.
        reason: Option<SkipReason>,
        /// The time at which it began.
        started: Option<Duration>,
    },
    /// Decision: this process has nothing more to do.
    Ended {
        /// The status of the run.
        status: RunStatus,
    },
}

impl Record {
    /// Returns the data of the caller if this is an opening record, else `None`.
    pub fn header(&self) -> Option<&Value> {
        match self.role() {
            RecordRole::Opening(header) => Some(header),
            RecordRole::Extension | RecordRole::Input | RecordRole::Decision => None,
        }
    }

    /// Returns true if the run may have another plan from here on.
    pub fn may_change_plan(&self) -> bool {
        match self.role() {
            RecordRole::Opening(_) | RecordRole::Extension => true,
            RecordRole::Input | RecordRole::Decision => false,
        }
    }

    /// Returns true if this is an input. Everything else follows from the inputs.
    pub fn is_input(&self) -> bool {
        match self.role() {
            RecordRole::Opening(_) | RecordRole::Extension | RecordRole::Input => true,
            RecordRole::Decision => false,
        }
    }

    fn role(&self) -> RecordRole<'_> {
        match self {
            // A replay feeds exactly the inputs into a new run. One that counts as a decision would be compared instead of applied.
            Self::Opened { header, .. } => RecordRole::Opening(header),
            Self::Extended { .. } => RecordRole::Extension,
            Self::Answered { .. }
            | Self::Decided { .. }
            | Self::Chosen { .. }
            | Self::TimerFired { .. }
            | Self::Closed
            | Self::Draining
            | Self::Cancelled
            | Self::OutOfTime
            | Self::Paused { .. }
            | Self::Resumed => RecordRole::Input,
            Self::Sent { .. }
            | Self::Aborted { .. }
            | Self::Asked { .. }
            | Self::Settled { .. }
            | Self::Ended { .. } => RecordRole::Decision,
        }
    }

    /// The step, item or round of the record.
    pub fn address(&self) -> Option<&Arc<Address>> {
        match self {
            Self::Sent { at, .. }
            | Self::Answered { at, .. }
            | Self::Aborted { at, .. }
            | Self::Asked { at, .. }
            | Self::Decided { at, .. }
            | Self::Chosen { at, .. }
            | Self::TimerFired { at, .. }
            | Self::Settled { at, .. } => Some(at),
            Self::Opened { .. }
            | Self::Extended { .. }
            | Self::Closed
            | Self::Draining
            | Self::Cancelled
            | Self::OutOfTime
            | Self::Paused { .. }
            | Self::Resumed
            | Self::Ended { .. } => None,
        }
    }
}

/// The role of a record in a history.
enum RecordRole<'a> {
    /// An input: a process begins, with this data of its caller.
    Opening(&'a Value),
    /// An input: a longer plan.
    Extension,
    /// Any other input.
    Input,
    /// A consequence of the inputs.
    Decision,
}
