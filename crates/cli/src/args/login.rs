//! `login`

use std::path::PathBuf;

use clap::Args;

/// `login`
#[derive(Args, Clone, Debug)]
pub(crate) struct LoginArguments {
    /// The server, as the `mcp.json` calls it.
    #[arg(value_name = "SERVER")]
    pub(crate) server: String,
    /// An `mcp.json`; else `./mcp.json`, `./.mcp.json`, then the one in the user's settings, once trusted.
    #[arg(long, value_name = "FILE")]
    pub(crate) servers: Option<PathBuf>,
    /// Forget what the server has given out.
    #[arg(long)]
    pub(crate) remove: bool,
}
