//! The model that is asked.

use std::path::PathBuf;

use clap::Args;

/// The heading of what is about the model.
const MODEL: &str = "Model";

/// The model that is asked.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ModelArguments {
    /// The model, such as `openai:gpt-4o` or `ollama:llama3.2`. `replay:FILE` answers from a script.
    #[arg(help_heading = MODEL, long, value_name = "PROVIDER:NAME")]
    pub(crate) model: Option<String>,
    /// The address of the provider, if it is not the usual one.
    #[arg(help_heading = MODEL, long, value_name = "URL")]
    pub(crate) model_base_url: Option<String>,
    /// Write what the model answers to this file, as a script for `replay:FILE`.
    #[arg(help_heading = MODEL, long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
}

/// The handling of a run that fails.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct AdaptArguments {
    /// Number of times that a model may write the next steps after a step has failed: completed steps stay completed.
    #[arg(help_heading = MODEL, long, value_name = "N", default_value_t = 0)]
    pub(crate) replan: u32,
    /// Let a model correct the arguments of a step that its tool has refused, once for each step.
    #[arg(help_heading = MODEL, long)]
    pub(crate) repair: bool,
    #[command(flatten)]
    pub(crate) model: ModelArguments,
}
