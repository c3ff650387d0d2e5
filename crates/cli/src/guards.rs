//! The bounds of a run: those of the configuration, and those of the command line in their place.

use planwright::config::Config;
use planwright::engine::{Bound, Guards};

use super::args::GuardArguments;

const MAX_CALLS: &str = "--max-calls";
const MAX_TIME: &str = "--max-time";

/// The bounds of a run that begins.
pub(crate) fn begin(arguments: &GuardArguments, config: &Config) -> Guards {
    let mut guards = config.guards().clone();
    if let Some(most) = arguments.calls {
        guards = guards.calls(Bound::set_in(most, MAX_CALLS));
    }
    if let Some(most) = arguments.time {
        guards = guards.wall_time(Bound::set_in(most, MAX_TIME));
    }
    guards
}

/// The most bytes that are shown of one value, where that is said.
pub(crate) fn max_output(arguments: &GuardArguments, config: &Config) -> Option<u64> {
    arguments
        .output
        .or_else(|| config.max_output().map(|bound| bound.most))
}

/// The bounds of a run that goes on. The configuration counts as it is now; what the command line said when the run began
/// still holds, unless it says otherwise.
pub(crate) fn go_on(arguments: &GuardArguments, config: &Config, before: Guards) -> Guards {
    let mut guards = begin(arguments, config);
    if arguments.calls.is_none()
        && let Some(bound) = before.calls.filter(|bound| &*bound.set_in == MAX_CALLS)
    {
        guards = guards.calls(bound);
    }
    if arguments.time.is_none()
        && let Some(bound) = before.wall_time.filter(|bound| &*bound.set_in == MAX_TIME)
    {
        guards = guards.wall_time(bound);
    }
    guards
}
