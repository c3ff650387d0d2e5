//! The gateway: one MCP server in front of many, which a model hands its plans to.
//!
//! [`PlanHost`](crate::PlanHost) says what the tools of the gateway do; [`Gateway`](planwright_mcp::gateway::Gateway) speaks the protocol for it.

/// Settings of the gateway.
mod settings;

/// The tools that plans may call, as they are at one moment.
mod offered;

/// Stages: the tools of each, and the moves between them.
pub mod stages;

/// The gateway's own tools, as a model reads of them.
mod entries;

/// Arguments that a model wrote.
mod request;

/// The host: the handler of each of the gateway's tools.
mod host;

/// Tools for those who look for tools, and for calls without a plan.
mod find;

/// Plans that a model writes.
mod planning;

/// Clients that sample, as models.
mod sampling;

/// Results of earlier plans, for later ones.
mod recall;

/// Plans are checked and run.
mod execute;

/// Calls of plans, held against the tools as their servers list them now.
mod guarded;

/// Progress of a run.
mod progress;

/// Approvers of calls.
mod approver;

/// Pending questions of runs to people.
mod board;

/// Work that waits for the disk.
mod aside;

/// Runs of this process.
mod running;

/// Runs that are kept.
mod keep;

/// Runs go on.
mod resume;

/// Suspended calls of an earlier process go on.
mod continuation;

/// Runs as tasks, outputs as resources.
mod tasks;

/// Answers of bounded size.
mod bounds;

/// Images, audio and resources in answers.
mod attached;

/// Results for the model.
mod answer;

/// Forms of responses.
mod told;

/// The tools of other systems in the place of ours.
mod faces;

/// Errors of the server.
mod error;

/// The HTTP server in front of the gateway.
mod http;

/// Bearer tokens of clients.
mod tokens;

pub use error::ServeError;
pub use faces::FaceName;
pub use host::PlanHost;
pub use http::{HttpServer, HttpSettings, Metrics, listen_address};
pub use planning::PlanWriter;
pub use planwright_planner::tools::{search, signatures};
pub use settings::{GatewaySettings, GetOutside, Mode};
pub use tokens::{StoredToken, TokenFile};
