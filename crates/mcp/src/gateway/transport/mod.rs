//! The transports of the gateway: streams and HTTP.

mod event_log;
mod http;
pub(super) mod sessions;
mod stream;

pub use http::HttpService;
pub use stream::{StreamError, serve_stdio, serve_stream};
