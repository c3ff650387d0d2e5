//! The arguments of `chat`.

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use planwright::config::size;

use super::{
    ConsentArguments, ModelArguments, OPTIONS, PlanningArguments, RunFormat, StoreArguments,
    StreamArguments, ToolArguments, positive,
};

/// The heading of what bounds a conversation.
const BOUNDS: &str = "Bounds";

/// The heading of the Acts' protocol.
const ACTS: &str = "With --protocol acts";

/// `chat`
#[derive(Args, Clone, Debug)]
pub(crate) struct ChatArguments {
    /// The first words; further ones are read from standard input, a line each.
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
    pub(crate) bounds: ChatBounds,
    /// The protocol: `tools` to call, or solutions in the way of the `acts`.
    #[arg(help_heading = OPTIONS, long, value_enum, default_value_t = Protocol::Tools)]
    pub(crate) protocol: Protocol,
    #[command(flatten)]
    pub(crate) acts: ActsArguments,
    /// Go on with a conversation: its id, or the beginning of it.
    #[arg(help_heading = OPTIONS, long, value_name = "ID")]
    pub(crate) resume: Option<String>,
    /// List the conversations that are kept, the newest first.
    #[arg(help_heading = OPTIONS, long, conflicts_with_all = ["message", "resume", "no_store"])]
    pub(crate) list: bool,
    /// Output: the answers, one JSON object for each answer, or one JSON event a line.
    #[arg(help_heading = OPTIONS, long, value_enum, default_value_t = RunFormat::Text)]
    pub(crate) format: RunFormat,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
    /// Keep neither the conversation nor its runs.
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
            ("--library", self.library.is_some()),
        ];
        let mut given = flags.into_iter().filter(|(_, is_given)| *is_given);
        given.next().map(|(flag, _)| flag)
    }
}

/// The limits of a conversation.
#[derive(Args, Clone, Debug)]
pub(crate) struct ChatBounds {
    /// Maximum number of requests to the model for one answer: it is asked again after each round of calls.
    #[arg(help_heading = BOUNDS, long = "max-rounds", value_name = "N", default_value = "10", value_parser = positive::<NonZeroU32>, allow_negative_numbers = true)]
    pub(crate) rounds: NonZeroU32,
    /// The most calls of tools in all, those inside of plans included; without limit if not given.
    #[arg(help_heading = BOUNDS, long = "max-calls", value_name = "N")]
    pub(crate) calls: Option<u64>,
    /// The most tokens that the model reads and writes in all; without limit if not given.
    #[arg(help_heading = BOUNDS, long = "max-tokens", value_name = "N")]
    pub(crate) tokens: Option<u64>,
    /// The most that the model's answers may cost in all, in US dollars, as far as prices are known.
    #[arg(help_heading = BOUNDS, long = "max-cost", value_name = "USD")]
    pub(crate) cost: Option<f64>,
    /// The most that the model is shown of one result.
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
