//! How a loop ended.

use std::fmt;
use std::sync::Arc;

use planwright_core::{Diagnostics, Value};

use super::bounds::AgentBound;
use super::state::AgentState;
use crate::model::{Declined, ModelError};

/// How a loop ended.
#[derive(Debug)]
#[non_exhaustive]
pub struct AgentOutcome {
    /// By which rule.
    pub end: AgentEnd,
    /// The output, where it has one.
    pub output: Option<Value>,
    /// Where it stands. A loop that ended by a bound, for a person or for a fault can go on from there.
    pub state: AgentState,
}

/// By which rule a loop ended.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum AgentEnd {
    /// A solution had an output, and nothing beside it failed.
    Output,
    /// A solution had neither calls nor an output.
    NoCalls,
    /// The context wants solutions to be shown: there is one.
    Shown,
    /// A run waits for a person.
    Waiting(Arc<str>),
    /// A run was given up.
    Cancelled,
    /// This is used up.
    Bound(AgentBound),
    /// The same solution came twice in a row, and nothing had changed by it.
    Stuck,
    /// No answer of the round was sound; what was wrong with the last.
    Unsound(Diagnostics),
    /// The model said something in place of a solution.
    Declined(Declined),
    /// The model did not answer.
    Model(ModelError),
    /// Where the loop stands could not be kept.
    Unkept(String),
}

impl AgentEnd {
    /// The rule in one word, as programs read it.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Output => "output",
            Self::NoCalls => "no_calls",
            Self::Shown => "shown",
            Self::Waiting(_) => "waiting",
            Self::Cancelled => "cancelled",
            Self::Bound(_) => "bound",
            Self::Stuck => "stuck",
            Self::Unsound(_) => "unsound",
            Self::Declined(declined) => declined.as_str(),
            Self::Model(_) => "model",
            Self::Unkept(_) => "unkept",
        }
    }
}

impl fmt::Display for AgentEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Output => f.write_str("the output is known"),
            Self::NoCalls => f.write_str("the model wants no further calls and has no output"),
            Self::Shown => f.write_str("the solution was shown, and nothing was called"),
            Self::Waiting(run) => write!(f, "the run `{run}` waits for a person"),
            Self::Cancelled => f.write_str("it was given up"),
            Self::Bound(bound) => write!(f, "nothing is left of the {bound} that it may take"),
            Self::Stuck => {
                f.write_str("the same solution came twice in a row, and nothing had changed by it")
            }
            Self::Unsound(_) => f.write_str("no answer of the model was a sound solution"),
            Self::Declined(declined) => write!(f, "the model {declined}"),
            Self::Model(error) => write!(f, "{error}"),
            Self::Unkept(why) => write!(f, "where the loop stands cannot be kept: {why}"),
        }
    }
}
