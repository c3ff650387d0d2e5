//! Options of the commands that inspect plans, tools and dates.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Arg, Args, ValueEnum};
use planwright::config::Config;
use planwright::config::time as duration;

use super::shared::{
    ESTIMATE, MAX_DEPTH, MAX_SIZE, MAX_STEPS, OPTIONS, STORAGE, dialect_names, positive,
};
use super::{Format, PlanArguments, RunFormat, StoreArguments, TextArguments, ToolArguments};
use crate::runs::selector::NEWEST;

/// `check`
#[derive(Args, Clone, Debug)]
#[command(mut_arg("plan", optional_with_saved))]
pub(crate) struct CheckArguments {
    #[command(flatten)]
    pub(crate) plan: PlanArguments,
    /// Further plans. The exit status is the highest of all.
    #[arg(value_name = "PLAN", help_heading = OPTIONS, index = 2, conflicts_with = "saved")]
    pub(crate) more: Vec<PathBuf>,
    /// Check the newest version of each stored plan instead of PLAN. Their inputs have no values until they run.
    #[arg(help_heading = OPTIONS, long, conflicts_with_all = ["plan", "dialect", "vars", "vars_file"])]
    pub(crate) saved: bool,
    #[command(flatten)]
    pub(crate) tools: ToolArguments,
    /// Treat warnings as errors.
    #[arg(help_heading = OPTIONS, long)]
    pub(crate) strict: bool,
    /// Write the safe fixes into the plans, and print them as a diff. Comments and formatting stay, and no fix changes what a plan does.
    #[arg(help_heading = OPTIONS, long, conflicts_with = "saved")]
    pub(crate) fix: bool,
    /// Print the fixes without writing them.
    #[arg(help_heading = OPTIONS, long, requires = "fix")]
    pub(crate) dry_run: bool,
    /// Check again whenever a file changes that the check reads, until Ctrl-C. The exit status is that of the last check.
    #[arg(help_heading = OPTIONS, long, conflicts_with = "saved")]
    pub(crate) watch: bool,
    /// Start the servers that have needed tools or may have unknown ones, and list their tools anew, in place of stored lists. With `--watch`, for the first check.
    #[arg(help_heading = OPTIONS, long, conflicts_with = "simulate")]
    pub(crate) refresh: bool,
    /// Check the structure alone, and assume that each tool exists and takes and returns anything: no server starts.
    #[arg(help_heading = OPTIONS, long, conflicts_with_all = ["fix", "flow", "exposed", "refresh", "servers", "simulate", "workspace"])]
    pub(crate) without_tools: bool,
    #[command(flatten)]
    pub(crate) flow: FlowSwitches,
    /// Output format. With `--watch`, each JSON document is a line.
    #[arg(help_heading = OPTIONS, long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
}

impl CheckArguments {
    /// Returns the format of JSON: one line for each check with `--watch`, else one indented document.
    pub(crate) fn document_format(&self) -> RunFormat {
        if self.watch {
            RunFormat::Events
        } else {
            RunFormat::Json
        }
    }

    /// Returns the plans, each with the way in which it is read.
    pub(crate) fn plans(&self) -> impl Iterator<Item = PlanArguments> {
        let further = self.more.iter().map(|path| {
            let mut plan = self.plan.clone();
            plan.text.plan.clone_from(path);
            plan
        });
        std::iter::once(self.plan.clone()).chain(further)
    }
}

/// Makes `--saved` an alternative to the plan.
fn optional_with_saved(plan: Arg) -> Arg {
    plan.index(1)
        .required(false)
        .required_unless_present("saved")
        .default_value_if("saved", "true", "-")
}

/// The heading of the options about reading a plan.
const READING: &str = "Reading the plan";

/// The switches of the flow analysis.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct FlowSwitches {
    /// Check the data flow by the rules of `[flow]` in planwright.toml, or by the defaults.
    #[arg(help_heading = OPTIONS, long)]
    pub(crate) flow: bool,
    /// Like `--flow`, for a plan whose author has read untrusted text: its literals and inputs are untrusted.
    #[arg(help_heading = OPTIONS, long)]
    pub(crate) exposed: bool,
}

impl FlowSwitches {
    /// Returns true if one of the switches is set.
    pub(crate) fn is_on(self) -> bool {
        self.flow || self.exposed
    }

    /// Returns the configuration with these switches.
    pub(crate) fn apply(self, config: Config) -> Config {
        let config = if self.is_on() {
            config.with_flow()
        } else {
            config
        };
        if self.exposed {
            config.with_exposed_planner()
        } else {
            config
        }
    }
}

/// `lsp`
#[derive(Args, Clone, Debug)]
pub(crate) struct LspArguments {
    #[command(flatten)]
    pub(crate) tools: ToolArguments,
    #[command(flatten)]
    pub(crate) flow: FlowSwitches,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
    /// Over standard input and output. This is the only transport; many editors write the flag.
    #[arg(help_heading = OPTIONS, long)]
    stdio: bool,
}

