//! The state machine of one run: running plans, resolution of references, outcomes of steps.
//!
//! Design: [Execution](https://github.com/planwright/planwright/blob/main/docs/design/execution.md).

pub(super) mod budgets;
mod calls;
mod effects;
mod journaling;
mod lifecycle;
mod outcome;
mod redaction;
mod report;
mod run_machine;
mod tasks;
mod values;

pub use effects::{Effect, RunInput};
pub use journaling::history::{History, PastCall, PastDecision, PastEnd, StepHistory};
pub use journaling::replay::{ReplayError, ReplayHeader, ReplayReport, replay};
pub use outcome::{Choice, RunStatus, SkipKind, SkipReason, StepStatus};
pub use redaction::redactor::{
    MASK, MIN_SECRET_BYTES, Redactor, contains_mask, redacted_inputs, without_secrets,
};
pub use report::estimate::{Assumption, Estimate, EstimatedCall, StepPreview, estimate, preview};
pub use report::step_times::{StepTime, step_times};
pub use report::summary::{CallSummary, OutputError, RevertSummary, RunSummary, StepSummary};
pub use run_machine::RunMachine;
