//! The command line, as clap reads it.

mod kept;
mod stored;

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use planwright::config::{size, time as duration};

pub(crate) use kept::{
    DiffArguments, ExportArguments, ImportArguments, LogFormat, LogsArguments, PruneArguments,
    ReplayArguments, RunsArguments, StandingArgument,
};
pub(crate) use stored::{DeleteArguments, ListArguments, SaveArguments};

/// Checks and runs plans of tool calls over MCP servers.
#[derive(Debug, Parser)]
#[command(name = "planwright", version, max_term_width = 110)]
pub(crate) struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
    /// When to use colours: auto, always, never.
    #[arg(
        long,
        global = true,
        value_enum,
        default_value_t = Colour::Auto,
        value_name = "WHEN",
        hide_possible_values = true,
        help_heading = "Everywhere",
        display_order = 1000
    )]
    pub(crate) color: Colour,
}

/// When to use colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Colour {
    /// On a terminal, unless `NO_COLOR` is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Check a plan, then run it.
    ///
    /// Exit status: 0 succeeded, 1 a step failed, 2 usage, 3 the plan was rejected and nothing was called, 4 waiting for
    /// a decision, 130 interrupted.
    Run(Box<RunArguments>),
    /// Go on with a run that was interrupted, waits, or failed.
    ///
    /// What is done stays done. A call that was under way is made again only where its tool says that this does no harm;
    /// else the step is `unknown`, and `--retry`, `--skip` or `--set` says what is to become of it.
    ///
    /// Exit status: as `run`; 2 also where another process has the run.
    Resume(Box<ResumeArguments>),
    /// Approve a call that waits for a decision, in a run that goes on or that is kept.
    Approve(ApproveArguments),
    /// Reject a call that waits for a decision: its step fails.
    Reject(RejectArguments),
    /// List the runs that are kept, the newest first.
    Runs(RunsArguments),
    /// Tell what a run did: each call in the order of sending, what people decided, and the processes that drove it.
    Logs(LogsArguments),
    /// Drive a run again from what is kept of it, calling nothing, and prove that it decides the same.
    ///
    /// Exit status: 0 it does, 1 it decides otherwise, or that cannot be said; 2 usage.
    Replay(ReplayArguments),
    /// Tell what differs between two runs: plan, inputs, and what became of each step.
    ///
    /// Exit status: 0 nothing but times, 1 something, 2 usage.
    Diff(DiffArguments),
    /// Write a run to a file that another machine can take in, look at and replay.
    Export(ExportArguments),
    /// Take in a run that `export` wrote.
    Import(ImportArguments),
    /// Forget old runs. Those that wait for somebody, or were interrupted, stay.
    Prune(PruneArguments),
    /// Check a plan: findings only, nothing is called.
    ///
    /// Exit status: 0 sound, 2 usage, 3 rejected.
    Check(CheckArguments),
    /// Draw a plan; or a run that is kept, with how each of its steps stands.
    ///
    /// A run is named by its id, or the beginning of it, where there is neither a file nor a saved plan of that name.
    Show(ShowArguments),
    /// Write a plan in another dialect, or say what that dialect cannot say.
    ///
    /// Tools are not needed; `--servers` or `--simulate` let it know more, such as which parameters take references.
    ///
    /// Exit status: 0 converted, 2 usage, 3 the plan has faults, or something in it cannot be said; nothing was written.
    Convert(ConvertArguments),
    /// Save a plan under a name, as the newest version of it.
    ///
    /// Its text is read and must be without faults; tools are not needed. Wherever a command takes a plan, the name, with
    /// `@VERSION` for an older one, or the beginning of an id will do. A file of that name goes first.
    ///
    /// Exit status: 0 saved, 2 usage, 3 the plan has faults and nothing was saved.
    Save(SaveArguments),
    /// List the plans that are saved, with what they need to be given.
    List(ListArguments),
    /// Delete a plan that was saved, or one version of it. Runs of it keep what they need.
    Delete(DeleteArguments),
    /// List what the configured servers offer.
    Tools(ToolsArguments),
    /// Show what holds of the configuration here, and from where.
    ///
    /// The user's `planwright.toml` lies in the folder of settings, a project's in the nearest folder from here upwards, no
    /// further than the one that holds `.git`.
    Config(ConfigArguments),
    /// Trust an `mcp.json`, so that its servers are started when it is found rather than named.
    Trust(TrustArguments),
    /// Run a plan over the files of this folder, with nothing installed.
    Demo(DemoArguments),
    /// Replay a workflow that others have run, in virtual time, and compare orders.
    ///
    /// The file is a workflow in WfCommons' WfFormat, 1.4 to 1.6, with the time that each task took. Nothing is called
    /// and nobody waits: the scheduler goes by a clock that jumps. Told are the time of all when it goes level by level
    /// (barrier), first come first served, and in our order, beside the lower bound: the longest path, or the work
    /// spread over the width, whichever is more.
    Bench(BenchArguments),
    /// Print a script that completes commands and flags in a shell.
    Completions {
        /// The shell.
        #[arg(value_enum)]
        shell: Shell,
    },
}

