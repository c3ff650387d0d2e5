//! How a checked plan *runs*.

/// What the engine asks of those who run tools, and what they answer.
pub mod backend;

pub use backend::{Backends, ErrorKind, ToolBackend, ToolCall, ToolError, ToolOutput};
