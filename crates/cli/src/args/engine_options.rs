//! The options of the engine and the bounds of runs as flags of `run`. A flag and the option that it sets are defined together: here, or
//! in the table of the library that lists them.

use std::collections::HashMap;
use std::hash::Hash;
use std::num::{NonZeroU32, NonZeroUsize};
use std::time::Duration;

use clap::{Arg, ArgMatches, Args, Command, FromArgMatches, value_parser};
use planwright::config::{BoundField, Config, RUN_BOUNDS, RunOverrides, size, time as duration};
use planwright::core::plan::{RETRY_FIELDS, RetryFieldKind, RetryPolicy};
use planwright::engine::options::FailurePolicy;
use planwright::engine::schedule::ConcurrencyLimits;
use planwright::engine::{Bound, Guards, RunOptions};

use super::shared::{RUNNING, positive, time_limit};
use crate::error::CommandError;

/// The options of the engine.
#[derive(Args, Clone, Debug)]
pub(crate) struct EngineArguments {
    /// Maximum number of calls in flight.
    #[arg(help_heading = RUNNING, long, value_name = "N", default_value = "16", value_parser = positive::<NonZeroUsize>, allow_negative_numbers = true)]
    pub(crate) max_parallel: NonZeroUsize,
    /// Maximum number of calls at one server: `N` for each, `SERVER=N` for one.
    #[arg(help_heading = RUNNING, long, value_name = "[SERVER=]N")]
    max_per_server: Vec<String>,
    /// Maximum number of calls of one tool: `N` for each, `SERVER.TOOL=N` for one.
    #[arg(help_heading = RUNNING, long, value_name = "[SERVER.TOOL=]N")]
    max_per_tool: Vec<String>,
    #[command(flatten)]
    retry: RetryArguments,
    /// The time that one attempt may go without progress, for steps and servers without their own `timeout`; an open question
    /// to a person does not count.
    #[arg(help_heading = RUNNING, long, value_name = "TIME", default_value = "60s", value_parser = time_limit, allow_negative_numbers = true)]
    pub(crate) timeout: Duration,
    /// Maximum duration of a step, attempts and pauses included; unlimited by default.
    #[arg(help_heading = RUNNING, long, value_name = "TIME", value_parser = time_limit, allow_negative_numbers = true)]
    step_timeout: Option<Duration>,
    /// Start nothing new after the first failure.
    #[arg(help_heading = RUNNING, long)]
    fail_fast: bool,
    /// Maximum number of tasks of the run: steps, items, rounds, steps of inner plans.
    #[arg(help_heading = RUNNING, long, value_name = "N", default_value_t = 200_000)]
    max_tasks: usize,
}

impl EngineArguments {
    /// Returns the options that the flags set, and defaults for the others.
    pub(crate) fn options(&self) -> Result<RunOptions, CommandError> {
        let (per_server, servers) = limits("--max-per-server", &self.max_per_server)?;
        let (per_tool, tools) = limits("--max-per-tool", &self.max_per_tool)?;
        Ok(RunOptions {
            limits: ConcurrencyLimits {
                total: self.max_parallel,
                per_server,
                servers,
                per_tool,
                tools,
            },
            retry: self.retry.0,
            attempt_timeout: Some(self.timeout),
            step_timeout: self.step_timeout,
            on_failure: if self.fail_fast {
                FailurePolicy::Stop
            } else {
                FailurePolicy::AsPlan
            },
            max_tasks: self.max_tasks,
            ..RunOptions::default()
        })
    }
}

/// A limit for all, and limits by name.
type Limits<N> = (Option<NonZeroUsize>, HashMap<N, NonZeroUsize>);

