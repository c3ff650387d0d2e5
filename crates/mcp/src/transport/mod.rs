//! The transports of sessions: stdio pipes and Streamable HTTP, with OAuth, and the requests of HTTP APIs.
//!
//! Design: [Sessions and transports](https://github.com/planwright/planwright/blob/main/docs/design/transports.md).

#[cfg(feature = "http")]
pub(crate) mod auth;
pub(crate) mod connection;
pub(crate) mod http;
#[cfg(feature = "http")]
pub(crate) mod openapi;
pub(crate) mod stdio;
