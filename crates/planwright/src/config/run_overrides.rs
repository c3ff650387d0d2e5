//! Run options, from the configuration and its overrides.

use std::time::Duration;

use planwright_engine::{Bound, Guards, RunOptions};

use super::Config;

/// The name of the flag that bounds calls. Errors report it, and a resumed run recognises the bound by it.
const MAX_CALLS: &str = "--max-calls";

/// The name of the flag that bounds time, used like [`MAX_CALLS`].
const MAX_TIME: &str = "--max-time";

/// Options of single runs, which take precedence over the configuration.
#[derive(Clone, Debug, Default)]
pub struct RunOverrides {
    /// Limits, retries and timeouts, which a configuration does not set.
    pub base: RunOptions,
    /// The largest number of calls.
    pub max_calls: Option<u64>,
    /// The longest time that the run may take.
    pub max_time: Option<Duration>,
}

impl RunOverrides {
    /// The options of a new run. The service adds data of the store when the run is [launched](crate::Planwright::launch).
    pub fn options(&self, config: &Config) -> RunOptions {
        RunOptions {
            guards: self.guards(config),
            ..self.base.clone()
        }
    }

    /// Returns the options of a resumed run: those of `before`, with the current bounds of the configuration. A bound that was an
    /// override when the
    /// run began still applies, unless another override replaces it.
    pub fn resumed(&self, config: &Config, before: RunOptions) -> RunOptions {
        let mut guards = self.guards(config);
        if self.max_calls.is_none()
            && let Some(bound) = before.guards.calls.clone()
            && &*bound.set_in == MAX_CALLS
        {
            guards = guards.calls(bound);
        }
        if self.max_time.is_none()
            && let Some(bound) = before.guards.wall_time.clone()
            && &*bound.set_in == MAX_TIME
        {
            guards = guards.wall_time(bound);
        }
        RunOptions { guards, ..before }
    }

    fn guards(&self, config: &Config) -> Guards {
        let mut guards = config.guards().clone();
        if let Some(limit) = self.max_calls {
            guards = guards.calls(Bound::set_in(limit, MAX_CALLS));
        }
        if let Some(limit) = self.max_time {
            guards = guards.wall_time(Bound::set_in(limit, MAX_TIME));
        }
        guards
    }
}
