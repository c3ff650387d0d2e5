//! Reports of runs, their events, and the durations that they measured.

mod event;
mod measurements;
mod summary;
mod trim;

pub use event::{EVENT_SCHEMA, EventKindV1, EventV1};
pub use measurements::{
    DURATIONS_SCHEMA, DurationsV1, ESTIMATE_SCHEMA, EstimateV1, EstimatedCallV1, ToolDurationV1,
    UsageV1,
};
pub use summary::{
    CallV1, ErrorV1, PlanV1, REPORT_SCHEMA, ReasonV1, ReportRevertV1, ReportStatus, ReportV1,
    StepV1, milliseconds,
};
pub use trim::{TRIMMED, Trim};
