//! The gateway: one MCP server in front of many, to which models submit plans.
//!
//! [`PlanHost`] implements the gateway's tools; [`Gateway`](planwright_mcp::gateway::Gateway) speaks the protocol for it.

/// Access of clients: OAuth access tokens, and the rules for clients.
mod access;

/// The tools of other systems instead of ours.
mod compat;

/// Clients that have read untrusted text.
mod exposure;

/// The host of a gateway: the state that its tools share.
mod host;

/// The requests of clients that a gateway passes to its host.
mod requests;

/// The HTTP server in front of the gateway.
mod http;

/// Plans from their text to a run.
mod plans;

/// Responses to clients.
mod response;

/// Runs of clients.
mod runs;

/// Settings of the gateway.
mod settings;

/// Stages: the tools of each, and the moves between them.
pub mod stages;

/// Tokens of clients over HTTP.
mod tokens;

/// The gateway's own tools.
mod tools;

/// The page of runs inside clients that show views.
mod view;

pub use access::claimed_identity;
pub use host::PlanHost;
pub use http::{
    HealthNote, HttpServer, HttpSettings, McpService, Metrics, PageRoutes, SessionClient,
    TokenClients, listen_address, mcp_service,
};
pub use plans::writer::PlanWriter;
pub use planwright_planner::tools::{search, signatures};
pub use settings::{CompatProfile, ExternalValueSource, GatewayMode, GatewaySettings};
pub use tokens::{ServeError, StoredToken, TokenFile};
pub use view::{PageRequest, RunPage};
