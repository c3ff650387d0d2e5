//! The options of a stored run: limits, retries, budgets.

use std::collections::HashMap;
use std::fmt::Display;
use std::hash::Hash;
use std::num::{NonZeroU32, NonZeroUsize};
use std::time::Duration;

use planwright_core::expression::EvaluationLimits;
use planwright_core::plan::RetryPolicy;
use planwright_engine::guard::{Bound, Guards, Rate};
use planwright_engine::options::{FailurePolicy, RunOptions};
use planwright_engine::schedule::ConcurrencyLimits;
use serde::{Deserialize, Serialize};

/// The options of a run that its decisions depend on.
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
    /// Maximum number of attempts, for steps without their own.
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
    /// Maximum number of tasks of the run.
    pub max_tasks: usize,
    /// The bounds on calls, time and bytes.
    #[serde(default)]
    pub guards: GuardsV1,
    /// The time of the run that its expressions see, in milliseconds since 1970; absent in headers of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub now_unix_ms: Option<u64>,
}

/// The limit of one server or tool.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct LimitV1 {
    /// The limited resource.
    pub of: String,
    /// The limit.
    pub max: NonZeroUsize,
}

/// Returns the limits of servers or tools, sorted by their names.
fn limits_to_stored<N: Display>(limits: &HashMap<N, NonZeroUsize>) -> Vec<LimitV1> {
    let listed = limits.iter().map(|(of, max)| LimitV1 {
        of: of.to_string(),
        max: *max,
    });
    let mut listed: Vec<LimitV1> = listed.collect();
    listed.sort();
    listed
}

/// Returns the stored limits of servers or tools by name.
fn stored_limits<N: From<String> + Eq + Hash>(limits: &[LimitV1]) -> HashMap<N, NonZeroUsize> {
    let limits = limits.iter();
    limits
        .map(|limit| (N::from(limit.of.clone()), limit.max))
        .collect()
}

impl From<&RunOptions> for OptionsV1 {
    fn from(options: &RunOptions) -> Self {
        let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        // All fields are named, so that a new option cannot be forgotten here.
        let RunOptions {
            limits,
            retry,
            attempt_timeout,
            step_timeout,
            on_failure,
            max_tasks,
            guards,
            // The journal has the extensions of the plan.
            plan_state: _,
            // Secrets are never stored.
            secrets: _,
            secret_values: _,
            seal_key: _,
            // Only the order of ready calls depends on them; the journal has that order.
            durations: _,
            // Its limits are the same for all runs of a build; only the time is stored.
            evaluation,
            // The same for all runs of a build.
            computed_bytes: _,
            // It belongs to this process.
            meter: _,
            data: _,
        } = options;
        Self {
            max_parallel: limits.total,
            max_per_server: limits.per_server,
            servers: limits_to_stored(&limits.servers),
            max_per_tool: limits.per_tool,
            tools: limits_to_stored(&limits.tools),
            attempts: retry.attempts,
            retry_delay_ns: nanos(retry.delay),
            attempt_timeout_ns: attempt_timeout.map(nanos),
            step_timeout_ns: step_timeout.map(nanos),
            fail_fast: *on_failure == FailurePolicy::Stop,
            max_tasks: *max_tasks,
            guards: GuardsV1::from(guards),
            now_unix_ms: evaluation
                .now
                .map(|now| u64::try_from(now.as_millis()).unwrap_or(u64::MAX)),
        }
    }
}

impl From<&OptionsV1> for RunOptions {
    fn from(stored: &OptionsV1) -> Self {
        // All fields are named on both sides, so that no option that is stored is lost when the run resumes.
        let OptionsV1 {
            max_parallel,
            max_per_server,
            servers,
            max_per_tool,
            tools,
            attempts,
            retry_delay_ns,
            attempt_timeout_ns,
            step_timeout_ns,
            fail_fast,
            max_tasks,
            guards,
            now_unix_ms,
        } = stored;
        let Self {
            plan_state,
            secrets,
            secret_values,
            seal_key,
            durations,
            evaluation,
            computed_bytes,
            meter,
            data,
            limits: _,
            retry: _,
            attempt_timeout: _,
            step_timeout: _,
            on_failure: _,
            max_tasks: _,
            guards: _,
        } = Self::default();
        Self {
            limits: ConcurrencyLimits {
                total: *max_parallel,
                per_server: *max_per_server,
                servers: stored_limits(servers),
                per_tool: *max_per_tool,
                tools: stored_limits(tools),
            },
            retry: RetryPolicy {
                attempts: *attempts,
                delay: Duration::from_nanos(*retry_delay_ns),
            },
            attempt_timeout: attempt_timeout_ns.map(Duration::from_nanos),
            step_timeout: step_timeout_ns.map(Duration::from_nanos),
            on_failure: if *fail_fast {
                FailurePolicy::Stop
            } else {
                FailurePolicy::AsPlan
            },
            max_tasks: *max_tasks,
            guards: Guards::from(guards),
            evaluation: EvaluationLimits {
                now: now_unix_ms.map(Duration::from_millis),
                ..evaluation
            },
            plan_state,
            secrets,
            secret_values,
            seal_key,
            durations,
            computed_bytes,
            meter,
            data,
        }
    }
}