/// Reads the values of `flag`: a number for all, or `NAME=NUMBER` for one.
fn limits<N: for<'a> From<&'a str> + Eq + Hash>(
    flag: &str,
    values: &[String],
) -> Result<Limits<N>, CommandError> {
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

/// The retry policy: a flag for each of its fields.
#[derive(Clone, Copy, Debug)]
struct RetryArguments(RetryPolicy);

impl Args for RetryArguments {
    fn augment_args(command: Command) -> Command {
        let default = RetryPolicy::default();
        command.args(RETRY_FIELDS.iter().map(|field| {
            let flag = flag(field.flag, field.description);
            match &field.kind {
                RetryFieldKind::Count(access) => flag
                    .value_name("N")
                    .default_value((access.get)(&default).to_string())
                    .value_parser(positive::<NonZeroU32>),
                RetryFieldKind::Time(access) => flag
                    .value_name("TIME")
                    .default_value(format!("{:?}", (access.get)(&default)))
                    .value_parser(duration),
            }
        }))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for RetryArguments {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut arguments = Self(RetryPolicy::default());
        arguments.update_from_arg_matches(matches)?;
        Ok(arguments)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        for field in RETRY_FIELDS {
            match &field.kind {
                RetryFieldKind::Count(access) => {
                    if let Some(count) = matches.get_one::<NonZeroU32>(field.flag) {
                        (access.set)(&mut self.0, *count);
                    }
                }
                RetryFieldKind::Time(access) => {
                    if let Some(time) = matches.get_one::<Duration>(field.flag) {
                        (access.set)(&mut self.0, *time);
                    }
                }
            }
        }
        Ok(())
    }
}

/// The limits of a run, and of its output.
#[derive(Args, Clone, Debug)]
pub(crate) struct GuardArguments {
    #[command(flatten)]
    bounds: BoundArguments,
    /// Maximum size of a shown value, such as `64KiB`; values passed between steps are not trimmed. By default text shows 256 KiB,
    /// reports and events show all.
    #[arg(help_heading = RUNNING, long, value_name = "BYTES", value_parser = size, allow_negative_numbers = true)]
    max_output: Option<u64>,
}

impl GuardArguments {
    /// The overrides of the command line, over `base`.
    pub(crate) fn overrides(&self, base: RunOptions) -> RunOverrides {
        RunOverrides {
            base,
            bounds: self.bounds.0.clone(),
        }
    }

    /// The largest number of bytes that is shown of one value, if there is a limit.
    pub(crate) fn max_output(&self, config: &Config) -> Option<u64> {
        self.max_output
            .or_else(|| config.max_output().map(|bound| bound.limit))
    }
}

/// The bounds of a run: a flag for each that has one.
#[derive(Clone, Debug)]
struct BoundArguments(Guards);

impl Args for BoundArguments {
    fn augment_args(command: Command) -> Command {
        let flags = RUN_BOUNDS.iter().filter_map(|bound| {
            let name = bound.flag.as_ref()?;
            let flag = flag(long(name.name), name.description);
            Some(match &bound.field {
                BoundField::Count(_) => flag.value_name("N").value_parser(value_parser!(u64)),
                BoundField::Time(_) => flag.value_name("TIME").value_parser(time_limit),
            })
        });
        command.args(flags)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for BoundArguments {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut arguments = Self(Guards::new());
        arguments.update_from_arg_matches(matches)?;
        Ok(arguments)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        for bound in RUN_BOUNDS {
            let Some(flag) = &bound.flag else {
                continue;
            };
            match &bound.field {
                BoundField::Count(field) => {
                    if let Some(limit) = matches.get_one::<u64>(long(flag.name)) {
                        *(field.slot)(&mut self.0) = Some(Bound::set_in(*limit, flag.name));
                    }
                }
                BoundField::Time(field) => {
                    if let Some(limit) = matches.get_one::<Duration>(long(flag.name)) {
                        *(field.slot)(&mut self.0) = Some(Bound::set_in(*limit, flag.name));
                    }
                }
            }
        }
        Ok(())
    }
}

/// Returns the name of a flag without its hyphens.
fn long(flag: &'static str) -> &'static str {
    flag.trim_start_matches('-')
}

/// Returns a flag under the help heading of runs.
fn flag(long: &'static str, description: &'static str) -> Arg {
    Arg::new(long)
        .long(long)
        .help(description)
        .help_heading(RUNNING)
        .allow_negative_numbers(true)
}
