//! The data about a run that its pictures show.

use std::time::Duration;

use planwright_core::Value;
use planwright_engine::journal::Entry;
use planwright_engine::run::{History, StepSummary};

use crate::drawing::DrawnRunV1;

/// The data about a run that its pictures show.
#[derive(Clone, Copy, Debug)]
pub struct RunRecord<'a> {
    /// The run.
    pub run: &'a DrawnRunV1,
    /// The summaries of the steps; empty if they are not known.
    pub steps: &'a [StepSummary],
    /// The history of its calls.
    pub history: &'a History,
    /// The entries of its journal, which have the waits for people.
    pub entries: &'a [Entry],
    /// The output, if the run has ended.
    pub output: Option<&'a Value>,
}

impl RunRecord<'_> {
    /// The time that the run took.
    pub(super) fn duration(&self) -> Duration {
        Duration::from_secs_f64(self.run.duration_ms.max(0.0) / 1000.0)
    }
}
