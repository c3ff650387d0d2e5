//! Stored runs: their starts, their results, their resumption.

pub(crate) mod decisions;
mod error;
mod new_run;
pub(crate) mod plan_change;
mod replayed;
mod resume;
mod run;
mod servers;
#[cfg(feature = "planner")]
mod streamed;

pub use self::decisions::StoreApprover;
pub use self::decisions::plan_consent;
pub use self::decisions::{OpenQuestion, open_questions};
pub use self::plan_change::{CalledStep, called_steps};
pub use self::plan_change::{StaleStep, stale_steps};
pub use self::resume::resolve_choices;
pub use error::StoredRunError;
pub use new_run::{NewStoredRun, process, tools_of};
pub use resume::{PreparedResume, ResumeRequest, changed};
pub use run::{PlanChange, StoredRun, history};
pub use servers::OrphanedServers;
#[cfg(feature = "mcp")]
pub use servers::RecordProcesses;
#[cfg(feature = "planner")]
pub use streamed::StreamedRunStore;