/// `flow`
#[derive(Args, Clone, Debug)]
pub(crate) struct FlowArguments {
    /// The plan: a file, `-` for standard input, or the name or id of one that was saved.
    #[arg(value_name = "PLAN", help_heading = OPTIONS, required_unless_present = "of_tools")]
    plan: Option<PathBuf>,
    /// Show how each tool is classified, in place of a plan.
    #[arg(help_heading = OPTIONS, long = "tools", conflicts_with_all = ["plan", "exposed"])]
    pub(crate) of_tools: bool,
    /// The plan's dialect; default: recognised by its form.
    #[arg(long, visible_alias = "from", value_name = "DIALECT", value_parser = dialect_names(), help_heading = READING)]
    dialect: Option<String>,
    /// An input or variable; VALUE is parsed as JSON, or else taken as text.
    #[arg(long = "var", value_name = "NAME=VALUE", help_heading = READING)]
    vars: Vec<String>,
    /// A file with a JSON object of inputs and variables; `--var` overrides it.
    #[arg(long = "vars", value_name = "FILE", help_heading = READING)]
    vars_file: Option<PathBuf>,
    /// A folder of plans that steps may run by name: `DIR/NAME.json`.
    #[arg(long, value_name = "DIR", help_heading = READING)]
    library: Option<PathBuf>,
    #[command(flatten)]
    store: StoreArguments,
    /// Label literals and inputs as untrusted: the author of the plan has read untrusted text.
    #[arg(help_heading = OPTIONS, long)]
    pub(crate) exposed: bool,
    #[command(flatten)]
    pub(crate) tools: ToolArguments,
    /// Output format.
    #[arg(help_heading = OPTIONS, long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
}

impl FlowArguments {
    /// Returns the plan and the options for reading it; `None` with `--tools`.
    pub(crate) fn plan(&self) -> Option<PlanArguments> {
        Some(PlanArguments {
            text: TextArguments {
                plan: self.plan.clone()?,
                dialect: self.dialect.clone(),
                max_depth: MAX_DEPTH,
                max_size: MAX_SIZE,
                store: self.store.clone(),
            },
            vars: self.vars.clone(),
            vars_file: self.vars_file.clone(),
            library: self.library.clone(),
            reorder: false,
            max_steps: MAX_STEPS,
        })
    }
}

/// `show`
#[derive(Args, Clone, Debug)]
#[command(mut_arg("plan", newest_run_by_default))]
pub(crate) struct ShowArguments {
    #[command(flatten)]
    pub(crate) plan: PlanArguments,
    #[command(flatten)]
    pub(crate) tools: ToolArguments,
    /// The kind of picture.
    #[arg(help_heading = OPTIONS, long = "as", value_enum, default_value_t = DrawingFormat::Text, value_name = "KIND")]
    picture: DrawingFormat,
    /// Show one step in full: its arguments with their origins, its conditions, the steps around it; of a run also its calls, with what was
    /// sent and what came back.
    #[arg(help_heading = OPTIONS, long, value_name = "STEP", conflicts_with_all = ["picture", "estimate", "flow", "exposed"])]
    pub(crate) step: Option<String>,
    /// The plan of a run that was resumed with other plans: the first (1), the second (2), and so on.
    #[arg(help_heading = OPTIONS, long, value_name = "N", value_parser = positive::<NonZeroUsize>, allow_negative_numbers = true, conflicts_with = "estimate")]
    pub(crate) revision: Option<NonZeroUsize>,
    /// Mark the paths of untrusted and private values, as labelled by `[flow]` in planwright.toml or the defaults. Needs the tools.
    #[arg(help_heading = OPTIONS, long, conflicts_with = "estimate")]
    pub(crate) flow: bool,
    /// Like `--flow`, for a plan whose author has read untrusted text: its literals and inputs are untrusted.
    #[arg(help_heading = OPTIONS, long, conflicts_with = "estimate")]
    pub(crate) exposed: bool,
    /// Print the expected time, the critical path, and the time of a step-by-step conversation instead of a picture.
    #[arg(help_heading = ESTIMATE, long, conflicts_with = "picture")]
    pub(crate) estimate: bool,
    /// Durations of calls, as `run --durations` writes them; the sleep of simulated tools is the default.
    #[arg(help_heading = ESTIMATE, long, value_name = "FILE", requires = "estimate")]
    pub(crate) durations: Option<PathBuf>,
    /// The time that a model takes between two calls.
    #[arg(help_heading = ESTIMATE, long, value_name = "TIME", default_value = "2s", value_parser = duration, allow_negative_numbers = true, requires = "estimate")]
    pub(crate) round_trip: Duration,
    /// Maximum number of calls in flight.
    #[arg(help_heading = ESTIMATE, long, value_name = "N", default_value = "16", value_parser = positive::<NonZeroUsize>, allow_negative_numbers = true, requires = "estimate")]
    pub(crate) max_parallel: NonZeroUsize,
    /// Output format: text, or the graph, the step or the estimate as JSON.
    #[arg(help_heading = OPTIONS, long, value_enum, default_value_t = Format::Text, conflicts_with = "picture")]
    pub(crate) format: Format,
}

