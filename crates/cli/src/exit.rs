//! Exit statuses: what a script may rely on.

use planwright::engine::RunStatus;

/// The exit status of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// All went well.
    Success,
    /// A step failed.
    Failed,
    /// The command was not understood, or something that it needs is not there.
    Usage,
    /// The plan was rejected; nothing was called.
    Rejected,
    /// The run waits for a person.
    Waiting,
    /// The command was interrupted.
    Interrupted,
}

impl Exit {
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Rejected => 3,
            Self::Waiting => 4,
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
