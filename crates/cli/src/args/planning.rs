//! Options of the commands that ask a model: `create`, `ask`, `chat`.

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use planwright::config::size;
use planwright::dialects::native::PlanDialect;

use super::shared::{OPTIONS, RUNNING, plan_dialect, positive};
use super::{
    Approve, ConsentArguments, DrainArguments, Format, GuardArguments, RunFormat, StoreArguments,
    TimeArguments, ToolArguments,
};
use crate::error::CommandError;

/// `ask`
#[derive(Args, Clone, Debug)]
pub(crate) struct AskArguments {
    /// The question.
    #[arg(value_name = "QUESTION")]
    pub(crate) question: String,
    #[command(flatten)]
    pub(crate) tools: ToolArguments,
    #[command(flatten)]
    pub(crate) model: ModelArguments,
    #[command(flatten)]
    pub(crate) planning: PlanningArguments,
    /// Maximum number of times that the model revises the plan after a failed step; completed steps are not repeated.
    #[arg(help_heading = RUNNING, long, value_name = "N", default_value_t = 1)]
    pub(crate) replan: u32,
    /// Let the model correct the arguments of a failed call, once per step.
    #[arg(help_heading = RUNNING, long)]
    pub(crate) repair: bool,
    #[command(flatten)]
    pub(crate) stream: StreamArguments,
    #[command(flatten)]
    pub(crate) guards: GuardArguments,
    #[command(flatten)]
    pub(crate) consent: ConsentArguments,
    #[command(flatten)]
    pub(crate) drain: DrainArguments,
    /// Output: the answer, every stage as one JSON document, or one JSON event per line and the document at the end.
    #[arg(help_heading = OPTIONS, long, value_enum, default_value_t = RunFormat::Text)]
    pub(crate) format: RunFormat,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
    /// Store nothing on disk: the run cannot be resumed or shown later.
    #[arg(help_heading = RUNNING, long, conflicts_with = "store")]
    pub(crate) no_store: bool,
}

/// The heading of the options of the plan.
const PLANNING: &str = "Planning";

/// `create`
#[derive(Args, Clone, Debug)]
pub(crate) struct CreateArguments {
    /// The goal, in your words.
    #[arg(value_name = "GOAL")]
    pub(crate) goal: String,
    #[command(flatten)]
    pub(crate) tools: ToolArguments,
    #[command(flatten)]
    pub(crate) model: ModelArguments,
    #[command(flatten)]
    pub(crate) planning: PlanningArguments,
    /// Print the prompt without asking a model.
    #[arg(help_heading = PLANNING, long)]
    pub(crate) show_prompt: bool,
    /// Reuse the plan of an earlier request with the same goal and tools; otherwise cache the new plan.
    #[arg(help_heading = PLANNING, long)]
    pub(crate) cache: bool,
    /// Accept a plan that names tools which do not exist yet, with a warning for each.
    #[arg(help_heading = PLANNING, long)]
    pub(crate) allow_unknown_tools: bool,
    /// Write the plan to this file.
    #[arg(help_heading = OPTIONS, long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Replace an existing file.
    #[arg(help_heading = OPTIONS, long, requires = "output")]
    pub(crate) force: bool,
    /// Save the plan under this name, for `run NAME`.
    #[arg(help_heading = OPTIONS, long, value_name = "NAME")]
    pub(crate) save: Option<String>,
    /// Output: the plan, or the plan with every step of its creation.
    #[arg(help_heading = OPTIONS, long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
    /// Store nothing on disk.
    #[arg(help_heading = OPTIONS, long, conflicts_with_all = ["store", "save", "cache"])]
    pub(crate) no_store: bool,
}

