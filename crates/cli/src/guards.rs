//! The arguments that bound a run, and what it shows.

use planwright::config::Config;
use planwright::engine::RunOptions;
use planwright::service::RunOverrides;

use super::args::GuardArguments;

/// The overrides of the command line, over `base`.
pub(crate) fn overrides(arguments: &GuardArguments, base: RunOptions) -> RunOverrides {
    RunOverrides {
        base,
        max_calls: arguments.calls,
        max_time: arguments.time,
    }
}

/// The largest number of bytes that is shown of one value, if there is a limit.
pub(crate) fn max_output(arguments: &GuardArguments, config: &Config) -> Option<u64> {
    arguments
        .output
        .or_else(|| config.max_output().map(|bound| bound.most))
}
