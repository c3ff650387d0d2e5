//! The Streamable HTTP transport of remote servers.

mod arguments;
mod client;
mod response;
mod transport;

pub(crate) use arguments::argument_fault;
pub(crate) use transport::{HttpFailure, HttpHandle, open};
