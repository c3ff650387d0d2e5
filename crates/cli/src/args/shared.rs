//! The options that several commands share, and the forms of their values.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use planwright::config::time as duration;
use planwright::dialects::native::PlanDialect;

/// Use of colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Colour {
    /// On a terminal, unless `NO_COLOR` is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The default of `--max-steps`.
pub(super) const MAX_STEPS: usize = 10_000;

/// The default of `--max-depth`.
pub(crate) const MAX_DEPTH: usize = 128;

/// The default of `--max-size`, in bytes.
pub(crate) const MAX_SIZE: usize = 16 * 1024 * 1024;

/// A plan's text, and how it is read.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Reading the plan")]
pub(crate) struct TextArguments {
    /// The plan: a file, `-` for standard input, or the name or id of one that was saved.
    #[arg(value_name = "PLAN", help_heading = OPTIONS)]
    pub(crate) plan: PathBuf,
    /// The plan's dialect; default: recognised by its form.
    #[arg(long, visible_alias = "from", value_name = "DIALECT", value_parser = dialect_names())]
    pub(crate) dialect: Option<String>,
    /// Maximum nesting depth of a plan's text.
    #[arg(long, value_name = "N", default_value_t = MAX_DEPTH)]
    pub(crate) max_depth: usize,
    /// Maximum size of a plan's text, in bytes.
    #[arg(long, value_name = "BYTES", default_value_t = MAX_SIZE)]
    pub(crate) max_size: usize,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
}

/// The plan, the options for reading it, and its inputs.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Reading the plan")]
pub(crate) struct PlanArguments {
    #[command(flatten)]
    pub(crate) text: TextArguments,
    /// An input or variable; VALUE is parsed as JSON, or else taken as text.
    #[arg(long = "var", value_name = "NAME=VALUE")]
    pub(crate) vars: Vec<String>,
    /// A file with a JSON object of inputs and variables; `--var` overrides it.
    #[arg(long = "vars", value_name = "FILE")]
    pub(crate) vars_file: Option<PathBuf>,
    /// A folder of plans that steps may run by name: `DIR/NAME.json`. PLAN may also be such a name.
    #[arg(long, value_name = "DIR")]
    pub(crate) library: Option<PathBuf>,
    /// Let independent steps run concurrently even if the dialect lists them in order.
    #[arg(long)]
    pub(crate) reorder: bool,
    /// Maximum number of steps of a plan, including those of the plans that it runs.
    #[arg(long, value_name = "N", default_value_t = MAX_STEPS)]
    pub(crate) max_steps: usize,
}

/// The sources of tools.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Tools")]
pub(crate) struct ToolArguments {
    /// An `mcp.json`; else the nearest `mcp.json` or `.mcp.json` from here upwards, then the one in the user's settings, once trusted.
    #[arg(long, value_name = "FILE")]
    pub(crate) servers: Option<PathBuf>,
    /// Simulated tools, which answer from a script, in place of servers.
    #[arg(long, value_name = "FILE", conflicts_with = "servers")]
    pub(crate) simulate: Option<PathBuf>,
    /// The built-in file tools (list_files, read_file, search_text, count_lines, write_file), confined to this folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
    /// The folder to search for an `mcp.json`; the working folder by default.
    #[arg(skip)]
    pub(crate) folder: Option<PathBuf>,
}

impl ToolArguments {
    /// Returns true if tools were named, rather than left to be found.
    pub(crate) fn are_named(&self) -> bool {
        self.servers.is_some() || self.simulate.is_some() || self.workspace.is_some()
    }
}

/// The heading of the options of a run. It is set for each flag, since flags of flattened arguments follow them.
pub(super) const RUNNING: &str = "Running";

/// The heading of the options of storage.
pub(super) const STORAGE: &str = "Storage";

/// The heading of the options of the estimate.
pub(super) const ESTIMATE: &str = "Estimating";

/// No separate heading: among the command's options or arguments.
pub(super) const OPTIONS: Option<&str> = None;

/// The store of runs and plans.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct StoreArguments {
    /// The file that stores runs and plans, or the address of a PostgreSQL server, `postgres://USER@HOST/DATABASE`; default:
    /// `PLANWRIGHT_STORE`, else a file in the user's data folder.
    #[arg(help_heading = STORAGE, long, value_name = "FILE")]
    pub(crate) store: Option<PathBuf>,
}

/// The format of a run and of its progress.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct RunOutputArguments {
    /// Output format: text, one JSON report, or one JSON event per line.
    #[arg(help_heading = RUNNING, long, value_enum, default_value_t = RunFormat::Text)]
    pub(crate) format: RunFormat,
    /// Progress on standard error.
    #[arg(help_heading = RUNNING, long, value_enum, default_value_t = Progress::Auto, value_name = "KIND")]
    pub(crate) progress: Progress,
}

/// The output of commands about one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RunFormat {
    /// Human-readable text.
    Text,
    /// A JSON object.
    Json,
    /// A JSON object per line: an event as it happens, or an entry of the journal.
    Events,
}

