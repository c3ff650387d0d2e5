//! The command line, as clap reads it.

mod inspect;
pub(crate) mod planning;
#[cfg(test)]
pub(crate) mod reference;
pub(crate) mod run;
mod serve;
mod stored;
mod wrap;

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use planwright::config::{size, time as duration};

pub(crate) use self::inspect::{DatesArguments, MomentArguments};
pub(crate) use self::planning::AskArguments;
pub(crate) use self::planning::{AdaptArguments, ModelArguments};
pub(crate) use self::planning::{ChatArguments, Protocol};
pub(crate) use self::planning::{CreateArguments, PlanningArguments};
pub(crate) use self::run::ResumeArguments;
pub(crate) use self::run::StreamArguments;
pub(crate) use self::run::{
    Approve, ApproveArguments, ConsentArguments, PassphraseArguments, QuestionArguments,
    RejectArguments,
};
pub(crate) use self::serve::LoginArguments;
pub(crate) use self::serve::{TokenArguments, TokenCommand};
pub(crate) use self::stored::{
    DiffArguments, ExportArguments, ImportArguments, LogFormat, LogsArguments, PruneArguments,
    ReplayArguments, RunsArguments, StandingArgument,
};
pub(crate) use inspect::{
    CheckArguments, ConfigArguments, ConvertArguments, FlowArguments, FlowSwitches, Picture,
    ShowArguments, ToolsArguments,
};
pub(crate) use serve::ServeArguments;
pub(crate) use stored::{DeleteArguments, ListArguments, SaveArguments};
pub(crate) use wrap::{InitArguments, WrapArguments, WrapScope};

/// Checks and runs plans of tool calls over MCP servers.
#[derive(Debug, Parser)]
#[command(name = "planwright", version, max_term_width = 110)]
pub(crate) struct Arguments {
    /// The command.
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Use of colours: auto, always, never.
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
    /// Log to standard error: a level, or parts with levels, such as `warn,planwright=debug`; `PLANWRIGHT_LOG` by default.
    #[arg(
        long,
        global = true,
        value_name = "WHAT",
        help_heading = "Everywhere",
        display_order = 1001
    )]
    pub(crate) log: Option<String>,
}

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

