//! What a step is told that a guard stops.

use planwright_core::Value;

use super::guards::Bound;
use crate::backend::{ErrorKind, ToolError};

/// The guards, as the configuration names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Calls,
    ToolCalls,
    ServerCalls,
    OutputBytes,
    WrittenBytes,
    FailuresInARow,
    WallTime,
    SameCall,
    SameRounds,
}

impl Kind {
    fn as_str(self) -> &'static str {
        match self {
            Self::Calls => "calls",
            Self::ToolCalls => "tools",
            Self::ServerCalls => "servers",
            Self::OutputBytes => "output_bytes",
            Self::WrittenBytes => "written_bytes",
            Self::FailuresInARow => "failures_in_a_row",
            Self::WallTime => "wall_time",
            Self::SameCall => "same_call",
            Self::SameRounds => "same_rounds",
        }
    }
}

/// The error of a step that a guard stopped. Another attempt would not mend it.
pub(crate) fn refusal(kind: Kind, limit: u64, set_in: &str, message: String) -> ToolError {
    ToolError::new(ErrorKind::Budget, message).with_data(Value::object([
        ("guard", Value::from(kind.as_str())),
        ("limit", Value::from(limit)),
        ("set_in", Value::from(set_in)),
    ]))
}

impl Bound {
    /// The error of a step that this bound stopped.
    pub(crate) fn refuses(&self, kind: Kind, message: String) -> ToolError {
        refusal(kind, self.most, &self.set_in, message)
    }
}
