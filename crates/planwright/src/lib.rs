//! Check and run declarative plans of tool calls over MCP servers: library and command line.

/// The built-in server: files of one folder.
pub mod workspace;
