//! The gateway: one MCP server in front of plans and other servers.
//!
//! The [`Host`](crate::gateway::Host) executes plans and is independent of the protocol. The gateway implements all
//! revisions of the protocol: how to request input during a call, which notifications a client gets, and how results of
//! one revision are converted to another.
//!
//! Design: [The gateway](https://github.com/planwright/planwright/blob/main/docs/design/gateway.md).

mod call;
mod client;
mod handler;
mod host;
mod listing;
mod naming;
mod state;
mod transport;

pub use client::{ClientId, GatewayClient};
pub use handler::forwarding::completed;
pub use host::{Host, HostCall, PassthroughMode, SuspendedCall, TaskRequest};
pub use state::{CALL_GRACE, Gateway, NOTIFIED_CLIENT_GRACE};
pub use transport::{HttpService, StreamError, serve_stdio, serve_stream};
