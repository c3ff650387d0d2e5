//! The options of a process.

use std::collections::HashMap;
use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::Arc;
use std::time::Duration;

use planwright_engine::Guards;
use planwright_engine::options::{FailurePolicy, RunOptions};
use planwright_engine::schedule::ConcurrencyLimits;
use serde::{Deserialize, Serialize};

use super::GuardsV1;

/// The options of a run that decide how it goes.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct OptionsV1 {
    /// The largest number of calls in flight.
    pub max_parallel: NonZeroUsize,
    /// The largest number at each server that is not listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_per_server: Option<NonZeroUsize>,
    /// The largest numbers at these servers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<LimitV1>,
    /// The largest number for each tool that is not listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_per_tool: Option<NonZeroUsize>,
    /// The largest numbers for these tools.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<LimitV1>,
    /// Attempts in all, for steps that do not say otherwise.
    pub attempts: NonZeroU32,
    /// The pause before the second attempt, in nanoseconds.
    pub retry_delay_ns: u64,
    /// The time that one attempt may take, in nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt_timeout_ns: Option<u64>,
    /// The time that a step may take, in nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_timeout_ns: Option<u64>,
    /// True if nothing new starts after the first failure.
    pub fail_fast: bool,
    /// The most tasks that the run may come to.
    pub max_tasks: usize,
    /// The bounds on calls, time and bytes.
    #[serde(default)]
    pub guards: GuardsV1,
}

/// A limit of its own.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct LimitV1 {
    /// Of what.
    pub of: String,
    /// The limit.
    pub max: NonZeroUsize,
}

impl From<&RunOptions> for OptionsV1 {
    fn from(options: &RunOptions) -> Self {
        let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let listed = |limits: &HashMap<Arc<str>, NonZeroUsize>| {
            let mut listed: Vec<LimitV1> = limits
                .iter()
                .map(|(of, max)| LimitV1 {
                    of: of.to_string(),
                    max: *max,
                })
                .collect();
            listed.sort();
            listed
        };
        Self {
            max_parallel: options.limits.total,
            max_per_server: options.limits.per_server,
            servers: listed(&options.limits.servers),
            max_per_tool: options.limits.per_tool,
            tools: listed(&options.limits.tools),
            attempts: options.attempts,
            retry_delay_ns: nanos(options.retry_delay),
            attempt_timeout_ns: options.attempt_timeout.map(nanos),
            step_timeout_ns: options.step_timeout.map(nanos),
            fail_fast: options.on_failure == FailurePolicy::Stop,
            max_tasks: options.max_tasks,
            guards: GuardsV1::from(&options.guards),
        }
    }
}

impl From<&OptionsV1> for RunOptions {
    fn from(kept: &OptionsV1) -> Self {
        let listed = |limits: &[LimitV1]| {
            limits
                .iter()
                .map(|limit| (Arc::from(&*limit.of), limit.max))
                .collect()
        };
        Self {
            limits: ConcurrencyLimits {
                total: kept.max_parallel,
                per_server: kept.max_per_server,
                servers: listed(&kept.servers),
                per_tool: kept.max_per_tool,
                tools: listed(&kept.tools),
            },
            attempts: kept.attempts,
            retry_delay: Duration::from_nanos(kept.retry_delay_ns),
            attempt_timeout: kept.attempt_timeout_ns.map(Duration::from_nanos),
            step_timeout: kept.step_timeout_ns.map(Duration::from_nanos),
            on_failure: if kept.fail_fast {
                FailurePolicy::Stop
            } else {
                FailurePolicy::AsPlan
            },
            max_tasks: kept.max_tasks,
            guards: Guards::from(&kept.guards),
            ..Self::default()
        }
    }
}
