//! Sessions: connections to servers, with the requests and notifications of both sides.
//!
//! Design: [Sessions and transports](https://github.com/planwright/planwright/blob/main/docs/design/transports.md).

pub(crate) mod caller;
pub(crate) mod envelope;
pub(crate) mod error;
pub(crate) mod handshake;
pub(crate) mod in_flight;
pub(crate) mod lists;
pub(crate) mod message_text;
pub(crate) mod open_session;
pub(crate) mod request;
pub(crate) mod router;

pub use caller::{Caller, UpstreamClient};
pub use error::UpstreamError;