/// The bounds of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct GuardsV1 {
    /// Maximum number of calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<BoundV1>,
    /// The maximum numbers of calls of tools that a pattern covers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<NamedBoundV1>,
    /// The maximum numbers of calls of one server.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<NamedBoundV1>,
    /// Maximum number of bytes of output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_bytes: Option<BoundV1>,
    /// Maximum number of bytes of values as serialized.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written_bytes: Option<BoundV1>,
    /// Maximum number of failures in a row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failures_in_a_row: Option<BoundV1>,
    /// Maximum duration, in nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_time_ns: Option<BoundV1>,
    /// The largest number of calls of one tool with the same arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_call: Option<BoundV1>,
    /// The largest number of rounds in a row with the same output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_rounds: Option<BoundV1>,
    /// The rate limits of servers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rates: Vec<RateV1>,
}

/// A bound, with the place that sets it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct BoundV1 {
    /// The limit.
    #[serde(rename = "most")]
    pub limit: u64,
    /// The place that sets it.
    pub set_in: String,
}

/// Maximum number of calls of some tools or of a server.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct NamedBoundV1 {
    /// A pattern over tools, or the name of a server.
    pub of: String,
    /// The limit.
    #[serde(rename = "most")]
    pub limit: u64,
    /// The place that sets it.
    pub set_in: String,
}

/// The rate limit of a server.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RateV1 {
    /// The server.
    pub of: String,
    /// Maximum number of calls.
    pub calls: NonZeroU32,
    /// The period in which they may be made, in nanoseconds.
    pub per_ns: u64,
    /// The place that sets it.
    pub set_in: String,
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl From<&Guards> for GuardsV1 {
    fn from(guards: &Guards) -> Self {
        let bound = |bound: &Option<Bound>| {
            bound.as_ref().map(|bound| BoundV1 {
                limit: bound.limit,
                set_in: bound.set_in.to_string(),
            })
        };
        let named = |of: &str, bound: &Bound| NamedBoundV1 {
            of: of.to_owned(),
            limit: bound.limit,
            set_in: bound.set_in.to_string(),
        };
        let Guards {
            calls,
            tools,
            servers,
            output_bytes,
            written_bytes,
            failures_in_a_row,
            wall_time,
            same_call,
            same_rounds,
            rates,
        } = guards;
        Self {
            calls: bound(calls),
            tools: tools
                .iter()
                .map(|(pattern, bound)| named(pattern.as_str(), bound))
                .collect(),
            servers: servers
                .iter()
                .map(|(server, bound)| named(server, bound))
                .collect(),
            output_bytes: bound(output_bytes),
            written_bytes: bound(written_bytes),
            failures_in_a_row: bound(failures_in_a_row),
            wall_time_ns: wall_time.as_ref().map(|bound| BoundV1 {
                limit: nanos(bound.limit),
                set_in: bound.set_in.to_string(),
            }),
            same_call: bound(same_call),
            same_rounds: bound(same_rounds),
            rates: rates
                .iter()
                .map(|(server, bound)| RateV1 {
                    of: server.to_string(),
                    calls: bound.limit.calls,
                    per_ns: nanos(bound.limit.per),
                    set_in: bound.set_in.to_string(),
                })
                .collect(),
        }
    }
}

impl From<&GuardsV1> for Guards {
    fn from(stored: &GuardsV1) -> Self {
        let bound = |bound: &Option<BoundV1>| {
            bound
                .as_ref()
                .map(|bound| Bound::set_in(bound.limit, bound.set_in.as_str()))
        };
        let GuardsV1 {
            calls,
            tools,
            servers,
            output_bytes,
            written_bytes,
            failures_in_a_row,
            wall_time_ns,
            same_call,
            same_rounds,
            rates,
        } = stored;
        let mut guards = Self::new();
        guards.calls = bound(calls);
        guards.output_bytes = bound(output_bytes);
        guards.written_bytes = bound(written_bytes);
        guards.failures_in_a_row = bound(failures_in_a_row);
        guards.same_call = bound(same_call);
        guards.same_rounds = bound(same_rounds);
        for tool in tools {
            let limit = Bound::set_in(tool.limit, tool.set_in.as_str());
            guards = guards.calls_of(tool.of.as_str(), limit);
        }
        for server in servers {
            let limit = Bound::set_in(server.limit, server.set_in.as_str());
            guards = guards.calls_of_server(server.of.as_str(), limit);
        }
        if let Some(time) = wall_time_ns {
            let limit = Duration::from_nanos(time.limit);
            guards = guards.wall_time(Bound::set_in(limit, time.set_in.as_str()));
        }
        for rate in rates {
            let limit = Rate {
                calls: rate.calls,
                per: Duration::from_nanos(rate.per_ns),
            };
            guards = guards.rate(rate.of.as_str(), Bound::set_in(limit, rate.set_in.as_str()));
        }
        guards
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_come_back() {
        let rate = Rate {
            calls: NonZeroU32::MIN,
            per: Duration::from_secs(2),
        };
        let guards = Guards::new()
            .calls(Bound::set_in(1, "--max-calls"))
            .calls_of("shop.*", 2)
            .calls_of_server("shop", 3)
            .output_bytes(4)
            .written_bytes(9)
            .failures_in_a_row(5)
            .wall_time(Duration::from_millis(6))
            .same_call(7)
            .same_rounds(8)
            .rate("shop", rate);
        assert_eq!(Guards::from(&GuardsV1::from(&guards)), guards);
    }
}
