//! Who keeps a run whose plan is not there when it begins.

use std::sync::Arc;

use planwright_core::{StepId, Value};
use planwright_engine::{Journal, JournalError};

use crate::create::CreatedPlan;

/// Keeps a run, once its plan is known. Nothing but what merely reads was called before that.
pub trait Keeper: Send + Sync {
    /// Begins to keep the run of `plan`. Where it began while the plan was being written, `beginning` says with how many of its steps.
    ///
    /// # Errors
    ///
    /// Why it cannot be kept. The run is ended then.
    fn begin(&self, plan: &CreatedPlan, beginning: Option<usize>) -> Result<Kept, JournalError>;

    /// Begins to keep a run that was ended, since its plan did not come: `plan` is what was there of it, and the run began with
    /// `beginning` of its steps.
    ///
    /// # Errors
    ///
    /// Why it cannot be kept. Nothing is run then.
    fn abandon(&self, plan: &CreatedPlan, beginning: usize) -> Result<Kept, JournalError>;

    /// The same run goes on with another plan; what was done for the steps that are `forgotten` does not count. Gives what goes into
    /// the journal with its second opening.
    ///
    /// # Errors
    ///
    /// Why it cannot be kept. The run does not go on then.
    fn go_on(&self, plan: &CreatedPlan, forgotten: &[StepId]) -> Result<Value, JournalError>;
}

/// Where a run is kept.
#[derive(Clone)]
pub struct Kept {
    /// What happens.
    pub journal: Arc<dyn Journal>,
    /// What goes into the journal with its first opening.
    pub header: Value,
}

impl std::fmt::Debug for Kept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kept").finish_non_exhaustive()
    }
}
