//! What other programs read: versioned twins of what the engine knows, serialised only here.

#[cfg(feature = "planner")]
mod answer;
mod bench;
mod config;
mod conversion;
#[cfg(feature = "planner")]
mod created;
mod difference;
mod durations;
mod estimate;
mod event;
mod kept;
mod log;
mod open_call;
mod record;
#[cfg(test)]
pub(crate) mod reference;
mod replay;
mod report;
mod runs;
mod setup;
#[cfg(feature = "planner")]
mod streamed;
mod trim;
mod usage;
pub(crate) mod utc;

#[cfg(feature = "planner")]
pub use answer::{ANSWER_SCHEMA, AnswerV1, MissingV1};
pub use bench::{BENCH_SCHEMA, BenchOrderV1, BenchV1, BenchWidthV1};
pub use config::{CONFIG_SCHEMA, ConfigFileV1, ConfigV1, SettingV1};
pub use conversion::{CONVERSION_SCHEMA, ConversionV1};
#[cfg(feature = "planner")]
pub use created::{AttemptV1, CREATED_SCHEMA, CreatedV1, DeclinedV1, ModelErrorV1, RepairV1};
pub use difference::{ChangeV1, DIFF_SCHEMA, DiffV1, PlanDiffV1, StepDiffV1, StepSideV1, changes};
pub use durations::{DURATIONS_SCHEMA, DurationsV1, ToolDurationV1};
pub use estimate::{ESTIMATE_SCHEMA, EstimateV1, EstimatedCallV1};
pub use event::{EVENT_SCHEMA, EventV1};
pub use kept::{
    BoundV1, ChoiceV1, GuardsV1, KeptError, LibraryPlanV1, LimitV1, NamedBoundV1, OptionsV1,
    PROCESS_SCHEMA, PlanTextV1, ProcessV1, RUN_SCHEMA, RateV1, RevisionV1, RunV1, ToolSourcesV1,
    ToolV1,
};
pub use log::{LOG_SCHEMA, LogLineV1, LogV1};
pub use open_call::{OPEN_CALL_SCHEMA, OpenCallV1};
pub use record::{ENTRY_SCHEMA, EntryV1, RecordV1};
pub use replay::{DivergenceV1, REPLAY_SCHEMA, ReplayV1};
pub(crate) use report::milliseconds;
pub use report::{
    CallV1, ErrorV1, PlanV1, REPORT_SCHEMA, ReasonV1, ReportStatus, ReportV1, StepV1,
};
pub use runs::{KeptRunV1, RUNS_SCHEMA, RunsV1};
pub use setup::{
    CarriedRuleV1, CarriedRulesV1, INIT_SCHEMA, InitV1, RenamedServerV1, StayingServerV1,
    WRAP_SCHEMA, WrapV1, WrappedFileV1,
};
#[cfg(feature = "planner")]
pub use streamed::{EarlyCallV1, StreamedV1};
pub use trim::{TRIMMED, Trim};
pub use usage::UsageV1;
pub use utc::{day, timestamp};
