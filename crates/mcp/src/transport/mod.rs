//! The transports of sessions: stdio pipes and Streamable HTTP, with OAuth.

pub(crate) mod auth;
pub(crate) mod connection;
pub(crate) mod http;
pub(crate) mod stdio;
