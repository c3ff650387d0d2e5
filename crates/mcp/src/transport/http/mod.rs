//! The Streamable HTTP transport of remote servers.
//!
//! Design: [Our own HTTP requests inside sessions of `rmcp`](https://github.com/planwright/planwright/blob/main/docs/design/transports.md#our-own-http-requests-inside-sessions-of-rmcp).

mod arguments;
mod client;
mod response;
mod transport;

pub(crate) use arguments::argument_fault;
pub(crate) use transport::{HttpFailure, HttpHandle, open};
