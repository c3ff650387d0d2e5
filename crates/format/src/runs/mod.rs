//! Lists of runs, their journal entries as lines, comparisons of two.

mod list;
mod log;
mod record;
mod revert;

pub use list::{
    ChangeV1, ChangedStepV1, DIFF_SCHEMA, DiffV1, DivergenceV1, OPEN_CALL_SCHEMA, OpenCallV1,
    PLAN_TEXTS_DIFF_SCHEMA, PlanDiffV1, PlanTextsDiffV1, REPLAY_SCHEMA, RUNS_SCHEMA, ReplayV1,
    RunListingV1, RunsV1, StepDiffV1, StepSideV1, WAITING_SCHEMA, WaitingV1, changes,
};
pub use log::{LOG_SCHEMA, LogLineV1, LogStream, LogV1};
pub use record::{ENTRY_SCHEMA, EntryV1, RecordV1, RunClock};
pub use revert::{InDoubtV1, REVERT_SCHEMA, RevertV1, UndoV1, UnrevertedV1};
