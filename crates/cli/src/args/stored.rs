//! The arguments of commands about plans that are saved.

use clap::Args;

use super::{Format, OPTIONS, StoreArguments, TextArguments};

/// `save`
#[derive(Args, Clone, Debug)]
pub(crate) struct SaveArguments {
    #[command(flatten)]
    pub(crate) text: TextArguments,
    /// The name; by default that of the plan, or of its file. Letters, digits, `_`, `-` and `.`.
    #[arg(help_heading = OPTIONS, long, value_name = "NAME")]
    pub(crate) name: Option<String>,
}

/// `list`
#[derive(Args, Clone, Debug)]
pub(crate) struct ListArguments {
    /// All versions of this plan, in place of the newest of each: its name, or the beginning of an id.
    #[arg(value_name = "NAME", help_heading = OPTIONS)]
    pub(crate) name: Option<String>,
    /// Output format.
    #[arg(help_heading = OPTIONS, long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
}

/// `delete`
#[derive(Args, Clone, Debug)]
pub(crate) struct DeleteArguments {
    /// The plan: its name, for all versions; `NAME@VERSION` or the beginning of an id, for one.
    #[arg(value_name = "NAME", help_heading = OPTIONS)]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
}
