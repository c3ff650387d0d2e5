//! One run: which plan is where, what its references give, what its steps become.

mod bind;
mod calls;
mod effect;
mod estimate;
mod frame;
mod group;
mod opening;
mod outcome;
mod pace;
mod prepare;
mod preview;
mod redact;
mod settle;
mod slots;
mod state;
mod summary;
mod work;

pub use effect::{Effect, Input};
pub use estimate::{Assumption, Estimate, EstimatedCall, estimate};
pub use outcome::{Because, SkipReason, StepStatus};
pub use preview::{StepPreview, preview};
pub use state::Run;
pub use summary::{CallSummary, RunStatus, RunSummary, StepSummary};
