//! Recorded workflows, replayed in virtual time in several orders beside the lower bound.

mod file;
mod measure;
mod report;
mod table;

pub use file::{Task, VERSIONS, Workflow, WorkflowFault};
pub use measure::{Settings, measure};
pub use report::{BENCH_SCHEMA, BenchOrderV1, BenchV1, BenchWidthV1};
pub use table::text;
