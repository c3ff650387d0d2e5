//! Calls that were made while the plan was still being written.

use std::sync::Arc;

use planwright_core::Value;
use serde::Serialize;

use crate::{ErrorV1, ReportV1};

/// Calls that were made while the plan was still being written.
#[derive(Clone, Debug, Serialize)]
pub struct StreamedV1 {
    /// The share of the model's answer that had arrived when the first call was sent, between 0 and 1; none if all of it had.
    pub first_call_at: Option<f64>,
    /// The calls before the plan was complete. All of them only read.
    pub early: Vec<EarlyCallV1>,
    /// The report of the early run if the final plan did not continue it; none otherwise.
    pub abandoned: Option<ReportV1>,
}

/// A call that was sent before the plan was whole.
#[derive(Clone, Debug, Serialize)]
pub struct EarlyCallV1 {
    /// The step, item or round: `outer/inner@instance[item]#round`, with `%`, `/`, `@`, `[`, `]` and `#` of a name percent-encoded.
    pub address: String,
    /// The number of the attempt, from 1.
    pub attempt: u32,
    /// The tool, as the plan names it.
    pub tool: Arc<str>,
    /// The arguments.
    pub args: Value,
    /// The reason why it failed or was cancelled.
    pub error: Option<ErrorV1>,
    /// True if the run of the whole plan goes on from it; otherwise it was in vain.
    pub counts: bool,
}
