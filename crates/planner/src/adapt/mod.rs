//! Plan revision after a failed run: completed steps stay, and the model writes the next ones or corrects rejected arguments.
//!
//! Design: [A revised plan repeats no step](https://github.com/planwright/planwright/blob/main/docs/design/resume.md#a-revised-plan-repeats-no-step).

mod failed_run;
mod revise;

use planwright_core::{CheckedPlan, Diagnostics};

pub use failed_run::{CompletedStep, FailedCall, FailedRun};
pub use revise::{Correction, CorrectionFailure, ReplanOutcome, ReplanRequest, correct, replan};

/// Parser and checker of a plan in Planwright's own dialect, with the inputs, policy and library of the run.
pub type PlanChecker<'a> = dyn Fn(&str) -> (Option<CheckedPlan>, Diagnostics) + Sync + 'a;
