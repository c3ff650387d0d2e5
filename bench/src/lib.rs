//! How fast it is: what is measured, and on what.
//!
//! The programs in `benches` measure each part with criterion. `figures` prints one table of everything that
//! `docs/performance.md` promises, `peer` takes our turns beside other systems, whose drivers are in `bench/peers`, `tokens` counts what
//! models read and write, and `streaming` measures the way from a question to the last call.

/// Shapes of graphs: chain, wide, layered, random.
pub mod shape;

/// The scheduler alone: a graph of calls, driven to its end.
pub mod scheduler;

/// Looking ahead: which order is foreseen for a graph of calls.
pub mod forecast;

/// Plans and catalogs of the size that is wanted.
pub mod plans;

/// The engine with tools that do nothing, or that sleep.
pub mod engine;

/// Runs that are kept, beside what SQLite itself can commit.
pub mod durable;

/// Our side of the comparison with other systems: the shapes, and one measured run.
pub mod peers;

/// Calls over stdio: a plan's, and those of a bare `rmcp` client.
pub mod stdio;

/// The program that is measured.
pub mod program;

/// The memory of this process.
pub mod memory;

/// Plans that are run while they are written, beside other ways.
pub mod streaming;

/// What models read and write to have tasks done.
pub mod tokens;

/// Recorded workflows in several orders, in virtual time.
pub mod workflow;
