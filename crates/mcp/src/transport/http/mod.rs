//! The Streamable HTTP transport of remote servers.
//!
//! Design: [Our own HTTP requests inside sessions of `rmcp`](https://github.com/planwright/planwright/blob/main/docs/design/transports.md#our-own-http-requests-inside-sessions-of-rmcp).

#[cfg(feature = "http")]
mod client;
#[cfg(feature = "http")]
mod failure;
#[cfg(feature = "http")]
mod response;
#[cfg(feature = "http")]
mod transport;

#[cfg(feature = "http")]
pub(crate) use client::client_with_headers;
#[cfg(feature = "http")]
pub(crate) use failure::HttpFailure;
#[cfg(feature = "http")]
pub(crate) use transport::{HttpHandle, open};
