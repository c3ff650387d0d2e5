//! The expected duration of a run, `planwright.estimate/1`.

use std::time::Duration;

use planwright_engine::run::{Assumption, Estimate};
use serde::Serialize;

/// The schema's name and version.
pub const ESTIMATE_SCHEMA: &str = "planwright.estimate/1";

/// The expected duration of a run. Times are in seconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EstimateV1 {
    /// [`ESTIMATE_SCHEMA`].
    pub schema: &'static str,
    /// From the start to the end.
    pub expected_s: f64,
    /// The largest number of calls in flight.
    pub max_parallel: usize,
    /// The number of calls.
    pub calls: usize,
    /// The duration of the longest chain of calls that depend on each other.
    pub critical_path_s: f64,
    /// These calls, in their order.
    pub critical_path: Vec<EstimatedCallV1>,
    /// The duration if a model makes the calls one by one.
    pub step_by_step_s: f64,
    /// The round trip to the model that this assumes for each call.
    pub round_trip_s: f64,
    /// The assumptions, in words.
    pub assumptions: Vec<String>,
}

/// A call.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EstimatedCallV1 {
    /// The calling step.
    pub at: String,
    /// The tool, `server.tool`.
    pub tool: String,
    /// The duration.
    pub takes_s: f64,
}

impl EstimateV1 {
    /// An estimate beside a conversation in which each call costs a round trip to the model.
    pub fn new(estimate: &Estimate, max_parallel: usize, round_trip: Duration) -> Self {
        let trips = round_trip.saturating_mul(u32::try_from(estimate.calls).unwrap_or(u32::MAX));
        let path = estimate.path.iter();
        Self {
            schema: ESTIMATE_SCHEMA,
            expected_s: estimate.expected.as_secs_f64(),
            max_parallel,
            calls: estimate.calls,
            critical_path_s: path
                .clone()
                .map(|call| call.takes)
                .sum::<Duration>()
                .as_secs_f64(),
            critical_path: path
                .map(|call| EstimatedCallV1 {
                    at: call.at.to_string(),
                    tool: call.tool.qualified_name(),
                    takes_s: call.takes.as_secs_f64(),
                })
                .collect(),
            step_by_step_s: estimate.work.saturating_add(trips).as_secs_f64(),
            round_trip_s: round_trip.as_secs_f64(),
            assumptions: estimate.assumptions.iter().map(in_words).collect(),
        }
    }
}

fn in_words(assumption: &Assumption) -> String {
    match assumption {
        Assumption::Unknown { tool, takes } => {
            format!("`{tool}` takes {takes:?} a call; nothing is known of it")
        }
        Assumption::Conditions(step) => format!("the condition of `{step}` holds"),
        Assumption::OneItem(step) => {
            format!("the list of `{step}` has one item; it is not known before the run")
        }
        Assumption::OneRound(step) => format!("`{step}` ends after one round"),
        Assumption::FirstAlternative(step) => {
            format!("`{step}` finds its first alternative")
        }
        Assumption::Consent(step) => format!("no time passes until the approval of `{step}`"),
        Assumption::Shortened => "the run ends after what was counted; it has more".to_owned(),
    }
}
