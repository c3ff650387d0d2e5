//! What `bench` measured, `planwright.bench/1`.

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
    /// How many tasks it has.
    pub tasks: usize,
    /// How often one task waits for another.
    pub edges: usize,
    /// The sum of all tasks.
    pub work_s: f64,
    /// The longest path.
    pub path_s: f64,
    /// How far off the durations are that the order goes by: 0.2 is a fifth up or down.
    pub noise: f64,
    /// Where the noise starts from.
    pub seed: u64,
    /// The measurements, one for each width.
    pub widths: Vec<BenchWidthV1>,
}

/// A workflow in several orders where so many tasks may be under way together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BenchWidthV1 {
    /// How many.
    pub width: usize,
    /// The lower bound: the longest path, or the work spread over the width, whichever is more.
    pub bound_s: f64,
    /// What can be proved that no order is quicker than.
    pub provable_s: f64,
    /// Level by level.
    pub barrier: BenchOrderV1,
    /// First come, first served.
    pub first_come: BenchOrderV1,
    /// Ours.
    pub ours: BenchOrderV1,
    /// Where our order comes from: `longest_path`, `backwards`, `first_come` or `search`.
    pub found: &'static str,
}

/// What came of an order.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BenchOrderV1 {
    /// When the last task ended.
    pub makespan_s: f64,
    /// How many times the lower bound that is.
    pub ratio: f64,
}
