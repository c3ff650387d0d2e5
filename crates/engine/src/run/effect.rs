//! What a run asks of its driver, and what the driver tells it.

use std::sync::Arc;
use std::time::Duration;

use planwright_core::Tool;
use planwright_core::check::CheckedPlan;

use crate::approval::{ApprovalRequest, Decision};
use crate::backend::{ToolCall, ToolError, ToolOutput};
use crate::event::StampedEvent;
use crate::journal::Record;
use crate::schedule::{TaskId, Timer};

/// Something that the driver carries out.
#[derive(Debug)]
pub enum Effect {
    /// Make this call; answer with [`Input::AttemptEnded`].
    Call {
        /// Who asks.
        task: TaskId,
        /// Which attempt of this process it is, from 1; the call itself counts those of earlier ones, too.
        attempt: u32,
        /// The call.
        call: Box<ToolCall>,
    },
    /// Give up the call that this task has under way, or the question that it has asked.
    Abort(TaskId),
    /// Ask a person; answer with [`Input::Decided`].
    Ask {
        /// Who asks.
        task: TaskId,
        /// The question.
        request: Box<ApprovalRequest>,
    },
    /// Answer with [`Input::TimerFired`] after this time.
    SetTimer {
        /// Whose timer.
        task: TaskId,
        /// Which.
        timer: Timer,
        /// How long from now.
        after: Duration,
    },
    /// Forget this timer.
    ClearTimer(TaskId, Timer),
    /// Keep in mind that a call of this tool went well and took this long.
    Learn {
        /// Who called.
        task: TaskId,
        /// The tool.
        tool: Arc<Tool>,
        /// From when the call was decided to its answer.
        took: Duration,
    },
    /// Tell everyone who listens.
    Emit(StampedEvent),
    /// Keep this in the journal. Calls that come behind it may not be sent before it is kept.
    Remember {
        /// When.
        at: Duration,
        /// What.
        record: Box<Record>,
    },
}

/// Something that the driver has to tell.
#[derive(Debug)]
pub enum Input {
    /// A call was answered.
    AttemptEnded {
        /// Who asked.
        task: TaskId,
        /// Which attempt of this process.
        attempt: u32,
        /// The answer.
        result: Result<ToolOutput, ToolError>,
    },
    /// A person has decided.
    Decided {
        /// Who asked.
        task: TaskId,
        /// The decision.
        decision: Decision,
    },
    /// A timer has run out.
    TimerFired(TaskId, Timer),
    /// The plan has further steps: the same plan, longer.
    Extend(CheckedPlan),
    /// No further steps will come.
    Close,
    /// End everything now.
    Cancel,
    /// The run [is stuck](crate::run::Run::is_stuck): end it, and say so.
    GiveUp,
}
