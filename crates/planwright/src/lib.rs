//! Check and run declarative plans of tool calls over MCP servers: library and command line.

/// The built-in server: files of one folder.
pub mod workspace;

/// Text that comes from elsewhere, made fit for a terminal.
pub mod legible;

/// Pictures of plans: text, Mermaid, Graphviz, JSON.
pub mod drawing;
