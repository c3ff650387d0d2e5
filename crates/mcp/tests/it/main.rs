//! Tests of the client with servers: a fake one that misbehaves on purpose, and real ones.

#![expect(
    clippy::disallowed_methods,
    reason = "tests measure how long something takes"
)]

mod calling;
mod conformance;
#[cfg(feature = "gateway")]
mod gateway;
#[cfg(feature = "http")]
mod http;
mod real_servers;
mod starting;
mod stopping;
mod support;
mod tool_lists;
mod upstreams;
