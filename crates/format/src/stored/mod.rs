//! The stored data of a run beside its journal, with which another process can resume it: `planwright.run/1` of the run,
//! `planwright.process/1` of each process that drives it.

mod options;
mod run;

pub use options::{BoundV1, GuardsV1, LimitV1, NamedBoundV1, OptionsV1, RateV1};
pub use run::{
    ChoiceV1, FlowModeV1, FormatError, LibraryPlanV1, PROCESS_SCHEMA, PlanTextV1, ProcessV1,
    RUN_SCHEMA, RecalledLabelsV1, RetainedStepV1, RevertedCallV1, RevertsV1, RevisionV1, RunV1,
    ToolSourcesV1, ToolV1,
};
