//! Test support: servers and clients under the control of tests, and golden files.

/// Random decisions, the same ones for the same seed.
pub mod chance;

/// The official MCP conformance suite, run against a server.
pub mod conformance;

/// An MCP server with the fixtures that the official conformance suite expects.
pub mod conformance_server;

/// A scripted MCP server, which can misbehave as well.
pub mod fake_server;

/// Generated files, checked by tests.
pub mod generated;

/// HTTP on the wire, without a library.
pub mod http_wire;

/// Processes of programs that serve HTTP, and a port at which none does.
pub mod listening;

/// A scripted server of a model provider.
pub mod model_server;

/// Fenced blocks of documentation pages.
pub mod pages;

/// Servers of other projects that tests start.
mod services;

pub use services::{postgres, restate};

/// Reference pages, made of JSON Schemas.
pub mod reference_page;

/// An MCP client that sees every message of a server.
pub mod wire_client;

/// Paths of the programs of this crate, and of those that `cargo xtask` installs for tests.
mod programs;

pub use programs::{judges, real_servers};
