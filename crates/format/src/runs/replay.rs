//! What came of driving a run again from its journal, `planwright.replay/1`.

use std::fmt::Display;

use planwright_engine::run::{ReplayError, ReplayReport};
use serde::Serialize;

use super::RecordV1;

/// The schema's name and version.
pub const REPLAY_SCHEMA: &str = "planwright.replay/1";

/// What came of driving a run again from its journal.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Serialize)]
pub struct ReplayV1 {
    /// [`REPLAY_SCHEMA`].
    pub schema: &'static str,
    /// The run's id.
    pub run: String,
    /// Whether the run decides the same again, to the end of its journal.
    pub same: bool,
    /// How many processes have driven it; none where that was not proven.
    pub processes: Option<usize>,
    /// How many decisions were compared; none where not all could be.
    pub decisions: Option<usize>,
    /// How the run stands at the end of its journal.
    pub status: Option<&'static str>,
    /// Where it decides otherwise.
    pub divergence: Option<DivergenceV1>,
    /// Why it cannot be said, or what is otherwise, in one clause.
    pub error: Option<String>,
}

/// A decision that would be another one now.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Serialize)]
pub struct DivergenceV1 {
    /// The turn of the driver, from 0.
    pub turn: u64,
    /// What the journal says.
    pub written: RecordV1,
    /// What the run does now; nothing where it does nothing.
    pub now: Option<RecordV1>,
}

impl ReplayV1 {
    /// What came of it.
    pub fn new<E: Display>(run: &str, result: &Result<ReplayReport, ReplayError<E>>) -> Self {
        let replayed = result.as_ref().ok();
        let error = result.as_ref().err();
        Self {
            schema: REPLAY_SCHEMA,
            run: run.to_owned(),
            same: result.is_ok(),
            processes: replayed.map(|replayed| replayed.processes),
            decisions: replayed.map(|replayed| replayed.decisions),
            status: replayed.map(|replayed| replayed.summary.status.as_str()),
            divergence: error.and_then(DivergenceV1::of),
            error: error.map(ToString::to_string),
        }
    }
}

impl DivergenceV1 {
    fn of<E>(error: &ReplayError<E>) -> Option<Self> {
        match error {
            ReplayError::Diverged { turn, written, now } => Some(Self {
                turn: *turn,
                written: RecordV1::from(&**written),
                now: now.as_deref().map(RecordV1::from),
            }),
            _ => None,
        }
    }
}
