//! The gateway: one MCP server in front of plans and other servers.
//!
//! The [`Host`](crate::gateway::Host) executes plans and is independent of the protocol. The gateway implements all
//! revisions of the protocol: how to request input during a call, which notifications a client gets, and how results of
//! one revision are converted to another.
//!
//! Design: [The gateway](https://github.com/planwright/planwright/blob/main/docs/design/gateway.md).

mod call;
mod call_queue;
mod client;
mod handler;
mod listing;
mod results;
mod state;
mod suspended;
mod transport;

pub use client::{ClientGroups, ClientId, GatewayClient};
pub use handler::forwarding::request_until_complete;
pub use state::{
    CALL_GRACE, Gateway, Host, HostCall, NOTIFIED_CLIENT_GRACE, PassthroughMode, SuspendedCall,
    TaskRequest,
};
pub use transport::{HttpService, StreamError, serve_stdio, serve_stream};
