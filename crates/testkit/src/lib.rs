//! What tests share: a fake MCP server, golden files, scripted tools.

/// A port at which nobody listens.
pub mod closed_port;

/// The official conformance suite, and what it finds about a server.
pub mod conformance;

/// An MCP server that offers what the official conformance suite asks for.
pub mod conformance_server;

/// An MCP server that follows a script, and misbehaves where the script says so.
pub mod fake_server;

/// Files that a program writes, and that a test finds stale.
pub mod generated;

/// HTTP as it is on the wire.
pub mod http_wire;

/// Who judges the gateway: the official conformance suite, and clients that others use.
pub mod judges;

/// Programs that listen.
pub mod listening;

/// A server that answers as a model's provider would.
pub mod model_server;

/// Pages of the documentation, as tests read them.
pub mod pages;

/// The real MCP servers that tests talk to.
pub mod real_servers;

/// Reference pages, made of JSON Schemas.
pub mod reference_page;

/// A client that sees exactly what a server sends.
pub mod wire_client;

/// Where the programs of this crate are.
mod programs;
