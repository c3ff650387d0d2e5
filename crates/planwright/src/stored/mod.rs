//! Stored runs: their starts, their results, their resumption.

mod choices;
mod comparison;
mod decisions;
mod error;
mod new_run;
mod passphrase;
mod plan_consent;
mod replayed;
mod resume;
mod retained_results;
mod run;
mod servers;
#[cfg(feature = "planner")]
mod streamed;
mod violations;

pub use choices::{NamedSteps, named_steps, resolve_choices, set_results};
pub use comparison::{compare_runs, listing};
pub use decisions::{OpenQuestion, StoreApprover, approve_plan, open_questions};
pub use error::StoredRunError;
pub use new_run::{ExportedFamily, NewStoredRun, export, process, reverts_of};
pub use passphrase::{ConfirmedPassphrase, Decider, Passphrase, PassphraseError};
pub use plan_consent::{EarlierConsents, plan_consent, tools_of};
pub use resume::{
    CalledStep, PreparedResume, ProcessSecrets, ResumeRequest, StaleStep, called_steps, changed,
    stale_steps,
};
pub use retained_results::{RetainedResults, is_result_of};
pub use run::{PlanChange, StoredRun, history};
pub use servers::OrphanedServers;
#[cfg(feature = "mcp")]
pub use servers::RecordProcesses;
#[cfg(feature = "planner")]
pub use streamed::StreamedRunStore;
pub use violations::{ArgumentViolation, argument_violations, output_violations};
