//! The gateway: one MCP server in front of many, which a model hands its plans to.
//!
//! [`PlanHost`](crate::PlanHost) says what the tools of the gateway do; [`Gateway`](planwright_mcp::gateway::Gateway) speaks the protocol for it.

/// How a gateway works.
mod settings;

/// The tools that plans may call, as they are at one moment.
mod offered;

/// Which tools there are now, and where one can go from here.
pub mod stages;

/// The gateway's own tools, as a model reads of them.
mod entries;

/// What a model wrote as arguments.
mod request;

/// Which of the gateway's tools does what.
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

/// How far a run is.
mod progress;

/// Who decides about calls.
mod approver;

/// What a run wants to know of people.
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

/// What a model is told.
mod answer;

/// In which form it is told.
mod told;

/// The tools of other systems in the place of ours.
mod faces;

/// Why the server cannot start.
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
