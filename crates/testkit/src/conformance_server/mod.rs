//! An MCP server with exactly the fixtures that the official conformance suite expects, over stdio and Streamable
//! HTTP.
//!
//! It uses the same SDK as the server side of the gateway: a check that fails against it directly is a fault of the
//! SDK, one that fails only through the gateway is a fault of the gateway. Its fixtures are data, in `fixtures.json`.
//!
//! The server itself needs the feature `conformance`; the path of its program does not.

#[cfg(feature = "conformance")]
mod fixtures;
#[cfg(feature = "conformance")]
mod handler;

pub use crate::programs::conformance_server as program;
#[cfg(feature = "conformance")]
pub use handler::run;
