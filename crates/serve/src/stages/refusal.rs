//! Refusals of stages.

use std::sync::Arc;

/// A tool that the current stage does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the stage `{stage}` does not have the tool `{tool}`")]
pub struct NotInStage {
    /// The tool.
    pub tool: String,
    /// The current stage.
    pub stage: Arc<str>,
    /// The stages that have it.
    pub others: Vec<Arc<str>>,
}

impl NotInStage {
    /// The way out.
    pub fn help(&self) -> String {
        if self.others.is_empty() {
            return "no stage has it: do without the tool".to_owned();
        }
        format!("move to the stage {} first", either(&self.others))
    }
}

/// The reason why a client cannot move to a stage.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MoveError {
    /// The stage does not exist.
    #[error("there is no stage `{to}`")]
    Unknown {
        /// The stage that was asked for.
        to: Arc<str>,
        /// The one that was probably meant.
        nearest: Option<Arc<str>>,
        /// The stages that can follow.
        next: Vec<Arc<str>>,
    },
    /// The current stage does not lead there.
    #[error("no way leads from the stage `{from}` to `{to}`")]
    NoWay {
        /// The current stage.
        from: Arc<str>,
        /// The stage that was asked for.
        to: Arc<str>,
        /// The stages that can follow.
        next: Vec<Arc<str>>,
    },
    /// Something is not known that the stage needs.
    #[error("the stage `{to}` needs {}", each(.missing))]
    Missing {
        /// The stage that was asked for.
        to: Arc<str>,
        /// The names without a value.
        missing: Vec<Arc<str>>,
    },
}

impl MoveError {
    /// The way out.
    pub fn help(&self) -> String {
        match self {
            Self::Unknown {
                nearest: Some(near),
                ..
            } => format!("did you mean `{near}`?"),
            Self::Unknown { next, .. } | Self::NoWay { next, .. } if next.is_empty() => {
                "this stage is the last one: stay in it".to_owned()
            }
            Self::Unknown { next, .. } | Self::NoWay { next, .. } => {
                format!("from here you can move to {}", either(next))
            }
            Self::Missing { missing, .. } => format!("give {} a value, then move", each(missing)),
        }
    }
}

fn either(names: &[Arc<str>]) -> String {
    quoted(names).join(" or ")
}

fn each(names: &[Arc<str>]) -> String {
    quoted(names).join(" and ")
}

fn quoted(names: &[Arc<str>]) -> Vec<String> {
    names.iter().map(|name| format!("`{name}`")).collect()
}
