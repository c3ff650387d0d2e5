//! The results of `workflow`, as `planwright.bench/1`.

use serde::Serialize;

/// The schema's name and version.
pub const BENCH_SCHEMA: &str = "planwright.bench/1";

/// A workflow in several orders. Times are in seconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BenchV1 {
    /// [`BENCH_SCHEMA`].
    pub schema: &'static str,
    /// The workflow's name.
    pub workflow: String,
    /// The number of tasks.
    pub tasks: usize,
    /// The number of dependencies.
    pub edges: usize,
    /// The sum of all tasks.
    pub work_s: f64,
    /// The longest path.
    pub path_s: f64,
    /// The relative error of the durations that the scheduler uses: 0.2 means up to a fifth more or less.
    pub noise: f64,
    /// The seed of the noise.
    pub seed: u64,
    /// The measurements, one for each width.
    pub widths: Vec<BenchWidthV1>,
}

/// The makespans of a workflow in several orders, with the same number of concurrent tasks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BenchWidthV1 {
    /// The number of parallel tasks.
    pub width: usize,
    /// The lower bound: the longest path, or the work spread over the width, whichever is greater.
    pub bound_s: f64,
    /// A proven lower bound of the makespan of every order.
    pub provable_s: f64,
    /// Level by level.
    pub barrier: BenchOrderV1,
    /// First come, first served.
    pub first_come: BenchOrderV1,
    /// Ours.
    pub ours: BenchOrderV1,
    /// The origin of our order: `longest_path`, `backwards`, `first_come` or `search`.
    pub found: &'static str,
}

/// The result of an order.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BenchOrderV1 {
    /// The end of the last task.
    pub makespan_s: f64,
    /// The makespan divided by the lower bound.
    pub ratio: f64,
}
