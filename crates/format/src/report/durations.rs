//! Durations of calls as a file, `planwright.durations/1`.

use std::sync::Arc;
use std::time::Duration;

use planwright_engine::Durations;
use planwright_engine::durations::LearnedDuration;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

/// The schema's name and version.
pub const DURATIONS_SCHEMA: &str = "planwright.durations/1";

/// Durations of calls.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct DurationsV1 {
    /// [`DURATIONS_SCHEMA`]; what has another is not read.
    #[serde(deserialize_with = "known")]
    pub schema: String,
    /// The tools, sorted by server and name.
    pub tools: Vec<ToolDurationV1>,
}

/// Durations of calls of one tool.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ToolDurationV1 {
    /// The server.
    pub server: String,
    /// The tool.
    pub tool: String,
    /// The decaying mean, in nanoseconds.
    pub mean_ns: u64,
    /// The usual deviation of a call from the mean, in nanoseconds.
    pub spread_ns: u64,
    /// The number of calls.
    pub calls: u64,
}

fn known<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
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
                    server: server.to_string(),
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
            let (server, name) = (Arc::from(&*tool.server), Arc::from(&*tool.tool));
            durations.insert(&server, &name, learned);
        }
        durations
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
