//! Reports of runs, their events, and the durations that they measured.

mod durations;
mod estimate;
mod event;
mod summary;
mod trim;
mod usage;

pub use durations::{DURATIONS_SCHEMA, DurationsV1, ToolDurationV1};
pub use estimate::{ESTIMATE_SCHEMA, EstimateV1, EstimatedCallV1};
pub use event::{EVENT_SCHEMA, EventV1};
pub use summary::{
    CallV1, ErrorV1, PlanV1, REPORT_SCHEMA, ReasonV1, ReportStatus, ReportV1, StepV1, milliseconds,
};
pub use trim::{TRIMMED, Trim};
pub use usage::UsageV1;
