//! How a step of a drawn run stands.

use planwright_engine::StepStatus;

/// How a step of a drawn run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mark {
    /// Its turn has not come, or it waits for a person.
    Waiting,
    /// It is under way.
    Running,
    /// It has done what it was to do.
    Succeeded,
    /// It has failed.
    Failed,
    /// It did not run, or not to its end.
    Skipped,
    /// A call of it was not answered, and may or may not have happened.
    Unknown,
}

impl Mark {
    /// The mark's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Running => "running",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
            Self::Unknown => "unknown",
        }
    }
}

impl From<StepStatus> for Mark {
    fn from(status: StepStatus) -> Self {
        match status {
            StepStatus::Succeeded => Self::Succeeded,
            StepStatus::Failed => Self::Failed,
            StepStatus::Waiting => Self::Waiting,
            StepStatus::Unknown => Self::Unknown,
            _ => Self::Skipped,
        }
    }
}
