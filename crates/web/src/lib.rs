//! The page of runs: plans, runs and decisions in the browser.
//!
//! [`Page`] is the page with its JSON interface, as an `axum` router that any HTTP server can serve; [`PageServer`] serves it on loopback.
//! It reaches plans and runs through the library [`planwright`] alone, and the page itself is a single document without external parts.

/// Errors of the JSON interface.
mod error;

/// The document of the page, and the policy that allows nothing but its own parts.
mod document;

/// Sessions: a token is exchanged for a cookie.
mod session;

/// The checks that every request passes.
mod guard;

/// The streams of events that are open.
mod streams;

/// The runs that pages show, each followed once.
mod feeds;

/// The tools of plans that the page checks and runs.
mod tools;

/// The checked plans of stored runs.
mod plans;

/// The state of all stored runs, as lists and watchers share it.
mod board;

/// The routes of the JSON interface.
mod api;

/// The page as a router.
mod page;

/// The page inside a client, without HTTP.
mod view;

/// The server on loopback.
mod server;

pub use guard::HostRule;
pub use page::{FlowMarker, Page, PageSettings};
pub use server::PageServer;
pub use session::{Access, PageClients, PageToken};
pub use tools::{
    ExternalValues, NoTools, OpenRevert, OpenTools, PageTools, ToolsError, ToolsGuard,
};
pub use view::{ViewAnswer, ViewRequest};
