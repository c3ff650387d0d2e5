//! The arguments of commands that set Planwright up.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::Format;

/// `wrap`
#[derive(Args, Clone, Debug)]
pub(crate) struct WrapArguments {
    /// The client, `claude-code`, `claude-desktop`, `cursor` or `vscode`; or the file in which one lists its servers.
    #[arg(value_name = "CLIENT|FILE")]
    pub(crate) target: String,
    /// Put the servers back. Servers that were added to either file since then stay.
    #[arg(long)]
    pub(crate) undo: bool,
    /// Show what would change; change nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Only the servers of this scope; all that the client has for this folder if not given.
    #[arg(long, value_enum, value_name = "SCOPE")]
    pub(crate) scope: Option<WrapScope>,
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
}

/// The owner of the servers in a client's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum WrapScope {
    /// The user, in every folder.
    User,
    /// The folder, for everyone who has it.
    Project,
    /// The user, in this folder; Claude Code has such servers.
    Local,
}

impl WrapScope {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
            Self::Local => "local",
        }
    }
}

/// `init`
#[derive(Args, Clone, Debug)]
pub(crate) struct InitArguments {
    /// The folder.
    #[arg(value_name = "DIR", default_value = ".")]
    pub(crate) folder: PathBuf,
    /// Replace a `planwright.toml` that is there.
    #[arg(long)]
    pub(crate) force: bool,
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
}
