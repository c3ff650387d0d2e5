//! Which model is asked.

use clap::Args;

/// The heading of what is about the model.
const MODEL: &str = "Model";

/// Which model is asked.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ModelArguments {
    /// Who is asked: `replay:FILE` answers from a script, a JSON list of answers.
    #[arg(help_heading = MODEL, long, value_name = "PROVIDER:NAME")]
    pub(crate) model: Option<String>,
}