/// A plan's text, and how it is read.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Reading the plan")]
pub(crate) struct TextArguments {
    /// The plan: a file, `-` for standard input, or the name or id of one that was saved.
    #[arg(value_name = "PLAN", help_heading = OPTIONS)]
    pub(crate) plan: PathBuf,
    /// The plan's dialect, if its shape does not tell.
    #[arg(long, visible_alias = "from", value_name = "DIALECT", value_parser = dialect_names())]
    pub(crate) dialect: Option<String>,
    /// The deepest nesting that a plan's text may have.
    #[arg(long, value_name = "N", default_value_t = 128)]
    pub(crate) max_depth: usize,
    /// The largest text, in bytes, that is read as a plan.
    #[arg(long, value_name = "BYTES", default_value_t = 16 * 1024 * 1024)]
    pub(crate) max_size: usize,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
}

/// Which plan, how it is read, and what it is given.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Reading the plan")]
pub(crate) struct PlanArguments {
    #[command(flatten)]
    pub(crate) text: TextArguments,
    /// An input or variable; VALUE is JSON where it parses, else text.
    #[arg(long = "var", value_name = "NAME=VALUE")]
    pub(crate) vars: Vec<String>,
    /// A file with a JSON object of inputs and variables; `--var` wins over it.
    #[arg(long = "vars", value_name = "FILE")]
    pub(crate) vars_file: Option<PathBuf>,
    /// A folder of plans that steps may run by name: `DIR/NAME.json`.
    #[arg(long, value_name = "DIR")]
    pub(crate) library: Option<PathBuf>,
    /// Let independent steps run together even where the dialect lists them in order.
    #[arg(long)]
    pub(crate) reorder: bool,
    /// The most steps that a plan may have, those of the plans that it runs included.
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub(crate) max_steps: usize,
}

/// Where tools come from.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Tools")]
pub(crate) struct ToolArguments {
    /// An `mcp.json`; else `./mcp.json`, `./.mcp.json`, then the one in the user's settings, once trusted.
    #[arg(long, value_name = "FILE")]
    pub(crate) servers: Option<PathBuf>,
    /// Simulated tools, which answer from a script, in place of servers.
    #[arg(long, value_name = "FILE", conflicts_with = "servers")]
    pub(crate) simulate: Option<PathBuf>,
    /// The built-in file tools (list_files, read_file, search_text, count_lines, write_file), confined to this folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
    /// Where an `mcp.json` is looked for that is not named; here, if nothing is said.
    #[arg(skip)]
    pub(crate) folder: Option<PathBuf>,
}

impl ToolArguments {
    /// Whether tools were named, rather than left to be found.
    pub(crate) fn are_named(&self) -> bool {
        self.servers.is_some() || self.simulate.is_some() || self.workspace.is_some()
    }
}

