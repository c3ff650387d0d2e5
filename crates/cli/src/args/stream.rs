//! True if steps run while their plan is still being written.

use clap::Args;

use super::{Approve, ConsentArguments, RUNNING};
use crate::error::CommandError;

/// True if steps run while their plan is still being written.
#[derive(Args, Clone, Debug)]
pub(crate) struct StreamArguments {
    /// Start steps that merely read as soon as the plan is sound up to them, while the model still writes the rest; all others wait for
    /// the whole plan. So it is without `--approve plan`.
    #[arg(help_heading = RUNNING, long, conflicts_with = "no_stream")]
    pub(crate) stream: bool,
    /// Call nothing before the whole plan is written.
    #[arg(help_heading = RUNNING, long)]
    pub(crate) no_stream: bool,
}

impl StreamArguments {
    /// Returns whether they do, with such a consent.
    pub(crate) fn is_wanted(&self, consent: &ConsentArguments) -> Result<bool, CommandError> {
        let is_looked_at = matches!(consent.approve, Approve::Plan(_));
        if self.stream && is_looked_at {
            return Err(CommandError::new(
                "`--stream` runs steps of a plan that is not whole yet, and `--approve plan` asks about the whole of it first",
            )
            .hint("leave one of them out"));
        }
        Ok(!self.no_stream && !is_looked_at)
    }
}
