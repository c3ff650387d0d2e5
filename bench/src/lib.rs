//! How fast it is: what is measured, and on what.
//!
//! The programs in `benches` measure each part with criterion. `figures` prints one table of everything that
//! `docs/performance.md` promises, `peers` drives the engine for a comparison with other systems.

/// Shapes of graphs: chain, wide, layered, random.
pub mod shape;

/// The scheduler alone: a graph of calls, driven to its end.
pub mod scheduler;

/// Plans and catalogs of the size that is wanted.
pub mod plans;

/// The engine with tools that do nothing, or that sleep.
pub mod engine;

/// Calls over stdio: a plan's, and those of a bare `rmcp` client.
pub mod stdio;

/// The memory of this process.
pub mod memory;
