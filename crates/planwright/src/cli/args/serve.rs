//! The arguments of `serve`.

use std::net::SocketAddr;

use clap::{Args, ValueEnum};
use planwright::gateway::Mode;

use super::{OPTIONS, StoreArguments, ToolArguments};
use crate::cli::serve::edge::listen_address;

/// `serve`
#[derive(Args, Clone, Debug)]
pub(crate) struct ServeArguments {
    #[command(flatten)]
    pub(crate) tools: ToolArguments,
    /// What clients see.
    #[arg(help_heading = OPTIONS, long, value_enum, default_value_t = ServeMode::Plan)]
    pub(crate) mode: ServeMode,
    /// Have the tools for plans beside those of servers: with `--mode plain`.
    #[arg(help_heading = OPTIONS, long)]
    pub(crate) with_plans: bool,
    /// Serve over HTTP at this address, or at this port of the loopback address; over standard input and output where it is left
    /// out.
    #[arg(help_heading = OPTIONS, long, value_name = "ADDRESS", value_parser = listen_address)]
    pub(crate) listen: Option<SocketAddr>,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
    /// Keep nothing: what was run is forgotten when the gateway ends.
    #[arg(help_heading = OPTIONS, long, conflicts_with = "store")]
    pub(crate) no_store: bool,
}

/// What clients see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ServeMode {
    /// Tools to hand over plans, and to find out what they may call.
    Plan,
    /// `search_tools` and `call_tool`.
    Search,
    /// Every tool of every server, as it is.
    Plain,
}

impl ServeArguments {
    pub(crate) fn mode(&self) -> Mode {
        match (self.mode, self.with_plans) {
            (ServeMode::Plan, _) => Mode::Plan,
            (ServeMode::Search, _) => Mode::Search,
            (ServeMode::Plain, false) => Mode::Plain,
            (ServeMode::Plain, true) => Mode::PlainWithPlans,
        }
    }
}
