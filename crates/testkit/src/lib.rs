//! What tests share: a fake MCP server, golden files, scripted tools.

/// An MCP server that follows a script, and misbehaves where the script says so.
pub mod fake_server;

/// Files that a program writes, and that a test finds stale.
pub mod generated;

/// Who judges the gateway: the official conformance suite, and clients that others use.
pub mod judges;

/// Pages of the documentation, as tests read them.
pub mod pages;

/// The real MCP servers that tests talk to.
pub mod real_servers;
