//! What tests share: a fake MCP server, golden files, scripted tools.

/// An MCP server that follows a script, and misbehaves where the script says so.
pub mod fake_server;

/// The real MCP servers that tests talk to.
pub mod real_servers;
