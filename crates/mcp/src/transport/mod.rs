//! The transports of sessions: stdio pipes and Streamable HTTP, with OAuth.

#[cfg(feature = "http")]
pub(crate) mod auth;
pub(crate) mod connection;
pub(crate) mod handle;
pub(crate) mod http;
pub(crate) mod inbound;
pub(crate) mod stdio;
