//! The arguments of commands that look at runs that are kept.

use clap::Args;

use super::{Format, OPTIONS, StoreArguments};

/// `replay`
#[derive(Args, Clone, Debug)]
pub(crate) struct ReplayArguments {
    /// The run: its id, or the beginning of it.
    #[arg(value_name = "RUN", help_heading = OPTIONS)]
    pub(crate) run: String,
    /// What to print.
    #[arg(help_heading = OPTIONS, long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
}
