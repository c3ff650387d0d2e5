//! The Model Context Protocol in Planwright, client and server side. No other crate uses `rmcp`.
#![warn(missing_docs)]

/// The configuration of servers in `mcp.json`.
mod config;

/// JSON objects: their text fields, and copies with other fields.
mod object;

/// Views of tools, as the MCP extension for apps defines them.
pub mod views;

/// The transports of sessions: stdio and Streamable HTTP.
mod transport;

/// Sessions: connections to servers, with the messages of both sides.
mod session;

/// Servers that are started, called, observed and stopped.
mod upstream;

/// Processes identified by their id and start time.
pub mod process_table;

/// A supervisor process that ends servers after their parent has died.
mod supervisor;

/// The gateway: an MCP server in front of other servers.
#[cfg(feature = "gateway")]
pub mod gateway;

pub use config::{
    ConfigError, ConfigProblem, Grant, HttpConfig, OauthConfig, OpenApiConfig, ProgramConfig,
    ServerConfig, ServerTransport, ServersConfig, is_secret_name, jsonc,
};
pub use session::{Caller, UpstreamClient, UpstreamError};
pub use supervisor::{SUPERVISE, Supervisor, supervise};
#[cfg(feature = "http")]
pub use transport::auth::Tokens;
#[cfg(feature = "http")]
pub use upstream::Consent;
pub use upstream::{
    ChangeCounts, ConnectOptions, Connections, ProcessObserver, ResourceSubscription,
    ServerChanges, ServerFailure, StoredTools, ToolLists, UnansweredQuestion, UnansweredQuestions,
    UpstreamNotification, UpstreamServer, UpstreamState, UpstreamView, Upstreams,
};
