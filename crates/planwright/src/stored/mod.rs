//! Runs as a store keeps them: what they began with, what they came to, how they go on.

mod approver;
mod called;
mod choices;
mod consent;
mod error;
mod new_run;
mod questions;
mod replayed;
mod resume;
mod run;
mod servers;
mod stale;
#[cfg(feature = "planner")]
mod streamed;

pub use approver::StoreApprover;
pub use called::{CalledStep, called_steps};
pub use choices::resolve_choices;
pub use consent::plan_consent;
pub use error::StoredRunError;
pub use new_run::{NewStoredRun, process, tools_of};
pub use questions::{OpenQuestion, open_questions};
pub use resume::{PreparedResume, ResumeRequest, changed};
pub use run::{PlanChange, StoredRun, history};
pub use servers::OrphanedServers;
#[cfg(feature = "mcp")]
pub use servers::RecordProcesses;
pub use stale::{StaleStep, stale_steps};
#[cfg(feature = "planner")]
pub use streamed::StreamedRunStore;
