//! Lists of runs, their journal entries as lines, comparisons of two.

mod difference;
mod list;
mod log;
mod open_call;
mod record;
mod replay;

pub use difference::{ChangeV1, DIFF_SCHEMA, DiffV1, PlanDiffV1, StepDiffV1, StepSideV1, changes};
pub use list::{RUNS_SCHEMA, RunListingV1, RunsV1};
pub use log::{LOG_SCHEMA, LogLineV1, LogV1};
pub use open_call::{OPEN_CALL_SCHEMA, OpenCallV1};
pub use record::{ENTRY_SCHEMA, EntryV1, RecordV1};
pub use replay::{DivergenceV1, REPLAY_SCHEMA, ReplayV1};
