//! Who hears how a loop goes on, and keeps where it stands.

use planwright_core::{CheckedPlan, Diagnostics, Value};

use super::state::AgentState;

/// What happens in a loop.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum AgentEvent<'a> {
    /// The model is asked.
    Asked {
        /// For which round, from 1.
        round: u32,
    },
    /// Its answer cannot be run, and goes back to it.
    Unsound {
        /// What is wrong.
        findings: &'a Diagnostics,
    },
    /// A solution was found, and what it says is sound.
    Solution {
        /// Its calls, as the model wrote them.
        calls: &'a [Value],
        /// Its output.
        output: &'a Value,
        /// What runs of it.
        plan: Option<&'a CheckedPlan>,
    },
}

/// Hears how a loop goes on, and keeps where it stands.
pub trait AgentListener: Send + Sync {
    /// Something happens.
    fn hear(&self, event: AgentEvent<'_>) {
        let _ = event;
    }

    /// The loop stands here: before each run and after each round. It does not go on before this has returned.
    ///
    /// # Errors
    ///
    /// Where it cannot be kept; the loop then ends, with nothing called that was not kept.
    fn keep(&self, state: &AgentState) -> Result<(), String> {
        let _ = state;
        Ok(())
    }
}

/// Hears nothing and keeps nothing.
#[derive(Clone, Copy, Debug)]
pub struct Deaf;

impl AgentListener for Deaf {}
