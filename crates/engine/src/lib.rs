//! How a checked plan *runs*.
#![warn(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]
#![cfg_attr(
    test,
    allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::panic,
        reason = "a test that cannot go on says so by panicking"
    )
)]

/// What the engine asks of those who run tools, and what they answer.
pub mod backend;

pub use backend::{Backends, ErrorKind, ToolBackend, ToolCall, ToolError, ToolOutput};
