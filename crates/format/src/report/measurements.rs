//! Measurements: durations of calls, estimates of runs, tokens and cost of models.

use std::sync::Arc;
use std::time::Duration;

use planwright_core::{ServerName, ToolName};
use planwright_engine::Durations;
use planwright_engine::durations::LearnedDuration;
use planwright_engine::run::{Assumption, Estimate};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

/// The schema's name and version.
pub const DURATIONS_SCHEMA: &str = "planwright.durations/1";

/// Durations of calls.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct DurationsV1 {
    /// [`DURATIONS_SCHEMA`]; documents with another schema are rejected.
    #[serde(deserialize_with = "deserialize_schema")]
    pub schema: String,
    /// The tools, sorted by server and name.
    pub tools: Vec<ToolDurationV1>,
}

/// Durations of calls of one tool.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ToolDurationV1 {
    /// The server.
    pub server: ServerName,
    /// The tool.
    pub tool: String,
    /// The decaying mean, in nanoseconds.
    pub mean_ns: u64,
    /// The usual deviation of a call from the mean, in nanoseconds.
    pub spread_ns: u64,
    /// The number of calls.
    pub calls: u64,
}

fn deserialize_schema<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let schema = String::deserialize(deserializer)?;
    if schema == DURATIONS_SCHEMA {
        Ok(schema)
    } else {
        Err(D::Error::custom(format!(
            "the schema is `{schema}`, not `{DURATIONS_SCHEMA}`"
        )))
    }
}

impl From<&Durations> for DurationsV1 {
    fn from(durations: &Durations) -> Self {
        let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let tools = durations.tools().into_iter();
        Self {
            schema: DURATIONS_SCHEMA.to_owned(),
            tools: tools
                .map(|(server, tool, learned)| ToolDurationV1 {
                    server: server.clone(),
                    tool: tool.to_string(),
                    mean_ns: nanos(learned.mean),
                    spread_ns: nanos(learned.spread),
                    calls: learned.calls,
                })
                .collect(),
        }
    }
}

impl From<&DurationsV1> for Durations {
    fn from(written: &DurationsV1) -> Self {
        let mut durations = Self::new();
        for tool in &written.tools {
            let learned = LearnedDuration {
                mean: Duration::from_nanos(tool.mean_ns),
                spread: Duration::from_nanos(tool.spread_ns),
                calls: tool.calls,
            };
            durations.insert(&tool.server, &Arc::from(&*tool.tool), learned);
        }
        durations
    }
}

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
    /// The calls of that chain, in order.
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
    /// The tool.
    pub tool: ToolName,
    /// The duration.
    pub takes_s: f64,
}

impl EstimateV1 {
    /// Creates an estimate beside a conversation in which each call costs a round trip to the model.
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
            format!("`{tool}` takes {takes:?} per call (no measurements)")
        }
        Assumption::Conditions(step) => format!("the condition of `{step}` is true"),
        Assumption::OneItem(step) => {
            format!("the list of `{step}` has one item; it is not known before the run")
        }
        Assumption::OneRound(step) => format!("`{step}` ends after one round"),
        Assumption::FirstAlternative(step) => {
            format!("`{step}` finds its first alternative")
        }
        Assumption::Consent(step) => format!("no time passes until the approval of `{step}`"),
        Assumption::Shortened => {
            "the estimate ends before the end of the run, which has more steps".to_owned()
        }
    }
}

/// The tokens and the cost of answers.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct UsageV1 {
    /// Requests that were sent, those that failed included.
    pub requests: u32,
    /// Tokens that were read.
    pub input_tokens: u64,
    /// The number of read tokens that the provider had cached.
    pub cached_tokens: u64,
    /// Tokens that were written.
    pub output_tokens: u64,
    /// The cost in US dollars, if the price is known.
    pub cost: Option<f64>,
}

impl UsageV1 {
    /// Adds the usage of further answers.
    #[must_use]
    pub fn and(self, more: Self) -> Self {
        Self {
            requests: self.requests + more.requests,
            input_tokens: self.input_tokens + more.input_tokens,
            cached_tokens: self.cached_tokens + more.cached_tokens,
            output_tokens: self.output_tokens + more.output_tokens,
            cost: match (self.cost, more.cost) {
                (Some(so_far), Some(more)) => Some(so_far + more),
                (known, None) | (None, known) => known,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_version_is_not_read() {
        let read = |version: u32| {
            let schema = format!("planwright.durations/{version}");
            serde_json::from_value::<DurationsV1>(
                serde_json::json!({"schema": schema, "tools": []}),
            )
        };
        assert!(read(1).is_ok());
        assert_eq!(
            read(9).unwrap_err().to_string(),
            "the schema is `planwright.durations/9`, not `planwright.durations/1`"
        );
    }
}
