//! The status of a step in a picture.

use planwright_engine::StepStatus;

/// The status of a step in a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mark {
    /// Its turn has not come, or it waits for a person.
    Waiting,
    /// In progress.
    Running,
    /// Succeeded.
    Succeeded,
    /// Failed.
    Failed,
    /// Not run, or not to its end.
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
