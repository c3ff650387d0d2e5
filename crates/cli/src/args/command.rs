//! The commands.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, FromArgMatches, Parser, Subcommand};
use clap_complete::Shell;

use super::shared::{OPTIONS, RUNNING, STORAGE, time_limit};
use super::{
    AdaptArguments, ApproveArguments, AskArguments, AttachArguments, CancelArguments,
    ChatArguments, CheckArguments, Colour, ConfigArguments, ConsentArguments, ConvertArguments,
    CreateArguments, DatesArguments, DeleteArguments, DiffArguments, DoctorArguments,
    DrainArguments, EngineArguments, ExplainArguments, ExportArguments, FlowArguments,
    FlowSwitches, GuardArguments, HealthArguments, ImportArguments, InitArguments, LearnArguments,
    ListArguments, LoginArguments, LogsArguments, LspArguments, ManArguments, PassphraseArguments,
    PlanArguments, PruneArguments, RejectArguments, ReplayArguments, ResumeArguments,
    RevertArguments, RunFormat, RunOutputArguments, RunsArguments, SaveArguments, ServeArguments,
    ServersArguments, ShowArguments, StoreArguments, TokenArguments, ToolArguments, ToolsArguments,
    UiArguments, WaitingArguments, WorkerArguments, WrapArguments,
};

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
        help_heading = "Global options",
        display_order = 1000
    )]
    pub(crate) color: Colour,
    /// Do not page long output. By default, output longer than the terminal is shown with `PAGER`, or `less`.
    #[arg(
        long,
        global = true,
        help_heading = "Global options",
        display_order = 1000
    )]
    pub(crate) no_pager: bool,
    /// Log to standard error: a level, or targets with levels, such as `warn,planwright=debug`; `PLANWRIGHT_LOG` by default.
    #[arg(
        long,
        global = true,
        value_name = "WHAT",
        help_heading = "Global options",
        display_order = 1001
    )]
    pub(crate) log: Option<String>,
}