/// The heading of what is about the run. It is said flag by flag, for those of flattened arguments go on behind them.
const RUNNING: &str = "Running";

/// The heading of what is about keeping runs.
const KEEPING: &str = "Keeping";

/// The heading of what is about the estimate.
const ESTIMATE: &str = "Estimating";

/// No heading of its own: among the command's options, or its arguments.
const OPTIONS: Option<&str> = None;

/// `run`
#[derive(Args, Clone, Debug)]
pub(crate) struct RunArguments {
    #[command(flatten)]
    pub(crate) plan: PlanArguments,
    #[command(flatten)]
    pub(crate) tools: ToolArguments,
    /// Show the order, the arguments as far as they are known and the approvals that would be asked; call nothing.
    #[arg(help_heading = RUNNING, long)]
    pub(crate) dry_run: bool,
    /// How many calls may be under way at the same time.
    #[arg(help_heading = RUNNING, long, value_name = "N", default_value = "16", value_parser = positive::<NonZeroUsize>, allow_negative_numbers = true)]
    pub(crate) max_parallel: NonZeroUsize,
    /// How many of them at one server: `N` for each, `SERVER=N` for one.
    #[arg(help_heading = RUNNING, long, value_name = "[SERVER=]N")]
    pub(crate) max_per_server: Vec<String>,
    /// How many of them of one tool: `N` for each, `SERVER.TOOL=N` for one.
    #[arg(help_heading = RUNNING, long, value_name = "[TOOL=]N")]
    pub(crate) max_per_tool: Vec<String>,
    /// Attempts in all at a call that another attempt may mend.
    #[arg(help_heading = RUNNING, long, value_name = "N", default_value = "1", value_parser = positive::<NonZeroU32>, allow_negative_numbers = true)]
    pub(crate) attempts: NonZeroU32,
    /// The pause before the second attempt; it doubles from there.
    #[arg(help_heading = RUNNING, long, value_name = "TIME", default_value = "250ms", value_parser = duration, allow_negative_numbers = true)]
    pub(crate) retry_delay: Duration,
    /// The time that one attempt may take.
    #[arg(help_heading = RUNNING, long, value_name = "TIME", default_value = "60s", value_parser = time_limit, allow_negative_numbers = true)]
    pub(crate) timeout: Duration,
    /// The time that a step may take, attempts and pauses included; without limit if not given.
    #[arg(help_heading = RUNNING, long, value_name = "TIME", value_parser = time_limit, allow_negative_numbers = true)]
    pub(crate) step_timeout: Option<Duration>,
    /// Start nothing new after the first failure.
    #[arg(help_heading = RUNNING, long)]
    pub(crate) fail_fast: bool,
    /// The most tasks that the run may come to: steps, items, rounds, steps of inner plans.
    #[arg(help_heading = RUNNING, long, value_name = "N", default_value_t = 200_000)]
    pub(crate) max_tasks: usize,
    #[command(flatten)]
    pub(crate) guards: GuardArguments,
    #[command(flatten)]
    pub(crate) consent: ConsentArguments,
    /// What to print: a person's view, one JSON report, or one JSON event a line.
    #[arg(help_heading = RUNNING, long, value_enum, default_value_t = RunFormat::Text)]
    pub(crate) format: RunFormat,
    /// A file that keeps how long calls take, from run to run: what waits for a place starts accordingly.
    #[arg(help_heading = RUNNING, long, value_name = "FILE")]
    pub(crate) durations: Option<PathBuf>,
    /// Keep nothing on disk: the run cannot be resumed or looked at later.
    #[arg(help_heading = RUNNING, long, conflicts_with = "store")]
    pub(crate) no_store: bool,
}

/// Where runs and plans are kept.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct StoreArguments {
    /// The file that runs and plans are kept in; else `PLANWRIGHT_STORE`, else one in the user's data folder.
    #[arg(help_heading = KEEPING, long, value_name = "FILE")]
    pub(crate) store: Option<PathBuf>,
}

