//! What ran while its plan was still being written.

use std::sync::Arc;

use planwright_core::Value;
use planwright_planner::stream::{EarlyCall, Streamed};
use serde::Serialize;

use super::report::{ErrorV1, ReportV1};
use super::trim::Trim;

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

impl StreamedV1 {
    /// What ran early of `streamed`, with no value larger than that, where there is a bound.
    pub fn new(streamed: &Streamed, max_bytes: Option<u64>) -> Self {
        let trim = max_bytes.map(Trim::to);
        let early = streamed.early.iter().map(|call| {
            let mut call = EarlyCallV1::from(call);
            if let Some(trim) = trim {
                trim.fields(&mut call.args);
            }
            call
        });
        let abandoned = streamed.abandoned.as_ref().map(|summary| {
            let report = ReportV1::of_run(summary, Some("native"), []);
            match trim {
                Some(trim) => trim.report(report),
                None => report,
            }
        });
        Self {
            first_call_at: streamed.first_call_at,
            early: early.collect(),
            abandoned,
        }
    }
}

impl From<&EarlyCall> for EarlyCallV1 {
    fn from(call: &EarlyCall) -> Self {
        Self {
            address: call.at.to_string(),
            attempt: call.attempt,
            tool: Arc::clone(&call.tool),
            args: call.args.clone(),
            error: call.error.as_ref().map(ErrorV1::from),
            counts: call.counts,
        }
    }
}
