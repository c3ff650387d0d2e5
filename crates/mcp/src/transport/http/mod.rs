//! The Streamable HTTP transport of remote servers.

mod arguments;
#[cfg(feature = "http")]
mod client;
#[cfg(feature = "http")]
mod events;
#[cfg(feature = "http")]
mod failure;
#[cfg(feature = "http")]
mod response;
#[cfg(feature = "http")]
mod transport;

pub(crate) use arguments::argument_fault;
#[cfg(feature = "http")]
pub(crate) use failure::HttpFailure;
#[cfg(feature = "http")]
pub(crate) use transport::{HttpHandle, open};
