//! Checks and runs declarative plans of tool calls over MCP servers.
//!
//! A plan is read by [`dialects`], proved sound by [`core`](mod@core), and run by the [`engine`] over the tools of
//! [`mcp`] servers, of the built-in [`workspace`], or of the program itself.

/// What a plan is, and when it is sound.
pub use planwright_core as core;

/// How plans are written.
pub use planwright_dialects as dialects;

/// How a checked plan runs.
pub use planwright_engine as engine;

/// How we speak MCP.
pub use planwright_mcp as mcp;

/// The built-in server of file tools, confined to a folder.
pub mod workspace;

/// Text that comes from elsewhere, made fit for a terminal.
pub mod legible;

/// Pictures of plans: text, Mermaid, Graphviz, JSON.
pub mod drawing;

/// Workflows that others have run, as WfCommons writes them down.
pub mod wfformat;

/// What other programs read: reports and events.
pub mod wire;