/// Makes the newest run the default of `show`.
fn newest_run_by_default(plan: Arg) -> Arg {
    plan.required(false)
        .default_value(NEWEST)
        .help("The plan: a file, `-` for standard input, or the name or id of one that was saved; or a run, as for `logs`")
}

impl ShowArguments {
    /// The kind of picture.
    pub(crate) fn picture(&self) -> DrawingFormat {
        match self.format {
            Format::Text => self.picture,
            Format::Json => DrawingFormat::Json,
        }
    }

    /// Returns the switches of the flow analysis.
    pub(crate) fn flow(&self) -> FlowSwitches {
        FlowSwitches {
            flow: self.flow,
            exposed: self.exposed,
        }
    }
}

/// A kind of picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DrawingFormat {
    /// A graph of text.
    Text,
    /// A text graph in ASCII.
    Ascii,
    /// A line per step, with the steps that it waits for and a mark for steps that may run in parallel.
    List,
    /// Mermaid.
    Mermaid,
    /// Graphviz.
    Dot,
    /// An image: the graph, and of a run its timeline.
    Svg,
    /// A file for a browser: the graph, and of a run its timeline, steps and output.
    Html,
    /// The plan as written.
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
    /// Leave out how the plan's output is made, for dialects that cannot express it. All results are the output then.
    #[arg(help_heading = OPTIONS, long)]
    pub(crate) drop_output: bool,
    /// The file to write the converted plan to, atomically; default: standard output.
    #[arg(help_heading = OPTIONS, long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Replace an existing file.
    #[arg(help_heading = OPTIONS, long, requires = "output")]
    pub(crate) force: bool,
    /// Output: the plan, or a report that contains it.
    #[arg(help_heading = OPTIONS, long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
}

/// `tools`
#[derive(Args, Clone, Debug)]
pub(crate) struct ToolsArguments {
    #[command(flatten)]
    pub(crate) tools: ToolArguments,
    /// Show only tools with this text in the name or description, with their schemas.
    #[arg(value_name = "TEXT", help_heading = OPTIONS, conflicts_with_all = ["changed", "accept"])]
    pub(crate) filter: Option<String>,
    /// Start all servers and list their tools again, instead of using lists stored in the last 24 hours.
    #[arg(help_heading = OPTIONS, long, conflicts_with_all = ["changed", "accept"])]
    pub(crate) refresh: bool,
    /// Show the changes of tools since they were pinned, as a diff, and the digest that accepts it. Tools of servers that are not
    /// configured here are listed as last seen.
    #[arg(help_heading = OPTIONS, long)]
    pub(crate) changed: bool,
    /// Accept changed and new tools, all or those that a pattern such as `SERVER.TOOL` or `SERVER.*` covers: show the difference and
    /// ask on the terminal.
    #[arg(help_heading = OPTIONS, long, value_name = "SERVER.TOOL", num_args = 0.., conflicts_with = "changed")]
    pub(crate) accept: Option<Vec<String>>,
    /// Accept what `--changed` showed under this digest, without a question: at least its first 12 digits.
    #[arg(help_heading = OPTIONS, long, value_name = "DIGEST", requires = "accept", value_parser = super::shared::digest)]
    pub(crate) digest: Option<String>,
    /// Output format.
    #[arg(help_heading = OPTIONS, long, value_enum, default_value_t = Format::Text, conflicts_with = "accept")]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
    /// Pin nothing: do not compare tools with earlier definitions.
    #[arg(help_heading = STORAGE, long, conflicts_with_all = ["store", "changed", "accept"])]
    pub(crate) no_store: bool,
}

/// `explain`
#[derive(Args, Clone, Debug)]
pub(crate) struct ExplainArguments {
    /// The code, such as `PW0201`, or its digits; or the kind of a step's error, such as `timeout`. Without one, all are listed.
    #[arg(value_name = "CODE")]
    pub(crate) code: Option<String>,
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
}

/// `config`
#[derive(Args, Clone, Debug)]
pub(crate) struct ConfigArguments {
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
}

/// The heading of the options of time.
const TIME: &str = "Time";

/// `dates`
#[derive(Args, Clone, Debug)]
pub(crate) struct DatesArguments {
    /// The phrase, such as `last week` or `October 1st to October 10th`.
    #[arg(value_name = "PHRASE", required = true)]
    pub(crate) phrase: Vec<String>,
    #[command(flatten)]
    pub(crate) moment: TimeArguments,
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
}

/// The assumed time and place.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct TimeArguments {
    /// The assumed current time, such as `2025-10-12T09:00:00Z`, in the time zone if it has no offset; default: the system clock.
    #[arg(help_heading = TIME, long, value_name = "TIME")]
    pub(crate) now: Option<String>,
    /// The time zone of the days, such as `Europe/Berlin`; default: `TZ`, else the system's.
    #[arg(help_heading = TIME, long, value_name = "ZONE")]
    pub(crate) tz: Option<String>,
}
