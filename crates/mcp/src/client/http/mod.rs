//! The Streamable HTTP transport of remote servers.

mod arguments;
mod authorization;
mod client;
mod events;
mod failure;
mod response;
mod transport;

pub(super) use arguments::fault as argument_fault;
pub use authorization::{Consent, Tokens};
pub(super) use failure::HttpFailure;
pub(super) use transport::{HttpLink, open};