/// How much a run may call, how long, and what is shown of it.
#[derive(Args, Clone, Debug)]
pub(crate) struct GuardArguments {
    /// The most calls that the run may make, each attempt and each failed one included; without limit if not given.
    #[arg(help_heading = RUNNING, long = "max-calls", value_name = "N", allow_negative_numbers = true)]
    pub(crate) calls: Option<u64>,
    /// How long the run may take; what is under way then is given up. Without limit if not given.
    #[arg(help_heading = RUNNING, long = "max-time", value_name = "TIME", value_parser = time_limit, allow_negative_numbers = true)]
    pub(crate) time: Option<Duration>,
    /// The most that is shown of one value, such as `64KiB`; what is handed on stays whole. Text shows 256 KiB if not given,
    /// reports and events all of it.
    #[arg(help_heading = RUNNING, long = "max-output", value_name = "BYTES", value_parser = size, allow_negative_numbers = true)]
    pub(crate) output: Option<u64>,
}

/// How calls that need consent are decided about.
#[derive(Args, Clone, Debug)]
pub(crate) struct ConsentArguments {
    /// Decisions given ahead: `{TOOL: {"decision": "approve" or "reject", "args": {…}}}`.
    #[arg(help_heading = RUNNING, long, value_name = "FILE")]
    pub(crate) approvals: Option<PathBuf>,
    /// What to do about calls that need consent and have no decision yet: `ask` on the terminal, and without one let them
    /// wait; make them `all`; make `none`; `wait` until another process decides; approve the whole `plan` once, on the
    /// terminal, or as `plan:DIGEST`.
    #[arg(help_heading = RUNNING, long, value_parser = approve, default_value = "ask", value_name = "WHAT")]
    pub(crate) approve: Approve,
}

/// `approve`
#[derive(Args, Clone, Debug)]
pub(crate) struct ApproveArguments {
    #[command(flatten)]
    pub(crate) question: QuestionArguments,
    /// Make the call with these arguments in place of its own: a JSON object.
    #[arg(help_heading = OPTIONS, long, value_name = "JSON")]
    pub(crate) args: Option<String>,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
}

/// `reject`
#[derive(Args, Clone, Debug)]
pub(crate) struct RejectArguments {
    #[command(flatten)]
    pub(crate) question: QuestionArguments,
    /// Why not: the step fails with this.
    #[arg(help_heading = OPTIONS, long, value_name = "TEXT")]
    pub(crate) because: Option<String>,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
}

/// A call that waits for a decision.
#[derive(Args, Clone, Debug)]
pub(crate) struct QuestionArguments {
    /// The run: its id, or the beginning of it.
    #[arg(value_name = "RUN", help_heading = OPTIONS)]
    pub(crate) run: String,
    /// The step that wants to call, with its item or round where it has one: `STEP[0]`.
    #[arg(value_name = "STEP", help_heading = OPTIONS)]
    pub(crate) step: String,
}

/// `resume`
#[derive(Args, Clone, Debug)]
pub(crate) struct ResumeArguments {
    /// The run: its id, or the beginning of it.
    #[arg(value_name = "RUN", help_heading = OPTIONS)]
    pub(crate) run: String,
    /// Call the tool of this step again, though it may have been called before.
    #[arg(help_heading = OPTIONS, long, value_name = "STEP")]
    pub(crate) retry: Vec<String>,
    /// Do without this step.
    #[arg(help_heading = OPTIONS, long, value_name = "STEP")]
    pub(crate) skip: Vec<String>,
    /// Go on as if this step had given VALUE, which is JSON where it parses, else text.
    #[arg(help_heading = OPTIONS, long, value_name = "STEP=VALUE")]
    pub(crate) set: Vec<String>,
    /// A plan in place of the one so far: finished steps that it does not change keep their results.
    #[arg(help_heading = OPTIONS, long, value_name = "FILE")]
    pub(crate) plan: Option<PathBuf>,
    /// The dialect of that plan, if its shape does not tell.
    #[arg(help_heading = OPTIONS, long, value_name = "DIALECT", value_parser = dialect_names(), requires = "plan")]
    pub(crate) dialect: Option<String>,
    /// An input, such as a secret one, which is never kept; VALUE is JSON where it parses, else text.
    #[arg(help_heading = OPTIONS, long = "var", value_name = "NAME=VALUE")]
    pub(crate) vars: Vec<String>,
    #[command(flatten)]
    pub(crate) tools: ToolArguments,
    #[command(flatten)]
    pub(crate) guards: GuardArguments,
    #[command(flatten)]
    pub(crate) consent: ConsentArguments,
    /// What to print: a person's view, one JSON report, or one JSON event a line.
    #[arg(help_heading = RUNNING, long, value_enum, default_value_t = RunFormat::Text)]
    pub(crate) format: RunFormat,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
}

