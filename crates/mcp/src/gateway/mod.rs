//! The server side: one MCP server for whatever plans and the servers behind it offer.
//!
//! What a client may ask stands in [`Host`](crate::gateway::Host), which knows plans and nothing of the protocol. This side knows the protocol
//! in all its revisions: how a client is asked something in the middle of a call, which notifications it takes, what a
//! result of one revision is in another.

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
