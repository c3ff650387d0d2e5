//! The effects that a run asks its driver for, and the inputs with which the driver answers.

use std::sync::Arc;
use std::time::Duration;

use planwright_core::Tool;
use planwright_core::check::CheckedPlan;

use crate::approval::{ApprovalRequest, Decision};
use crate::backend::{ToolCall, ToolError, ToolOutput};
use crate::event::StampedEvent;
use crate::journal::Record;
use crate::schedule::{TaskId, Timer};

/// A request of the run to its driver.
#[derive(Debug)]
pub enum Effect {
    /// Make this call; answer with [`RunInput::AttemptEnded`].
    Call {
        /// The task that asks.
        task: TaskId,
        /// The number of the attempt in this process, from 1; the call itself counts those of earlier ones, too.
        attempt: u32,
        /// The call.
        call: Box<ToolCall>,
    },
    /// Abort the call in flight of this task, or withdraw its question.
    Abort(TaskId),
    /// Ask a person; answer with [`RunInput::Decided`].
    Ask {
        /// The task that asks.
        task: TaskId,
        /// The question.
        request: Box<ApprovalRequest>,
    },
    /// Answer with [`RunInput::TimerFired`] after this time.
    SetTimer {
        /// The task that the timer belongs to.
        task: TaskId,
        /// The timer.
        timer: Timer,
        /// The time from now.
        after: Duration,
    },
    /// Clear this timer.
    ClearTimer(TaskId, Timer),
    /// Record that a call of this tool succeeded, and its duration.
    Learn {
        /// The task that asks.
        task: TaskId,
        /// The tool.
        tool: Arc<Tool>,
        /// The time from the decision to call to the answer.
        took: Duration,
    },
    /// Send this event to all listeners.
    Emit(Box<StampedEvent>),
    /// Append this record to the journal. Calls that follow must not be sent before it is stored.
    AppendRecord {
        /// The time since the start of the run.
        at: Duration,
        /// The record.
        record: Box<Record>,
    },
}

/// An input from the driver.
#[derive(Debug)]
pub enum RunInput {
    /// A call was answered.
    AttemptEnded {
        /// The task that asks.
        task: TaskId,
        /// The number of the attempt in this process.
        attempt: u32,
        /// The answer.
        result: Result<ToolOutput, ToolError>,
    },
    /// A person has decided about a call.
    Decided {
        /// The task that asks.
        task: TaskId,
        /// The decision.
        decision: Decision,
    },
    /// A timer has expired.
    TimerFired(TaskId, Timer),
    /// The plan has further steps: the same plan, extended.
    Extend(CheckedPlan),
    /// The plan is complete; no further steps follow.
    Close,
    /// Start nothing new: the run ends once the calls in flight have ended.
    Drain,
    /// Cancel the run.
    Cancel,
    /// The run [is stuck](crate::run::RunMachine::is_stuck): end it with an error.
    EndAsStuck,
}
