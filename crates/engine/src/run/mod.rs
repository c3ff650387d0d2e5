//! One run: which plan is where, what its references give, what its steps become.

mod bind;
mod calls;
mod consent;
mod effect;
mod estimate;
mod frame;
mod group;
mod guarding;
mod history;
mod inserted;
mod made;
mod opening;
mod outcome;
mod outputs;
mod pace;
mod prepare;
mod preview;
mod redact;
mod remember;
mod replay;
mod settle;
mod slots;
mod spelling;
mod state;
mod summary;
mod work;
mod writing;

pub use effect::{Effect, Input};
pub use estimate::{Assumption, Estimate, EstimatedCall, estimate};
pub use history::{Choice, History, Past, PastCall, PastDecision, PastEnd};
pub use outcome::{Because, SkipReason, StepStatus};
pub use preview::{StepPreview, preview};
pub use redact::{MASK, Redactor, SHORTEST, holds_mask, shown_inputs, without_secrets};
pub use replay::{Opening, ReplayError, Replayed, replay};
pub use state::Run;
pub use summary::{CallSummary, RunStatus, RunSummary, StepSummary};