/// The command.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Check a plan, then run it.
    ///
    /// Exit status: 0 succeeded, 1 a step failed, 2 usage, 3 the plan was rejected and nothing was called, 4 waiting for
    /// a decision, 130 interrupted.
    #[command(visible_alias = "exec")]
    Run(Box<RunArguments>),
    /// Call one tool, as a plan of one step: it is checked, approved and stored like any other.
    ///
    /// Exit status: as `run`.
    Call(Box<SingleCallArguments>),
    /// Resume a run that was interrupted, is waiting for a decision, or failed.
    ///
    /// Finished steps stay finished. A call in progress is repeated only if its tool declares that this is safe;
    /// otherwise the step is `unknown`, and `--retry`, `--skip` or `--set` decides about it.
    ///
    /// Exit status: as `run`; also 2 if another process has leased the run.
    Resume(Box<ResumeArguments>),
    /// Undo the calls of a run in reverse order.
    ///
    /// Steps and the configuration define the undo of a call. The undo calls form a plan: it is checked, approved and stored like any other,
    /// and `resume` continues it. Calls without an undo, and calls with an unknown outcome, are printed before anything is called; with
    /// `--partial`, the rest is undone. A call is never undone twice.
    ///
    /// Exit status: as `run`; 0 also if there is nothing to undo, 3 also if a call cannot be undone and `--partial` is not set.
    Revert(Box<RevertArguments>),
    /// List all calls that wait for a decision, of all runs, with their arguments.
    Waiting(WaitingArguments),
    /// Show the calls of a run that wait for a decision, and approve them.
    ///
    /// Asks on the terminal. Without a terminal, `--digest` must name each call to approve.
    ///
    /// Exit status: 0 approved, 2 usage, 4 not decided.
    Approve(ApproveArguments),
    /// Reject calls that wait for a decision: their steps fail.
    Reject(RejectArguments),
    /// Set or change the passphrase that decisions on the command line require.
    Passphrase(PassphraseArguments),
    /// List the stored runs, the newest first.
    #[command(visible_aliases = ["ls", "history", "status"])]
    Runs(RunsArguments),
    /// Print the log of a run: its calls in the order of sending, the decisions, and the processes that drove it.
    Logs(LogsArguments),
    /// Watch a run in progress, even if another process drives it.
    ///
    /// Shows its steps and calls in flight as `run` does, without the progress that tools report. Ctrl-C leaves the run as it is.
    ///
    /// Exit status: that of the run, as for `run`; 130 if its process died, or after Ctrl-C.
    #[command(visible_alias = "watch")]
    Attach(AttachArguments),
    /// Cancel a run in progress, even if another process drives it.
    ///
    /// Its calls in flight are cancelled, and nothing new starts; `resume` continues it later. The command stores a
    /// request for the process that drives the run, and does not wait for it. A run that no process drives is cancelled at once.
    ///
    /// Exit status: 0 requested or cancelled, 2 the run has ended.
    Cancel(CancelArguments),
    /// Replay a run from its journal without any calls, and compare its decisions.
    ///
    /// Exit status: 0 same decisions, 1 different decisions or not comparable, 2 usage.
    Replay(ReplayArguments),
    /// Compare two runs: their plans, inputs, and the outcome of each step; or the plans in two files.
    ///
    /// Exit status: 0 no differences except times, 1 differences, 2 usage, 3 a plan has errors.
    Diff(DiffArguments),
    /// Write a run to a file that another machine can import, show and replay.
    Export(ExportArguments),
    /// Import a run that `export` wrote.
    Import(ImportArguments),
    /// Delete old runs. Runs that wait for a person or whose process died are retained; runs that were ended with Ctrl-C are deleted.
    Prune(PruneArguments),
    /// Check a plan, several, or all stored ones: diagnostics only, nothing is called.
    ///
    /// Exit status: 0 sound, 2 usage, 3 rejected.
    #[command(visible_alias = "validate")]
    Check(CheckArguments),
    /// Explain a diagnostic code or a kind of error: what it means, why it matters, how to fix it.
    ///
    /// Exit status: 0 explained, 2 not known.
    Explain(ExplainArguments),
    /// Show the origins of a plan's arguments: each guarded or leaving parameter, its sources and paths.
    ///
    /// `[flow]` in planwright.toml defines untrusted, private and guarded data; without it, the defaults apply.
    ///
    /// Exit status: 0 no violations or only warnings, 2 usage, 3 the policy denies the plan or the plan has errors, 4 a step would ask for approval.
    Flow(FlowArguments),
    /// Help an editor with plans: a language server over standard input and output.
    ///
    /// Diagnostics, hover, completion, navigation, renaming of steps and safe fixes, for plans as JSON and in lines. The tools are those of
    /// `check`, and are read again whenever their files change. Nothing is called.
    ///
    /// Exit status: 0 the editor ended it, 2 usage, 70 the editor broke the protocol.
    Lsp(LspArguments),
    /// Draw a plan, or a stored run with the status of each step.
    ///
    /// A run is selected by its id, an id prefix, or its position: `@1`, the default, is the newest run of this project. Files and saved
    /// plans of that name come first.
    #[command(visible_alias = "graph")]
    Show(ShowArguments),
    /// Write a plan in another dialect, or report the parts that it cannot express.
    ///
    /// Tools are optional; `--servers` or `--simulate` provide details, such as the parameters that take references.
    ///
    /// Exit status: 0 converted, 2 usage, 3 the plan has errors or cannot be expressed; nothing was written.
    Convert(ConvertArguments),
    /// Let a model write a plan for a goal.
    ///
    /// The model receives the tools, today's date and the meaning of phrases of time. Planwright checks its plan and returns every error to
    /// it, until the plan is sound or the attempts are used up. Nothing is called.
    ///
    /// Exit status: 0 written, 1 the model did not answer, 2 usage, 3 no reply was a valid plan.
    Create(Box<CreateArguments>),
    /// Answer a question with the available tools.
    ///
    /// A model writes a plan, the plan runs, statistics of the results are computed, and the model summarizes them
    /// with references to the supporting steps, the failures and the omissions. Read-only steps run while the plan is still
    /// being written, unless `--no-stream` is given.
    ///
    /// Exit status: as `run`; also 1 if the model did not write a plan, 3 if none of its plans was sound.
    Ask(Box<AskArguments>),
    /// Chat with a model that can call the tools, and write and run plans.
    ///
    /// The model calls tools directly, or has a plan written and run if calls need each other's results. Independent calls
    /// run at the same time. Read-only steps of a plan run while it is still being written, unless `--no-stream` is
    /// given. The conversation is stored after each round, and `--resume` continues it. The answers go to
    /// standard output, everything else to standard error.
    ///
    /// Exit status of the last answer: 0 answered, 1 the model did not answer or a limit was reached, 2 usage, 3 no solution was
    /// sound, 4 waiting for a decision, 130 interrupted.
    Chat(Box<ChatArguments>),
    /// Save a plan under a name, as its newest version.
    ///
    /// The text must have no errors; tools are not needed. Every command that takes a plan accepts the name, with
    /// `@VERSION` for an older one, or the beginning of an id. A file of that name takes precedence.
    ///
    /// Exit status: 0 saved, 2 usage, 3 the plan has errors and nothing was saved.
    Save(SaveArguments),
    /// Learn a plan from traces of the same work: what an agent did, call by call.
    ///
    /// Values of earlier answers become references, values that differ between the traces become inputs, and repeated calls become loops. What
    /// the traces leave open is listed, not guessed. The plan is checked, and replayed over the recorded answers; no tool is called.
    ///
    /// Exit status: 0 learned, 1 the plan makes other calls than a trace, 2 usage, 3 the plan is not sound.
    Learn(LearnArguments),
    /// List the saved plans with their inputs.
    List(ListArguments),
    /// Delete a saved plan, or one version of it. Its runs are not affected.
    Delete(DeleteArguments),
    /// List the tools of the configured servers, or their changes.
    ///
    /// Each tool of a server is pinned when it is first seen: name, description, schemas and annotations, with the transport of its
    /// server. Later changes are shown by `--changed`, and accepted by `--accept`; until then the tool may ask before each call,
    /// as configured by `pin` in `planwright.toml`.
    Tools(ToolsArguments),
    /// List, test or add MCP servers.
    Servers(ServersArguments),
    /// Check the environment of commands: configuration, store, servers, model. Starts the servers.
    ///
    /// Exit status: 0 no problems, 1 a problem was found.
    Doctor(DoctorArguments),
    /// Show the effective configuration and its origins.
    ///
    /// The user's `planwright.toml` is in the folder of settings, a project's in the nearest folder from here upwards, up to the
    /// one with `.git`.
    Config(ConfigArguments),
    /// Write a commented `planwright.toml`, and a trusted `mcp.json` if none exists.
    ///
    /// Exit status: 0 written, 2 usage, or a `planwright.toml` exists already.
    Init(InitArguments),
    /// Put the gateway in front of a client's MCP servers.
    ///
    /// The servers of the client's file move to a file in the folder of settings, which its owner alone may read, and one entry
    /// replaces them: `planwright serve` with that file. The rest of the client's file is unchanged. A server that only
    /// the client can start stays as well, with the reason. The client's rules about their tools are added to your own
    /// `planwright.toml`; those of a project's shared files only if they are stricter. A backup of the file is stored, and
    /// `--undo` removes the gateway and the rules again.
    Wrap(WrapArguments),
    /// Trust an `mcp.json`, so that its servers are started when it is found rather than named.
    ///
    /// The servers are started once, so that their tools are pinned as they are. Tools that changed since they were pinned are shown;
    /// on a terminal, they can be accepted.
    Trust(TrustArguments),
    /// Run a gateway: one MCP server in front of many, which runs plans.
    ///
    /// Over standard input and output, for the one client that starts it; with `--listen`, over Streamable HTTP at `/mcp` for
    /// many. Servers are started for the first client. `planwright.toml` limits the calls of plans.
    ///
    /// Exit status: 0 the client disconnected or a signal arrived, 2 usage.
    Serve(ServeArguments),
    /// Ask a gateway that serves over HTTP whether it answers.
    ///
    /// Exit status: 0 it answers, 1 it does not, 2 usage.
    Health(HealthArguments),
    /// Show plans and runs in the browser: graphs, live runs, and the calls that wait for a decision.
    ///
    /// Serves a page on the loopback interface only, and opens it. Its address has a token, without which neither other users nor other pages can access
    /// the runs.
    ///
    /// Exit status: 0 a signal arrived, 2 usage.
    Ui(UiArguments),
    /// Execute runs and calls of tools for a Restate server, until a signal arrives.
    ///
    /// `planwright run --on restate=URL` submits runs. If the worker is lost, Restate continues them as soon as a worker listens at the same
    /// address again: completed calls are not repeated, and a call in progress is repeated only if its tool declares that this is safe.
    Worker(WorkerArguments),
    /// Log in to an HTTP server that requires authorization.
    ///
    /// Prints the page to open. The tokens are stored in the data folder, readable by their owner only, and renewed
    /// if possible.
    ///
    /// Exit status: 0 logged in, 2 usage, or access was denied.
    Login(LoginArguments),
    /// Tokens of the clients that may reach `serve` over HTTP.
    Token(TokenArguments),
    /// Run a plan over the files of this folder, with nothing installed.
    Demo(DemoArguments),
    /// Resolve a date phrase: `last week`, `October 1st to October 10th`, `3 days ago`.
    ///
    /// Prints the first and the last day, both included. No model is asked.
    ///
    /// Exit status: 0 resolved, 2 unknown or not a range of days.
    Dates(DatesArguments),
    /// Print a script that completes commands, flags, and the names of plans, runs, steps and tools in a shell.
    Completions {
        /// The shell.
        #[arg(value_enum)]
        shell: Shell,
    },
    /// Print the manual page, or write the pages of all commands to a folder.
    Man(ManArguments),
}