/// The progress of a run on standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Progress {
    /// A live view on a terminal; elsewhere a line for each step, once the run takes longer than five seconds.
    Auto,
    /// A line for each step that ends.
    Plain,
    /// JSON events, one per line.
    Json,
    /// No progress.
    None,
}

/// The output of other commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Human-readable text.
    Text,
    /// JSON.
    Json,
}

/// Decisions about calls that need consent.
#[derive(Args, Clone, Debug)]
pub(crate) struct ConsentArguments {
    /// A file of decisions: `{TOOL: {"decision": "approve" or "reject", "args": {…}}}`.
    #[arg(help_heading = RUNNING, long, value_name = "FILE")]
    pub(crate) approvals: Option<PathBuf>,
    /// Policy for calls that need consent and have no decision yet: `ask` on the terminal, or wait without one; approve `all`;
    /// reject all (`none`); `wait` until another process decides; approve the whole `plan` once, on the terminal or as `plan:DIGEST`.
    #[arg(help_heading = RUNNING, long, value_parser = approve, default_value = "ask", value_name = "WHAT")]
    pub(crate) approve: Approve,
}

/// The drain of a run that a person or the system interrupts.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct DrainArguments {
    /// Time for calls in flight to finish after the first Ctrl-C, while no new call starts. A second Ctrl-C cancels them, a third one exits
    /// at once. After a SIGTERM, the time is 5s at most. `0s` cancels at once.
    #[arg(help_heading = RUNNING, long = "drain", value_name = "TIME", default_value = DRAIN, value_parser = planwright::config::time, allow_negative_numbers = true)]
    pub(crate) limit: Duration,
}

/// The default of `--drain`.
const DRAIN: &str = "30s";

impl Default for DrainArguments {
    fn default() -> Self {
        Self {
            limit: planwright::config::time(DRAIN).unwrap_or_default(),
        }
    }
}

/// The policy for calls that need consent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Approve {
    /// Ask on the terminal; without one, let them wait.
    Ask,
    /// Make them.
    All,
    /// Reject them.
    None,
    /// Let them wait, and the process with them, until another process decides.
    Wait,
    /// Make them once the whole plan is approved: on the terminal, or by the beginning of its digest.
    Plan(Option<String>),
}

/// Parses the value of `--digest`, which may be abbreviated.
pub(super) fn digest(text: &str) -> Result<String, String> {
    if text.len() < MIN_DIGEST_DIGITS {
        return Err(short_digest());
    }
    Ok(text.to_owned())
}

/// Minimum number of digits of an abbreviated digest.
const MIN_DIGEST_DIGITS: usize = 12;

fn short_digest() -> String {
    format!("expected at least the first {MIN_DIGEST_DIGITS} digits of the digest")
}

/// Parses the value of `--approve`.
fn approve(text: &str) -> Result<Approve, String> {
    Ok(match text {
        "ask" => Approve::Ask,
        "all" => Approve::All,
        "none" => Approve::None,
        "wait" => Approve::Wait,
        "plan" => Approve::Plan(None),
        other => match other.strip_prefix("plan:") {
            Some(digest) if digest.len() >= MIN_DIGEST_DIGITS => {
                Approve::Plan(Some(digest.to_owned()))
            }
            Some(_) => return Err(short_digest()),
            None => return Err("expected ask, all, none, wait, plan or plan:DIGEST".to_owned()),
        },
    })
}

/// The names that `--dialect` takes.
pub(super) fn dialect_names() -> PossibleValuesParser {
    planwright::dialects::dialects()
        .iter()
        .map(|dialect| dialect.name())
        .collect::<Vec<_>>()
        .into()
}

/// Parses the dialect in which a model writes plans.
pub(super) fn plan_dialect() -> impl TypedValueParser<Value = PlanDialect> {
    let names = PlanDialect::ALL.map(|dialect| {
        PossibleValue::new(dialect.as_str()).help(match dialect {
            PlanDialect::Json => "JSON",
            PlanDialect::Lines => "lines",
        })
    });
    PossibleValuesParser::new(names).try_map(|name| name.parse::<PlanDialect>())
}

/// Reads one of `words`: a name, its help, and its value.
pub(super) fn word<T: Copy + Send + Sync + 'static>(
    words: &'static [(&'static str, &'static str, T)],
) -> impl TypedValueParser<Value = T> {
    let names = words
        .iter()
        .map(|(name, help, _)| PossibleValue::new(*name).help(*help));
    PossibleValuesParser::new(names).try_map(|name| {
        let known = words.iter().find(|(known, ..)| *known == name);
        known
            .map(|(.., value)| *value)
            .ok_or_else(|| format!("unknown word `{name}`"))
    })
}

/// Reads a whole number from 1 on.
pub(super) fn positive<T: FromStr>(text: &str) -> Result<T, String> {
    text.parse()
        .map_err(|_| "it must be a whole number of at least 1".to_owned())
}

/// Parses a time limit.
pub(super) fn time_limit(text: &str) -> Result<Duration, String> {
    let limit = duration(text)?;
    if limit.is_zero() {
        return Err("it must be more than zero".to_owned());
    }
    Ok(limit)
}
