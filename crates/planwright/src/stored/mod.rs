//! Stored runs: their starts, their results, their resumption.

mod comparison;
pub(crate) mod decisions;
mod new_run;
mod passphrase;
mod plan_approval;
mod replayed;
mod resume;
mod resumed_options;
mod retained_results;
mod run;
mod servers;
#[cfg(feature = "planner")]
mod streamed;

pub use self::comparison::{compare_runs, listing};
pub use self::decisions::{
    ArgumentViolation, OpenQuestion, StoreApprover, argument_violations, open_questions,
    output_violations,
};
pub use new_run::{NewStoredRun, process, tools_of};
pub use passphrase::{ConfirmedPassphrase, Decider, Passphrase, PassphraseError};
pub use plan_approval::{EarlierConsents, approve_plan, plan_consent};
pub use resume::{
    CalledStep, NamedSteps, PreparedResume, ResumeRequest, StaleStep, called_steps, changed,
    named_steps, resolve_choices, stale_steps,
};
pub use resumed_options::ProcessSecrets;
pub use retained_results::{RetainedResults, is_result_of, set_results};
pub use run::{PlanChange, StoredRun, StoredRunError, history};
pub use servers::OrphanedServers;
#[cfg(feature = "mcp")]
pub use servers::RecordProcesses;
#[cfg(feature = "planner")]
pub use streamed::StreamedRunStore;
