//! Benchmarks.
//!
//! The programs in `benches` measure each part with criterion. Those in `src/bin` measure the whole:
//!
//! - `editor` measures the answers of the language server.
//! - `figures` prints one table of the figures in `docs/performance.md`.
//! - `overhead` measures the time that the gateway adds to a call.
//! - `peer` is our side of the comparison with other systems, whose drivers are in `bench/peers`.
//! - `search` measures the recall of the tool search.
//! - `soak` runs many plans over HTTP at once.
//! - `streaming` measures the time from a question to the last call.
//! - `tokens` counts the tokens that models read and write.
//! - `workflow` compares orders of the tasks of a recorded workflow.

/// Shapes of graphs: chain, wide, layered, random.
pub mod shape;

/// The scheduler alone, with graphs of calls.
pub mod scheduler;

/// The search for the order of calls with the shortest forecast makespan.
pub mod forecast;

/// Plans and catalogs of any size.
pub mod plans;

/// The engine with tools that do nothing or sleep.
pub mod engine;

/// Stored runs, compared with plain SQLite commits.
pub mod durable;

/// Our side of the comparison with other systems: the shapes, and one measured run.
pub mod peers;

/// Calls over stdio: those of a plan, and those of a bare `rmcp` client.
pub mod stdio;

/// The path of the measured program.
pub mod program;

/// Plans that run while they are written, compared with other methods.
pub mod streaming;

/// Tokens that models read and write to complete tasks.
pub mod tokens;

/// Recall of the tool search.
pub mod search;

/// Recorded workflows in several orders, in virtual time.
pub mod workflow;

/// Returns the resident memory of this process in bytes; `None` on other systems than Linux.
pub fn resident() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: usize = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}
