//! What ran while its plan was still being written.

use std::sync::Arc;

use planwright_core::Value;
use serde::Serialize;

use crate::{ErrorV1, ReportV1};

/// What ran while its plan was still being written.
#[derive(Clone, Debug, Serialize)]
pub struct StreamedV1 {
    /// How much of the model's answer was there when the first call was sent, between 0 and 1; none where all of it was.
    pub first_call_at: Option<f64>,
    /// What was called before the plan was whole. All of it merely reads.
    pub early: Vec<EarlyCallV1>,
    /// What the run had come to when the plan turned out otherwise than it had begun; none where it went on.
    pub abandoned: Option<ReportV1>,
}

/// A call that was sent before the plan was whole.
#[derive(Clone, Debug, Serialize)]
pub struct EarlyCallV1 {
    /// The step, item or round: `outer/inner@instance[item]#round`, with `%`, `/`, `@`, `[`, `]` and `#` of a name percent-encoded.
    pub address: String,
    /// Which attempt, from 1.
    pub attempt: u32,
    /// The tool, as the plan names it.
    pub tool: Arc<str>,
    /// The arguments.
    pub args: Value,
    /// Why it failed, or that it was given up.
    pub error: Option<ErrorV1>,
    /// Whether the run of the whole plan goes on from it; otherwise it was in vain.
    pub counts: bool,
}