/// The material for a plan, besides the goal.
#[derive(Args, Clone, Debug)]
pub(crate) struct PlanningArguments {
    /// Maximum number of replies; each request has all errors of the previous reply.
    #[arg(help_heading = PLANNING, long, value_name = "N", default_value = "3", value_parser = positive::<NonZeroU32>, allow_negative_numbers = true)]
    pub(crate) tries: NonZeroU32,
    /// The dialect in which the model writes the plan: lines take about two thirds of the tokens of JSON. The plan is stored as JSON.
    #[arg(help_heading = PLANNING, long, alias = "notation", value_parser = plan_dialect(), value_name = "DIALECT")]
    pub(crate) plan_dialect: Option<PlanDialect>,
    /// Memory of earlier questions: JSON with `semantic`, `episodic` and `entities`.
    #[arg(help_heading = PLANNING, long, value_name = "FILE")]
    pub(crate) context: Option<PathBuf>,
    /// A JSON Schema of the state that the plan is to fill.
    #[arg(help_heading = PLANNING, long, value_name = "FILE")]
    pub(crate) state: Option<PathBuf>,
    /// Maximum number of tokens for the tools in a request for a plan; if not all fit, those that match the goal best are listed. In
    /// `chat` the definitions of tools take up to twice as many; if not all fit, the model finds the others with `find_tools`.
    #[arg(help_heading = PLANNING, long, value_name = "N", default_value_t = 6000)]
    pub(crate) tool_tokens: usize,
    #[command(flatten)]
    pub(crate) moment: TimeArguments,
}

/// The heading of the limits of a conversation.
const BOUNDS: &str = "Limits";

/// The heading of the Acts' protocol.
const ACTS: &str = "With --protocol acts";

/// `chat`
#[derive(Args, Clone, Debug)]
pub(crate) struct ChatArguments {
    /// The first message; further messages are read from standard input, one per line.
    #[arg(value_name = "MESSAGE")]
    pub(crate) message: Option<String>,
    #[command(flatten)]
    pub(crate) tools: ToolArguments,
    #[command(flatten)]
    pub(crate) model: ModelArguments,
    #[command(flatten)]
    pub(crate) planning: PlanningArguments,
    #[command(flatten)]
    pub(crate) stream: StreamArguments,
    #[command(flatten)]
    pub(crate) consent: ConsentArguments,
    #[command(flatten)]
    pub(crate) drain: DrainArguments,
    #[command(flatten)]
    pub(crate) bounds: ChatBounds,
    /// The protocol: tool calls (`tools`), or solutions (`acts`).
    #[arg(help_heading = OPTIONS, long, value_enum, default_value_t = Protocol::Tools)]
    pub(crate) protocol: Protocol,
    /// Do not offer the model the tools that write and run plans.
    #[arg(help_heading = OPTIONS, long)]
    pub(crate) no_plan_tools: bool,
    #[command(flatten)]
    pub(crate) acts: ActsArguments,
    /// Resume a conversation: its id, or a prefix of it.
    #[arg(help_heading = OPTIONS, long, value_name = "ID")]
    pub(crate) resume: Option<String>,
    /// List the stored conversations, the newest first.
    #[arg(help_heading = OPTIONS, long, conflicts_with_all = ["message", "resume", "no_store"])]
    pub(crate) list: bool,
    /// Output: the answers, one JSON object for each answer, or one JSON event per line.
    #[arg(help_heading = OPTIONS, long, value_enum, default_value_t = RunFormat::Text)]
    pub(crate) format: RunFormat,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
    /// Store neither the conversation nor its runs.
    #[arg(help_heading = OPTIONS, long, conflicts_with_all = ["store", "resume"])]
    pub(crate) no_store: bool,
}

/// The options of solutions.
#[derive(Args, Clone, Debug)]
pub(crate) struct ActsArguments {
    /// A JSON Schema of the output.
    #[arg(help_heading = ACTS, long, value_name = "FILE")]
    pub(crate) output_schema: Option<PathBuf>,
    /// The input that calls can read as `†input`: a JSON object.
    #[arg(help_heading = ACTS, long, value_name = "JSON")]
    pub(crate) input: Option<String>,
    /// A JSON list of the messages that the conversation begins with: its `state`, `data`, `plan`, `tool`s and texts.
    #[arg(help_heading = ACTS, long, value_name = "FILE")]
    pub(crate) messages: Option<PathBuf>,
    /// A folder of plans that the model may call like tools: `DIR/NAME.json`.
    #[arg(help_heading = ACTS, long, value_name = "DIR")]
    pub(crate) library: Option<PathBuf>,
}

impl ActsArguments {
    /// The first of these flags that is given.
    pub(crate) fn named(&self) -> Option<&'static str> {
        let flags = [
            ("--output-schema", self.output_schema.is_some()),
            ("--input", self.input.is_some()),
            ("--messages", self.messages.is_some()),
            ("--library", self.library.is_some()),
        ];
        let mut set = flags.into_iter().filter(|(_, is_set)| *is_set);
        set.next().map(|(flag, _)| flag)
    }
}