/// The command.
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
    /// Show a call that waits for a decision, and approve it.
    ///
    /// Asks on the terminal. Without one, `--digest` has to name the call that was looked at.
    ///
    /// Exit status: 0 approved, 2 usage, 4 not decided.
    Approve(ApproveArguments),
    /// Reject a call that waits for a decision: its step fails.
    Reject(RejectArguments),
    /// Set the passphrase that decisions from the command line want, or change it.
    Passphrase(PassphraseArguments),
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
    /// Delete old runs. Runs that wait for a person, or whose process died, stay; runs that were ended with Ctrl-C are deleted.
    Prune(PruneArguments),
    /// Check a plan, or all stored ones: diagnostics only, nothing is called.
    ///
    /// Exit status: 0 sound, 2 usage, 3 rejected.
    Check(CheckArguments),
    /// Show where the arguments of a plan come from: each guarded or leaving parameter, its sources and ways.
    ///
    /// `[flow]` in planwright.toml says what is untrusted, private and guarded; without it, the defaults hold.
    ///
    /// Exit status: 0 clean, 2 usage, 3 denied, or the plan has errors; 4 a step would ask.
    Flow(FlowArguments),
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
    /// Let a model write a plan for what you want.
    ///
    /// The model receives the tools, today's date and the meaning of phrases of time. Planwright checks its plan and returns every error to
    /// it, until the plan is sound or the attempts are used up. Nothing is called.
    ///
    /// Exit status: 0 written, 1 the model did not answer, 2 usage, 3 no answer was a sound plan.
    Create(Box<CreateArguments>),
    /// Answer a question with the tools that there are.
    ///
    /// A model writes a plan, the plan runs, what can be computed of the results is computed, and the model says what they come to:
    /// with the steps that this rests on, and with what failed or was left out. Steps that merely read run while the plan is still
    /// being written, unless `--no-stream` is given.
    ///
    /// Exit status: as `run`; 1 also where the model did not write a plan, 3 where no plan of it was sound.
    Ask(Box<AskArguments>),
    /// Talk with a model that has the tools, and can write plans and run them.
    ///
    /// The model calls tools directly, or has a plan written and run where calls need each other's results. Calls that do not need
    /// each other run at the same time. Steps of a plan that merely read run while it is still being written, unless `--no-stream` is
    /// given. What is said is kept after each round, and `--resume` goes on with it. The answers go to
    /// standard output, everything else to standard error.
    ///
    /// Exit status, of the last answer: 0 there is one, 1 the model did not answer or a bound was reached, 2 usage, 3 no solution was
    /// sound, 4 waiting for a decision, 130 interrupted.
    Chat(Box<ChatArguments>),
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
    /// List what the configured servers offer, or how it changed.
    ///
    /// Each tool of a server is pinned when it is seen first: name, description, schemas and annotations, with the way to reach its
    /// server. What changes later is shown by `--changed`, and accepted by `--accept`; until then the tool may ask before each call,
    /// as `pin` in `planwright.toml` says.
    Tools(ToolsArguments),
    /// Show what holds of the configuration here, and from where.
    ///
    /// The user's `planwright.toml` lies in the folder of settings, a project's in the nearest folder from here upwards, no
    /// further than the one that holds `.git`.
    Config(ConfigArguments),
    /// Write a `planwright.toml` to begin with, all of it comments, and an `mcp.json` where there is none.
    ///
    /// Exit status: 0 written, 2 usage; also where there is a `planwright.toml` already.
    Init(InitArguments),
    /// Put the gateway in front of the MCP servers that a client has.
    ///
    /// The servers of the client's file move to a file in the folder of settings, which its owner alone may read, and one entry
    /// stands in their place: `planwright serve` with that file. All else in the client's file stays as it is. A server that only
    /// the client can start stays, too, with the reason. The rules that the client has about their tools are added to your own
    /// `planwright.toml`; those of a project's shared files only where they make things stricter. A copy of the file is kept, and
    /// `--undo` takes the gateway and the rules away again.
    Wrap(WrapArguments),
    /// Trust an `mcp.json`, so that its servers are started when it is found rather than named.
    ///
    /// The servers are started once, so that their tools are pinned as they are. Tools that changed since they were pinned are shown;
    /// on a terminal, they can be accepted.
    Trust(TrustArguments),
    /// Be one MCP server in front of many, which takes plans.
    ///
    /// Over standard input and output, for the one client that starts it; with `--listen`, over Streamable HTTP at `/mcp` for
    /// many. Servers are started when the first client comes. What plans may call, and how much, is said in `planwright.toml`.
    ///
    /// Exit status: 0 the client went, or a signal came, 2 usage.
    Serve(ServeArguments),
    /// Log in to a server that is reached over HTTP and wants to know who you are.
    ///
    /// The page to open is printed; what the server gives out is kept in the folder of data, for its owner alone, and renewed
    /// where it can be.
    ///
    /// Exit status: 0 logged in, 2 usage, or the server does not let you in.
    Login(LoginArguments),
    /// Tokens of the clients that may reach `serve` over HTTP.
    Token(TokenArguments),
    /// Run a plan over the files of this folder, with nothing installed.
    Demo(DemoArguments),
    /// Tell what a phrase of time means: `last week`, `October 1st to October 10th`, `3 days ago`.
    ///
    /// Printed are the first day and the last, both included. No model is asked.
    ///
    /// Exit status: 0 it is known, 2 it is not, or means no days.
    Dates(DatesArguments),
    /// Print a script that completes commands and flags in a shell.
    Completions {
        /// The shell.
        #[arg(value_enum)]
        shell: Shell,
    },
}

/// The default of `--max-steps`.
const MAX_STEPS: usize = 10_000;

/// The default of `--max-depth`.
const MAX_DEPTH: usize = 128;

/// The default of `--max-size`, in bytes.
const MAX_SIZE: usize = 16 * 1024 * 1024;

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
    #[arg(long, value_name = "N", default_value_t = MAX_DEPTH)]
    pub(crate) max_depth: usize,
    /// The largest text, in bytes, that is read as a plan.
    #[arg(long, value_name = "BYTES", default_value_t = MAX_SIZE)]
    pub(crate) max_size: usize,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
}

/// The plan, the way in which it is read, and its inputs.
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
    #[arg(long, value_name = "N", default_value_t = MAX_STEPS)]
    pub(crate) max_steps: usize,
}

/// The sources of tools.
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
    /// The folder in which an `mcp.json` is searched that is not named; the working folder by default.
    #[arg(skip)]
    pub(crate) folder: Option<PathBuf>,
}

