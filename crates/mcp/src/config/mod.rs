//! `mcp.json`, as other clients write it: which servers there are and how they are started.

mod duration;
mod expand;
mod fields;
mod jsonc;
mod one_server;
mod parse;
mod problem;
mod server;
#[cfg(test)]
mod tests;

pub use problem::{ConfigError, ConfigProblem};
pub use server::{ServerConfig, ServersConfig};
