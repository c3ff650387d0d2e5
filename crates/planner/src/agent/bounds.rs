//! How much a loop may take.

use std::fmt;
use std::num::NonZeroU32;
use std::time::Duration;

use crate::model::TEMPERATURE;

/// How much a loop may take, and how it is gone about.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct AgentBounds {
    /// The most rounds, in all.
    pub rounds: NonZeroU32,
    /// How often the model is asked for one solution.
    pub tries: NonZeroU32,
    /// How often the model is asked in all.
    pub asks: Option<NonZeroU32>,
    /// The most tokens that are read and written in all.
    pub tokens: Option<u64>,
    /// The most that the answers may cost, in US dollars, as far as prices are known.
    pub cost: Option<f64>,
    /// How long the loop may take in all, in all processes that go on with it.
    pub time: Option<Duration>,
    /// How many tokens are spent on telling of tools.
    pub tool_tokens: usize,
    /// How many tokens are spent on state, data, plan and errors, as far as cutting long values helps.
    pub context_tokens: usize,
    /// How large an answer is looked at, in bytes.
    pub reply_bytes: usize,
    /// How free the model is.
    pub temperature: f64,
    /// The most tokens that it may answer with.
    pub max_tokens: Option<u32>,
}

impl Default for AgentBounds {
    fn default() -> Self {
        Self {
            rounds: NonZeroU32::MIN.saturating_add(9),
            tries: NonZeroU32::MIN.saturating_add(2),
            asks: None,
            tokens: None,
            cost: None,
            time: None,
            tool_tokens: 6000,
            context_tokens: 8000,
            reply_bytes: 256 * 1024,
            temperature: TEMPERATURE,
            max_tokens: None,
        }
    }
}

/// What was used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AgentBound {
    /// The rounds.
    Rounds,
    /// The questions to the model.
    Asks,
    /// The tokens.
    Tokens,
    /// The money.
    Cost,
    /// The time.
    Time,
}

impl fmt::Display for AgentBound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Rounds => "rounds",
            Self::Asks => "questions to the model",
            Self::Tokens => "tokens",
            Self::Cost => "money",
            Self::Time => "time",
        })
    }
}
