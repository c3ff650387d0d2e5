//! The HTTP server of `serve`: access, limits, and shutdown. The only module that uses `axum`.
//!
//! A request passes, in this order: the number of connections, the time to send its head, `Host` and `Origin`, who it is, how
//! many that client has in flight and how fast they come, its size. The rest is passed to the service.

mod connections;
mod gate;
mod limits;
mod metrics;
mod origin;
mod page;

pub use connections::{HttpServer, HttpSettings};
pub use metrics::Metrics;
pub use origin::listen_address;
pub use page::{PageRoutes, SessionClient, TokenClients};

#[cfg(test)]
mod tests;
