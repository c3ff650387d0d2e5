//! The replay of a run from its journal, `planwright.replay/1`.

use std::fmt::Display;

use planwright_engine::run::{ReplayError, ReplayReport};
use serde::Serialize;

use super::RecordV1;

/// The schema's name and version.
pub const REPLAY_SCHEMA: &str = "planwright.replay/1";

/// The replay of a run from its journal.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Serialize)]
pub struct ReplayV1 {
    /// [`REPLAY_SCHEMA`].
    pub schema: &'static str,
    /// The run's id.
    pub run: String,
    /// True if the run decides the same again, to the end of its journal.
    pub same: bool,
    /// The number of processes that drove it; none if that was not proved.
    pub processes: Option<usize>,
    /// The number of compared decisions; none if not all could be compared.
    pub decisions: Option<usize>,
    /// The status of the run at the end of its journal.
    pub status: Option<&'static str>,
    /// The first divergence.
    pub divergence: Option<DivergenceV1>,
    /// The reason why the replay failed or diverged, as one clause.
    pub error: Option<String>,
}

/// A decision that would be another one now.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Serialize)]
pub struct DivergenceV1 {
    /// The turn of the driver, from 0.
    pub turn: u64,
    /// The record in the journal.
    pub written: RecordV1,
    /// The record of the replay; none if the replay does nothing.
    pub now: Option<RecordV1>,
}

impl ReplayV1 {
    /// The document about a result.
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