/// `run`
#[derive(Args, Clone, Debug)]
pub(crate) struct RunArguments {
    #[command(flatten)]
    pub(crate) plan: PlanArguments,
    #[command(flatten)]
    pub(crate) tools: ToolArguments,
    #[command(flatten)]
    pub(crate) flow: FlowSwitches,
    /// Show the order, the known arguments and the required approvals; call nothing.
    #[arg(help_heading = RUNNING, long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) engine: EngineArguments,
    #[command(flatten)]
    pub(crate) guards: GuardArguments,
    #[command(flatten)]
    pub(crate) consent: ConsentArguments,
    #[command(flatten)]
    pub(crate) drain: DrainArguments,
    #[command(flatten)]
    pub(crate) adapt: AdaptArguments,
    #[command(flatten)]
    pub(crate) output: RunOutputArguments,
    /// A file with the durations of calls, kept across runs; waiting calls start in an order based on it.
    #[arg(help_heading = RUNNING, long, value_name = "FILE")]
    pub(crate) durations: Option<PathBuf>,
    /// Store nothing on disk: the run cannot be resumed or shown later.
    #[arg(help_heading = RUNNING, long, conflicts_with = "store")]
    pub(crate) no_store: bool,
    /// Run the plan on a workflow engine: `restate=URL`, with the address of the ingress of Restate. A `planwright worker` with the same
    /// tools and the same store must be registered there. Ctrl-C leaves the run running.
    #[arg(help_heading = RUNNING, long, value_name = "ENGINE", value_parser = workflow_engine, conflicts_with_all = ["no_store", "durations", "replan", "repair", "approvals"])]
    pub(crate) on: Option<String>,
}