/// What to do about calls that need consent.
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

/// What `run` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RunFormat {
    /// A person's view.
    Text,
    /// One report, at the end.
    Json,
    /// One event a line, live.
    Events,
}

/// What other commands print.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A person's view.
    Text,
    /// JSON.
    Json,
}

/// `check`
#[derive(Args, Clone, Debug)]
pub(crate) struct CheckArguments {
    #[command(flatten)]
    pub(crate) plan: PlanArguments,
    #[command(flatten)]
    pub(crate) tools: ToolArguments,
    /// What to print.
    #[arg(help_heading = OPTIONS, long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
}

/// `show`
#[derive(Args, Clone, Debug)]
pub(crate) struct ShowArguments {
    #[command(flatten)]
    pub(crate) plan: PlanArguments,
    #[command(flatten)]
    pub(crate) tools: ToolArguments,
    /// The kind of picture.
    #[arg(help_heading = OPTIONS, long = "as", value_enum, default_value_t = Picture::Text, value_name = "KIND")]
    pub(crate) picture: Picture,
    /// In place of a picture: the expected time, the critical path, and what a conversation step by step would take.
    #[arg(help_heading = ESTIMATE, long, conflicts_with = "picture")]
    pub(crate) estimate: bool,
    /// How long calls take, as `run --durations` keeps it; what simulated tools sleep counts for those that it lacks.
    #[arg(help_heading = ESTIMATE, long, value_name = "FILE", requires = "estimate")]
    pub(crate) durations: Option<PathBuf>,
    /// The time that a model takes between two calls.
    #[arg(help_heading = ESTIMATE, long, value_name = "TIME", default_value = "2s", value_parser = duration, allow_negative_numbers = true, requires = "estimate")]
    pub(crate) round_trip: Duration,
    /// How many calls may be under way at the same time.
    #[arg(help_heading = ESTIMATE, long, value_name = "N", default_value = "16", value_parser = positive::<NonZeroUsize>, allow_negative_numbers = true, requires = "estimate")]
    pub(crate) max_parallel: NonZeroUsize,
    /// How to print the estimate.
    #[arg(help_heading = ESTIMATE, long, value_enum, default_value_t = Format::Text, requires = "estimate")]
    pub(crate) format: Format,
}

/// A kind of picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Picture {
    /// A graph of text.
    Text,
    /// A graph of text, of ASCII alone.
    Ascii,
    /// Mermaid.
    Mermaid,
    /// Graphviz.
    Dot,
    /// The plan as it is written.
    Source,
    /// Steps and edges as JSON.
    Json,
}

/// `convert`
#[derive(Args, Clone, Debug)]
pub(crate) struct ConvertArguments {
    #[command(flatten)]
    pub(crate) text: TextArguments,
    #[command(flatten)]
    pub(crate) tools: ToolArguments,
    /// The dialect to write the plan in.
    #[arg(help_heading = OPTIONS, long, value_name = "DIALECT", value_parser = dialect_names())]
    pub(crate) to: String,
    /// The file to write the converted plan to, in one go; else it goes to standard output.
    #[arg(help_heading = OPTIONS, long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Replace the file if it is there already.
    #[arg(help_heading = OPTIONS, long, requires = "output")]
    pub(crate) force: bool,
    /// What to print: the plan, or a report that holds it.
    #[arg(help_heading = OPTIONS, long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
}

