//! Exit statuses, which scripts rely on.

use planwright::engine::RunStatus;

/// The outcome of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Success.
    Success,
    /// A step failed.
    Failed,
    /// Wrong usage: an invalid command line, or missing or unreadable input.
    Usage,
    /// The plan was rejected; nothing was called.
    Rejected,
    /// The run waits for approval.
    Waiting,
    /// A signal or a cancellation ended the command.
    Interrupted,
    /// A failure of the program or its system, such as output that cannot be written.
    Internal,
}

impl Exit {
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Rejected => 3,
            Self::Waiting => 4,
            Self::Internal => 70,
            Self::Interrupted => 130,
        }
    }

    pub(crate) fn of_run(status: RunStatus) -> Self {
        match status {
            RunStatus::Succeeded => Self::Success,
            RunStatus::Waiting => Self::Waiting,
            RunStatus::Cancelled => Self::Interrupted,
            _ => Self::Failed,
        }
    }
}
