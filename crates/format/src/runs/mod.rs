//! Lists of runs, their journal entries as lines, comparisons of two.

mod comparison;
mod list;
mod log;
mod record;

pub use comparison::{
    ChangeV1, DIFF_SCHEMA, DiffV1, DivergenceV1, PlanDiffV1, REPLAY_SCHEMA, ReplayV1, StepDiffV1,
    StepSideV1, changes,
};
pub use list::{OPEN_CALL_SCHEMA, OpenCallV1, RUNS_SCHEMA, RunListingV1, RunsV1};
pub use log::{LOG_SCHEMA, LogLineV1, LogV1};
pub use record::{ENTRY_SCHEMA, EntryV1, RecordV1};