/// `tools`
#[derive(Args, Clone, Debug)]
pub(crate) struct ToolsArguments {
    #[command(flatten)]
    pub(crate) tools: ToolArguments,
    /// Show only tools whose name or description contains this, with their schemas.
    #[arg(value_name = "TEXT", help_heading = OPTIONS)]
    pub(crate) filter: Option<String>,
    /// What to print.
    #[arg(help_heading = OPTIONS, long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
}

/// `config`
#[derive(Args, Clone, Debug)]
pub(crate) struct ConfigArguments {
    /// What to print.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
}

/// `trust`
#[derive(Args, Clone, Debug)]
pub(crate) struct TrustArguments {
    /// The `mcp.json` to trust as it is now; a change ends the trust.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Take the trust back.
    #[arg(long)]
    pub(crate) remove: bool,
}

/// `demo`
#[derive(Args, Clone, Debug)]
pub(crate) struct DemoArguments {
    /// The folder to look at.
    #[arg(value_name = "DIR", default_value = ".")]
    pub(crate) folder: PathBuf,
    /// What to print.
    #[arg(long, value_enum, default_value_t = RunFormat::Text)]
    pub(crate) format: RunFormat,
}

/// `bench`
#[derive(Args, Clone, Debug)]
pub(crate) struct BenchArguments {
    /// The workflow.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// How many tasks may be under way together; several are measured one after the other.
    #[arg(long, value_name = "N,…", default_value = "8", value_delimiter = ',', value_parser = positive::<NonZeroUsize>, allow_negative_numbers = true)]
    pub(crate) width: Vec<NonZeroUsize>,
    /// How far off the durations are that our order goes by, such as `20%`: learned ones are never exact.
    #[arg(long, value_name = "SHARE", default_value = "0%", value_parser = share, allow_negative_numbers = true)]
    pub(crate) noise: f64,
    /// Where the noise starts from; the same seed gives the same noise.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// What to print.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
}

/// The names that `--dialect` takes.
fn dialect_names() -> PossibleValuesParser {
    planwright::dialects::dialects()
        .iter()
        .map(|dialect| dialect.name())
        .collect::<Vec<_>>()
        .into()
}

/// Reads a whole number from 1 on.
fn positive<T: FromStr>(text: &str) -> Result<T, String> {
    text.parse()
        .map_err(|_| "it must be a whole number from 1 on".to_owned())
}

/// Reads what `--approve` takes.
fn approve(text: &str) -> Result<Approve, String> {
    Ok(match text {
        "ask" => Approve::Ask,
        "all" => Approve::All,
        "none" => Approve::None,
        "wait" => Approve::Wait,
        "plan" => Approve::Plan(None),
        other => match other.strip_prefix("plan:") {
            Some(digest) if digest.len() >= 12 => Approve::Plan(Some(digest.to_owned())),
            Some(_) => return Err("a digest has at least its first 12 digits".to_owned()),
            None => return Err("it is one of ask, all, none, wait, plan, plan:DIGEST".to_owned()),
        },
    })
}

/// Reads a share such as `20%`.
fn share(text: &str) -> Result<f64, String> {
    let percent = text.strip_suffix('%').unwrap_or(text).trim();
    match percent.parse::<f64>() {
        Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(percent / 100.0),
        _ => Err("it must be a share from `0%` to `100%`".to_owned()),
    }
}

/// Reads a time that something may take at most.
fn time_limit(text: &str) -> Result<Duration, String> {
    let limit = duration(text)?;
    if limit.is_zero() {
        return Err("it leaves no time at all".to_owned());
    }
    Ok(limit)
}
