//! The configuration of MCP servers in `mcp.json`, in the format that other clients use.

mod duration;
mod expand;
mod fields;
mod http;
mod jsonc;
mod one_server;
mod origin;
mod parse;
mod problem;
mod program;
mod server;
#[cfg(test)]
mod tests;

pub use problem::{ConfigError, ConfigProblem};
pub use server::{
    Grant, HttpConfig, OauthConfig, ProgramConfig, Reach, ServerConfig, ServersConfig,
};