/// Parses the value of `--on`, and returns the address.
fn workflow_engine(text: &str) -> Result<String, String> {
    let address = text.strip_prefix("restate=").filter(|url| !url.is_empty());
    let address =
        address.ok_or("expected `restate=URL`, such as `restate=http://localhost:8080`")?;
    Ok(address.to_owned())
}

/// `call`
#[derive(Args, Clone, Debug)]
pub(crate) struct SingleCallArguments {
    /// The tool as `SERVER.TOOL`, or only its name if no other server has such a tool.
    #[arg(value_name = "TOOL", help_heading = OPTIONS)]
    pub(crate) tool: String,
    /// An argument. VALUE is text for a parameter that is text, else JSON if it parses.
    #[arg(value_name = "NAME=VALUE", help_heading = OPTIONS)]
    pub(crate) values: Vec<String>,
    /// The arguments as a JSON object; individual arguments override it.
    #[arg(help_heading = OPTIONS, long, value_name = "JSON")]
    pub(crate) args: Option<String>,
    #[command(flatten)]
    pub(crate) tools: ToolArguments,
    /// The time that the call may go without progress.
    #[arg(help_heading = RUNNING, long, value_name = "TIME", default_value = "60s", value_parser = time_limit, allow_negative_numbers = true)]
    pub(crate) timeout: Duration,
    /// Show the call and whether it needs approval; call nothing.
    #[arg(help_heading = RUNNING, long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) consent: ConsentArguments,
    #[command(flatten)]
    pub(crate) guards: GuardArguments,
    #[command(flatten)]
    pub(crate) drain: DrainArguments,
    #[command(flatten)]
    pub(crate) output: RunOutputArguments,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
    /// Store nothing on disk: the run cannot be resumed or shown later.
    #[arg(help_heading = RUNNING, long, conflicts_with = "store")]
    pub(crate) no_store: bool,
}

impl SingleCallArguments {
    /// Returns the arguments of the run of the call. Options that they do not set have their defaults.
    ///
    /// # Errors
    ///
    /// Never, since no option of `run` besides the plan is required.
    pub(crate) fn run(&self) -> Result<RunArguments, clap::Error> {
        let command = RunArguments::augment_args(clap::Command::new("run"));
        let defaults = command.try_get_matches_from(["run", "-"])?;
        let mut run = RunArguments::from_arg_matches(&defaults)?;
        run.plan.text.store = self.store.clone();
        run.engine.timeout = self.timeout;
        Ok(RunArguments {
            tools: self.tools.clone(),
            dry_run: self.dry_run,
            consent: self.consent.clone(),
            guards: self.guards.clone(),
            drain: self.drain,
            output: self.output,
            no_store: self.no_store,
            ..run
        })
    }
}

/// `trust`
#[derive(Args, Clone, Debug)]
pub(crate) struct TrustArguments {
    /// The `mcp.json` to trust in its current state; a change revokes the trust.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Revoke the trust.
    #[arg(long)]
    pub(crate) remove: bool,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
    /// Start no server, and pin no tools.
    #[arg(help_heading = STORAGE, long, conflicts_with_all = ["store", "remove"])]
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
