//! The gateway: one MCP server in front of plans and other servers.
//!
//! The [`Host`](crate::gateway::Host) executes plans and is independent of the protocol. The gateway implements all
//! revisions of the protocol: how to request input during a call, which notifications a client gets, and how results of
//! one revision are converted to another.

mod capabilities;
mod changes;
mod client;
mod conduct;
mod deliver;
mod ended;
mod front;
mod host;
mod http;
mod incoming;
mod line;
mod listing;
mod naming;
mod passing;
mod patient;
mod raw;
mod serve;
mod sessions;
mod shared;
mod suspended;
mod translate;
mod uses;

pub use client::{Client, ClientId};
pub use host::{Host, HostCall, Passing, SuspendedCall, TaskRequest};
pub use http::HttpService;
pub use passing::completed;
pub use serve::{ServeError, serve_stdio, serve_stream};
pub use shared::{CALL_GRACE, Gateway, TOLD_GRACE};
