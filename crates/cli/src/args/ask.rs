//! The arguments of `ask`.

use clap::Args;

use super::{
    ConsentArguments, GuardArguments, ModelArguments, OPTIONS, PlanningArguments, RUNNING,
    RunFormat, StoreArguments, StreamArguments, ToolArguments,
};

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
    /// Number of times that the model may write the next steps after a step has failed: completed steps stay completed.
    #[arg(help_heading = RUNNING, long, value_name = "N", default_value_t = 1)]
    pub(crate) replan: u32,
    /// Let the model correct the arguments of a step that its tool has refused, once for each step.
    #[arg(help_heading = RUNNING, long)]
    pub(crate) repair: bool,
    #[command(flatten)]
    pub(crate) stream: StreamArguments,
    #[command(flatten)]
    pub(crate) guards: GuardArguments,
    #[command(flatten)]
    pub(crate) consent: ConsentArguments,
    /// Output: the answer, every stage as one JSON document, or one JSON event a line and the document at the end.
    #[arg(help_heading = OPTIONS, long, value_enum, default_value_t = RunFormat::Text)]
    pub(crate) format: RunFormat,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
    /// Keep nothing on disk: the run cannot be resumed or looked at later.
    #[arg(help_heading = RUNNING, long, conflicts_with = "store")]
    pub(crate) no_store: bool,
}
