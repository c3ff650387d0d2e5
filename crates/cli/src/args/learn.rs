//! Options of `learn`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::shared::OPTIONS;
use super::{FlowSwitches, Format, StoreArguments, ToolArguments};

/// `learn`
#[derive(Args, Clone, Debug)]
pub(crate) struct LearnArguments {
    /// Traces of the same work: logs of OpenAI's or Anthropic's API, OpenTelemetry spans, exported runs. `-` is standard input.
    #[arg(value_name = "FILE", help_heading = OPTIONS, required_unless_present_any = ["runs", "sessions", "client"])]
    pub(crate) files: Vec<PathBuf>,
    /// A stored run that is a trace: its id, or the beginning of it; `@1` for the newest. Can be repeated.
    #[arg(help_heading = OPTIONS, long = "run", value_name = "RUN")]
    pub(crate) runs: Vec<String>,
    /// A session of a gateway's client, of calls without a plan: its id, or the beginning of it. Can be repeated.
    #[arg(help_heading = OPTIONS, long = "session", value_name = "SESSION")]
    pub(crate) sessions: Vec<String>,
    /// List the work that recurs in the stored runs and sessions of a gateway's client, or in those of `all`, in place of learning.
    #[arg(help_heading = OPTIONS, long = "from", value_name = "CLIENT", conflicts_with_all = ["runs", "sessions", "output", "save", "to"])]
    pub(crate) client: Option<String>,
    /// The format of the files.
    #[arg(help_heading = OPTIONS, long, value_enum, default_value_t = TraceFormatArgument::Auto, value_name = "FORMAT")]
    pub(crate) traces: TraceFormatArgument,
    #[command(flatten)]
    pub(crate) tools: ToolArguments,
    #[command(flatten)]
    pub(crate) flow: FlowSwitches,
    /// The form of the plan.
    #[arg(help_heading = OPTIONS, long, value_enum, default_value_t = LearnedForm::Native, value_name = "DIALECT")]
    pub(crate) to: LearnedForm,
    /// The file to write the plan to, atomically; default: standard output.
    #[arg(help_heading = OPTIONS, long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Replace an existing file.
    #[arg(help_heading = OPTIONS, long, requires = "output")]
    pub(crate) force: bool,
    /// Save the plan under this name, as its newest version, if it is sound and makes the calls of the traces.
    #[arg(help_heading = OPTIONS, long, value_name = "NAME")]
    pub(crate) save: Option<String>,
    /// Output: the plan, or a report that contains it.
    #[arg(help_heading = OPTIONS, long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
}

/// The format of traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TraceFormatArgument {
    /// Recognised by its form.
    Auto,
    /// Messages of chat completions, or items of the Responses API.
    Openai,
    /// Messages of Anthropic's API, or the log of a session of Claude Code.
    Anthropic,
    /// Spans of OpenTelemetry, as OTLP JSON or as lists of spans.
    Otel,
    /// A run that `export` wrote.
    Run,
}

/// The form of a learned plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LearnedForm {
    /// JSON.
    Native,
    /// Lines.
    Lines,
}

impl LearnedForm {
    /// Returns the name of the dialect.
    pub(crate) fn dialect(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Lines => "lines",
        }
    }
}
