//! Budgets and limits of concurrent calls, as options state them.

use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;
use std::num::NonZeroUsize;

use planwright::config::Config;
use planwright::core::{ServerName, ToolName};
use planwright::dialects::document::nearest;
use planwright::engine::RunOptions;
use planwright::engine::schedule::ConcurrencyLimits;
use planwright::service::RunOverrides;

use super::toolbox::Toolbox;
use crate::args::GuardArguments;
use crate::error::CommandError;

/// A limit for all, and limits by name.
type Parsed<N> = (Option<NonZeroUsize>, HashMap<N, NonZeroUsize>);

/// Reads the values of `flag`.
pub(crate) fn parse<N: for<'a> From<&'a str> + Eq + Hash>(
    flag: &str,
    values: &[String],
) -> Result<Parsed<N>, CommandError> {
    let mut for_all = None;
    let mut named = HashMap::new();
    for value in values {
        let (name, number) = match value.rsplit_once('=') {
            Some((name, number)) => (Some(name), number),
            None => (None, value.as_str()),
        };
        let number: NonZeroUsize = number.trim().parse().map_err(|_| {
            CommandError::new(format!("`{flag} {value}` is not a limit"))
                .hint("write a whole number from 1, or NAME=NUMBER")
        })?;
        match name {
            Some(name) => {
                named.insert(N::from(name.trim()), number);
            }
            None => for_all = Some(number),
        }
    }
    Ok((for_all, named))
}

/// Rejects limits that name an unknown server or tool, since they would have no effect.
pub(crate) fn reject_unknown_names(
    limits: &ConcurrencyLimits,
    toolbox: &Toolbox,
) -> Result<(), CommandError> {
    let tools: BTreeSet<String> = toolbox
        .catalog
        .tools()
        .map(|tool| tool.qualified_name().to_string())
        .collect();
    let servers: BTreeSet<String> = toolbox
        .catalog
        .tools()
        .map(|tool| tool.server.to_string())
        .collect();
    let of_servers: Vec<&str> = limits.servers.keys().map(ServerName::as_str).collect();
    let of_tools: Vec<&str> = limits.tools.keys().map(ToolName::as_str).collect();
    for (flag, what, mut unknown, known) in [
        ("--max-per-server", "server", of_servers, &servers),
        ("--max-per-tool", "tool", of_tools, &tools),
    ] {
        unknown.retain(|name| !known.contains(*name));
        unknown.sort_unstable();
        for name in unknown {
            let error = CommandError::new(format!(
                "`{flag}` limits `{name}`, but there is no such {what}"
            ));
            let whole = known.iter().find(|known| {
                let tool = known.split_once('.').map(|(_, tool)| tool);
                tool == Some(name)
            });
            let near = nearest(name, known.iter().map(String::as_str));
            return Err(match whole.map(String::as_str).or(near) {
                Some(near) => error.hint(format!("did you mean `{near}`?")),
                None if what == "tool" && !name.contains('.') => {
                    error.hint("write `SERVER.TOOL=N`, or `N` for each tool")
                }
                // A tool of a server that was not started may exist.
                None if !toolbox.is_complete() => continue,
                None => error.hint("`planwright tools` lists them"),
            });
        }
    }
    Ok(())
}

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
        .or_else(|| config.max_output().map(|bound| bound.limit))
}
