//! An MCP server that offers exactly what the official conformance suite asks servers for, over stdio and Streamable HTTP.
//!
//! It is built on the same SDK as the gateway's own side towards clients, so what fails when it is asked directly is
//! the SDK's, and what fails only through the gateway is the gateway's. What it offers is data, in `offers.json`.
//!
//! The server itself needs the feature `conformance`; where its program is, every test can ask.

#[cfg(feature = "conformance")]
mod handler;
#[cfg(feature = "conformance")]
mod offers;
mod program;
#[cfg(feature = "conformance")]
mod rounds;
#[cfg(feature = "conformance")]
mod serve;

pub use program::program;
#[cfg(feature = "conformance")]
pub use serve::run;
