//! The configuration of MCP servers in `mcp.json`, in the format that other clients use.

#[cfg(feature = "http")]
mod http;
pub mod jsonc;
mod parse;
mod server;
mod server_reader;
#[cfg(all(test, feature = "http"))]
mod tests;

pub use parse::{ConfigError, ConfigProblem};
pub use server::{
    Grant, HttpConfig, OauthConfig, ProgramConfig, ServerConfig, ServerTransport, ServersConfig,
};
pub use server_reader::is_secret_name;
