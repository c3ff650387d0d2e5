//! The Model Context Protocol in Planwright, client and server side. No other crate uses `rmcp`.
#![warn(missing_docs)]

/// The configuration of servers in `mcp.json`.
mod config;

/// The supported revisions of MCP.
mod revision;

/// Servers that are started, called and stopped.
mod client;

/// Processes identified by their id and start time.
pub mod process_table;

/// A supervisor process that ends servers after their parent has died.
mod supervisor;

/// The gateway: an MCP server in front of other servers.
#[cfg(feature = "gateway")]
pub mod gateway;

pub use client::{
    Caller, ChangeCounts, ConnectOptions, Connections, Consent, ProcessObserver, ResourceFollowing,
    ServerFailure, Tokens, UpstreamClient, UpstreamError, UpstreamNotification, UpstreamServer,
    UpstreamState, UpstreamView, Upstreams,
};
pub use config::{
    ConfigError, ConfigProblem, Grant, HttpConfig, OauthConfig, ProgramConfig, Reach, ServerConfig,
    ServersConfig,
};
pub use supervisor::{SUPERVISE, Supervisor, supervise};