impl ToolArguments {
    /// Returns whether tools were named, rather than left to be found.
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
    #[command(flatten)]
    pub(crate) flow: FlowSwitches,
    /// Show the order, the arguments as far as they are known and the approvals that would be asked; call nothing.
    #[arg(help_heading = RUNNING, long)]
    pub(crate) dry_run: bool,
    /// Maximum number of calls in flight.
    #[arg(help_heading = RUNNING, long, value_name = "N", default_value = "16", value_parser = positive::<NonZeroUsize>, allow_negative_numbers = true)]
    pub(crate) max_parallel: NonZeroUsize,
    /// Maximum number of calls at one server: `N` for each, `SERVER=N` for one.
    #[arg(help_heading = RUNNING, long, value_name = "[SERVER=]N")]
    pub(crate) max_per_server: Vec<String>,
    /// Maximum number of calls of one tool: `N` for each, `SERVER.TOOL=N` for one.
    #[arg(help_heading = RUNNING, long, value_name = "[SERVER.TOOL=]N")]
    pub(crate) max_per_tool: Vec<String>,
    /// Attempts in all at a call that another attempt may mend.
    #[arg(help_heading = RUNNING, long, value_name = "N", default_value = "1", value_parser = positive::<NonZeroU32>, allow_negative_numbers = true)]
    pub(crate) attempts: NonZeroU32,
    /// The pause before the second attempt; it doubles from there, up to a minute, and varies by up to a fifth.
    #[arg(help_heading = RUNNING, long, value_name = "TIME", default_value = "250ms", value_parser = duration, allow_negative_numbers = true)]
    pub(crate) retry_delay: Duration,
    /// The time that one attempt may go without progress, for steps and servers without a `timeout` of their own; an open question to a
    /// person does not count.
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
    #[command(flatten)]
    pub(crate) adapt: AdaptArguments,
    /// Output: a person's view, one JSON report, or one JSON event a line.
    #[arg(help_heading = RUNNING, long, value_enum, default_value_t = RunFormat::Text)]
    pub(crate) format: RunFormat,
    /// A file that keeps how long calls take, from run to run: what waits for a place starts accordingly.
    #[arg(help_heading = RUNNING, long, value_name = "FILE")]
    pub(crate) durations: Option<PathBuf>,
    /// Keep nothing on disk: the run cannot be resumed or looked at later.
    #[arg(help_heading = RUNNING, long, conflicts_with = "store")]
    pub(crate) no_store: bool,
}

/// The store of runs and plans.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct StoreArguments {
    /// The file that runs and plans are kept in; else `PLANWRIGHT_STORE`, else one in the user's data folder.
    #[arg(help_heading = KEEPING, long, value_name = "FILE")]
    pub(crate) store: Option<PathBuf>,
}

/// The limits of a run, and of its output.
#[derive(Args, Clone, Debug)]
pub(crate) struct GuardArguments {
    /// The most calls that the run may make, each attempt and each failed one included; without limit if not given.
    #[arg(help_heading = RUNNING, long = "max-calls", value_name = "N", allow_negative_numbers = true)]
    pub(crate) calls: Option<u64>,
    /// Longest time that the run may take; calls in flight are cancelled then. Unlimited by default.
    #[arg(help_heading = RUNNING, long = "max-time", value_name = "TIME", value_parser = time_limit, allow_negative_numbers = true)]
    pub(crate) time: Option<Duration>,
    /// The most that is shown of one value, such as `64KiB`; what is handed on stays whole. Text shows 256 KiB if not given,
    /// reports and events all of it.
    #[arg(help_heading = RUNNING, long = "max-output", value_name = "BYTES", value_parser = size, allow_negative_numbers = true)]
    pub(crate) output: Option<u64>,
}

/// The output of `run`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RunFormat {
    /// A person's view.
    Text,
    /// A report at the end, as JSON.
    Json,
    /// A JSON event a line, live.
    Events,
}

/// The output of other commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A person's view.
    Text,
    /// JSON.
    Json,
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
    #[command(flatten)]
    pub(crate) store: StoreArguments,
    /// Start no server, and pin no tools.
    #[arg(help_heading = KEEPING, long, conflicts_with_all = ["store", "remove"])]
    pub(crate) no_store: bool,
}

/// `demo`
#[derive(Args, Clone, Debug)]
pub(crate) struct DemoArguments {
    /// The folder to look at.
    #[arg(value_name = "DIR", default_value = ".")]
    pub(crate) folder: PathBuf,
    /// Output format.
    #[arg(long, value_enum, default_value_t = RunFormat::Text)]
    pub(crate) format: RunFormat,
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

/// Reads a time that something may take at most.
fn time_limit(text: &str) -> Result<Duration, String> {
    let limit = duration(text)?;
    if limit.is_zero() {
        return Err("it leaves no time at all".to_owned());
    }
    Ok(limit)
}
