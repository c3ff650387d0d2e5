//! Servers of other projects that tests start.

/// A PostgreSQL server.
pub mod postgres;

/// A Restate server.
pub mod restate;
