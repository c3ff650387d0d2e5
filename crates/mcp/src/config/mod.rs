//! The configuration of MCP servers in `mcp.json`, in the format that other clients use.

#[cfg(feature = "http")]
mod http;
pub mod jsonc;
#[cfg(feature = "http")]
mod openapi;
mod origin;
mod parse;
mod problem;
mod server;
mod server_reader;
#[cfg(all(test, feature = "http"))]
mod tests;

pub use problem::{ConfigError, ConfigProblem};
pub use server::{
    Grant, HttpConfig, OauthConfig, OpenApiConfig, ProgramConfig, ServerConfig, ServerTransport,
    ServersConfig,
};
pub use server_reader::is_secret_name;
