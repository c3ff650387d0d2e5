//! The Streamable HTTP transport of remote servers.

mod arguments;
mod client;
mod events;
mod failure;
mod response;
mod transport;

pub(crate) use arguments::argument_fault;
pub(crate) use failure::HttpFailure;
pub(crate) use transport::{HttpHandle, open};
