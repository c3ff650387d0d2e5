//! The HTTP server of `serve`: access, limits, and shutdown. The only module that uses `axum`.
//!
//! A request passes, in this order: the number of connections, the time to send its head, `Host` and `Origin`, its client, the
//! rate and the requests in flight of that client, its size. Then it is passed to the service.

mod access;
mod connections;
mod gate;
mod health;
mod limits;
mod metrics;
mod origin;
mod page;
mod shared_rate;
mod unadmitted;

pub use connections::{HttpServer, HttpSettings, McpService, mcp_service};
pub use health::HealthNote;
pub use metrics::Metrics;
pub use origin::listen_address;
pub use page::{PageRoutes, SessionClient, TokenClients};

#[cfg(test)]
mod tests;
