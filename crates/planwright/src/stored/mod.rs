//! Stored runs: their starts, their results, their resumption.

pub(crate) mod decisions;
mod new_run;
mod replayed;
mod resume;
mod run;
mod servers;
#[cfg(feature = "planner")]
mod streamed;

pub use self::decisions::StoreApprover;
pub use self::decisions::plan_consent;
pub use self::decisions::{OpenQuestion, open_questions};
pub use self::resume::resolve_choices;
pub use self::resume::{CalledStep, called_steps};
pub use self::resume::{StaleStep, stale_steps};
pub use new_run::{NewStoredRun, process, tools_of};
pub use resume::{PreparedResume, ResumeRequest, changed};
pub use run::StoredRunError;
pub use run::{PlanChange, StoredRun, history};
pub use servers::OrphanedServers;
#[cfg(feature = "mcp")]
pub use servers::RecordProcesses;
#[cfg(feature = "planner")]
pub use streamed::StreamedRunStore;
