//! The transports of sessions: stdio pipes and Streamable HTTP, with OAuth.
//!
//! Design: [Sessions and transports](https://github.com/planwright/planwright/blob/main/docs/design/transports.md).

pub(crate) mod auth;
pub(crate) mod connection;
pub(crate) mod http;
pub(crate) mod stdio;
