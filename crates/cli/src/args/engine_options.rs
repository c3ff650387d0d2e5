//! The options of the engine as flags of `run`. A flag and the option that it sets are defined here together.

use std::num::{NonZeroU32, NonZeroUsize};
use std::time::Duration;

use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use planwright::config::time as duration;
use planwright::core::plan::{RETRY_FIELDS, RetryFieldKind, RetryPolicy};
use planwright::engine::RunOptions;
use planwright::engine::options::FailurePolicy;
use planwright::engine::schedule::ConcurrencyLimits;

use super::command::{RUNNING, positive, time_limit};
use crate::error::CommandError;
use crate::tools::limits;

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
        let (per_server, servers) = limits::parse("--max-per-server", &self.max_per_server)?;
        let (per_tool, tools) = limits::parse("--max-per-tool", &self.max_per_tool)?;
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

/// The retry policy: a flag for each of its fields.
#[derive(Clone, Copy, Debug)]
struct RetryArguments(RetryPolicy);

impl Args for RetryArguments {
    fn augment_args(command: Command) -> Command {
        let default = RetryPolicy::default();
        command.args(RETRY_FIELDS.iter().map(|field| {
            let flag = Arg::new(field.flag)
                .long(field.flag)
                .help(field.description)
                .help_heading(RUNNING)
                .allow_negative_numbers(true);
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
