//! The documents that Planwright writes and reads: reports, events, stored runs, answers, each with a version.
//!
//! Types of this crate are plain data with `serde` forms, and the only ones of the workspace that other programs read. A reader refuses a
//! version that it does not know. The crate neither runs nor stores anything.
#![warn(missing_docs)]

/// Reports of runs, their events, and the durations that they measured.
mod report;

/// Headers of stored runs: the plan's text, the options and the tools of each process.
mod stored;

/// The journal format, `planwright.journal/1`.
pub mod journal;

/// Lists of runs, their journal entries as lines, comparisons.
mod runs;

/// Learned plans, recurring work, and sessions of clients.
mod learned;

/// Documents of single commands: plans and answers of models, configuration, conversion, setup.
mod documents;

/// Times in UTC as text, and durations as numbers.
mod time;

/// Schemas of the documents, and their reference pages.
#[cfg(test)]
mod reference;

pub use documents::{
    ANSWER_SCHEMA, AnswerV1, AttemptV1, CLIENT_LISTS_SCHEMA, CONFIG_SCHEMA, CONVERSION_SCHEMA,
    CREATED_SCHEMA, CarriedRuleV1, CarriedRulesV1, ClientListV1, ClientListsV1, ConfigFileV1,
    ConfigV1, ConversionV1, CreatedV1, DOCTOR_SCHEMA, DeclinedV1, DoctorCheckV1, DoctorV1,
    DroppedFieldV1, EXPLANATION_SCHEMA, EarlyCallV1, ExplanationV1, FLOW_SCHEMA, FLOW_TOOLS_SCHEMA,
    FlowToolV1, FlowToolsV1, FlowV1, INIT_SCHEMA, InitV1, ListedServerV1, MissingV1, ModelErrorV1,
    RenamedServerV1, RepairV1, SERVER_TESTS_SCHEMA, SERVERS_SCHEMA, ServerTestV1, ServerTestsV1,
    ServersV1, SettingV1, StayingServerV1, StreamedV1, WRAP_SCHEMA, WrapV1, WrappedFileV1,
};
pub use learned::{
    LEARN_SCHEMA, LearnCallV1, LearnFindingV1, LearnInputV1, LearnReplayV1, LearnTraceV1, LearnV1,
    RECURRING_SCHEMA, RecurringV1, RecurringWorkV1, SESSIONS_SCHEMA, SessionV1, SessionsV1,
};
pub use report::{
    CallV1, DURATIONS_SCHEMA, DurationsV1, ESTIMATE_SCHEMA, EVENT_SCHEMA, ErrorV1, EstimateV1,
    EstimatedCallV1, EventKindV1, EventV1, PlanV1, REPORT_SCHEMA, ReasonV1, ReportRevertV1,
    ReportStatus, ReportV1, StepV1, TRIMMED, ToolDurationV1, Trim, UsageV1, milliseconds,
};
pub use runs::{
    ChangeV1, ChangedStepV1, DIFF_SCHEMA, DiffV1, DivergenceV1, ENTRY_SCHEMA, EntryV1, InDoubtV1,
    LOG_SCHEMA, LogLineV1, LogStream, LogV1, OPEN_CALL_SCHEMA, OpenCallV1, PLAN_TEXTS_DIFF_SCHEMA,
    PlanDiffV1, PlanTextsDiffV1, REPLAY_SCHEMA, REVERT_SCHEMA, RUNS_SCHEMA, RecordV1, ReplayV1,
    RevertV1, RunClock, RunListingV1, RunsV1, StepDiffV1, StepSideV1, UndoV1, UnrevertedV1,
    WAITING_SCHEMA, WaitingV1, changes,
};
pub use stored::{
    BoundV1, ChoiceV1, FlowModeV1, FormatError, GuardsV1, LibraryPlanV1, LimitV1, NamedBoundV1,
    OptionsV1, PROCESS_SCHEMA, PlanTextV1, ProcessV1, RUN_SCHEMA, RateV1, RecalledLabelsV1,
    RetainedStepV1, RevertedCallV1, RevertsV1, RevisionV1, RunV1, ToolSourcesV1, ToolV1,
};
pub use time::{day, duration_nanos, from_unix_ms, timestamp};
