//! The gateway: one MCP server in front of many, to which models submit plans.
//!
//! [`PlanHost`] implements the gateway's tools; [`Gateway`](planwright_mcp::gateway::Gateway) speaks the protocol for it.

mod blocking;
mod compat;
mod error;
mod host;
mod http;
mod plans;
mod response;
mod runs;
mod settings;
pub mod stages;
mod tokens;
mod tools;

pub use compat::FaceName;
pub use error::ServeError;
pub use host::PlanHost;
pub use http::{HttpServer, HttpSettings, Metrics, listen_address};
pub use plans::create::PlanWriter;
pub use planwright_planner::tools::{search, signatures};
pub use settings::{GatewaySettings, GetOutside, Mode};
pub use tokens::{StoredToken, TokenFile};