/// The limits of a conversation.
#[derive(Args, Clone, Debug)]
pub(crate) struct ChatBounds {
    /// Maximum number of requests to the model for one answer: it is asked again after each round of calls.
    #[arg(help_heading = BOUNDS, long = "max-rounds", value_name = "N", default_value = "10", value_parser = positive::<NonZeroU32>, allow_negative_numbers = true)]
    pub(crate) rounds: NonZeroU32,
    /// Maximum number of tool calls, including those inside of plans; unlimited if not given.
    #[arg(help_heading = BOUNDS, long = "max-calls", value_name = "N")]
    pub(crate) calls: Option<u64>,
    /// Maximum number of tokens that the model reads and writes in total; unlimited by default.
    #[arg(help_heading = BOUNDS, long = "max-tokens", value_name = "N")]
    pub(crate) tokens: Option<u64>,
    /// Maximum cost of the model's answers, in US dollars, as far as prices are known.
    #[arg(help_heading = BOUNDS, long = "max-cost", value_name = "USD")]
    pub(crate) cost: Option<f64>,
    /// Maximum size of a result that the model receives; longer ones are trimmed.
    #[arg(help_heading = BOUNDS, long = "max-result", value_name = "BYTES", default_value = "16KiB", value_parser = size)]
    pub(crate) result: u64,
}

/// The protocol between the model and the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Protocol {
    /// The model calls tools, and tools that write and run plans.
    Tools,
    /// The model answers with solutions: calls that share a state, and an output.
    Acts,
}

/// The heading of the options of the model.
const MODEL: &str = "Model";

/// The model to use.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ModelArguments {
    /// The model, such as `openai:gpt-4o` or `ollama:llama3.2`. `replay:FILE` answers from a script.
    #[arg(help_heading = MODEL, long, value_name = "PROVIDER:NAME")]
    pub(crate) model: Option<String>,
    /// The provider's base URL; default: its public API.
    #[arg(help_heading = MODEL, long, value_name = "URL")]
    pub(crate) model_base_url: Option<String>,
    /// The sampling temperature, from 0 (nearly deterministic) to 2.
    #[arg(help_heading = MODEL, long, value_name = "NUMBER", value_parser = temperature, allow_negative_numbers = true)]
    pub(crate) temperature: Option<f64>,
    /// Write the model's answers to this file, as a script for `replay:FILE`.
    #[arg(help_heading = MODEL, long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
}

fn temperature(text: &str) -> Result<f64, String> {
    let number = text
        .parse()
        .ok()
        .filter(|number| (0.0..=2.0).contains(number));
    number.ok_or_else(|| "it must be a number from 0 to 2".to_owned())
}

/// The handling of a run that fails.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct AdaptArguments {
    /// Maximum number of times that a model revises the plan after a failed step; completed steps are not repeated.
    #[arg(help_heading = MODEL, long, value_name = "N", default_value_t = 0)]
    pub(crate) replan: u32,
    /// Let a model correct the arguments of a failed call, once per step.
    #[arg(help_heading = MODEL, long)]
    pub(crate) repair: bool,
    #[command(flatten)]
    pub(crate) model: ModelArguments,
}

/// The switches for steps that run while their plan is still being written.
#[derive(Args, Clone, Debug)]
pub(crate) struct StreamArguments {
    /// Start read-only steps as soon as the plan is sound up to them, while the model still writes the rest; all others wait for
    /// the whole plan. This is the default without `--approve plan`.
    #[arg(help_heading = RUNNING, long, conflicts_with = "no_stream")]
    pub(crate) stream: bool,
    /// Call nothing until the whole plan is written.
    #[arg(help_heading = RUNNING, long)]
    no_stream: bool,
}

impl StreamArguments {
    /// Returns true if steps may run while the plan is written. Fails if `consent` requires the approval of a whole plan.
    pub(crate) fn is_wanted(&self, consent: &ConsentArguments) -> Result<bool, CommandError> {
        let needs_whole_plan = matches!(consent.approve, Approve::Plan(_));
        if self.stream && needs_whole_plan {
            return Err(CommandError::new(
                "`--stream` runs a plan before it is complete, but `--approve plan` needs the complete plan",
            )
            .hint("leave one of them out"));
        }
        Ok(!self.no_stream && !needs_whole_plan)
    }
}
