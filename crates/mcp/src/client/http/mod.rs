//! Servers that are reached over Streamable HTTP.

mod client;
mod events;
mod failure;
mod response;
mod transport;

pub(super) use failure::HttpFailure;
pub(super) use transport::{HttpLink, open};
