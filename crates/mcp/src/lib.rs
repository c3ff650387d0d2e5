//! How Planwright speaks the Model Context Protocol. No other crate knows `rmcp`.
#![warn(missing_docs)]

/// `mcp.json`: which servers there are.
mod config;

/// The revisions of MCP that are spoken.
mod revision;

/// Servers that are started, called and stopped.
mod client;

/// Processes by their numbers and starts.
pub mod process_table;

/// What ends servers once the process that started them is gone.
mod supervisor;

/// Our own server, in front of others.
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
