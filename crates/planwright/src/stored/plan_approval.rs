//! The approval of the whole plan of a stored run.

use std::time::SystemTime;

use planwright_core::PlanConsent;
use planwright_store::{PlanApproval, Store};

use super::{Decider, StoredRun, StoredRunError};

/// Stores the approval by `decider` of the whole plan of a run: all of its calls are made without further decisions, as long as the plan, its
/// inputs and its tools are those of `consent`. With `always`, a passphrase is required even if the store has none.
///
/// # Errors
///
/// [`StoredRunError::OtherPlan`] if `consent` is not that of the latest plan; [`StoredRunError::Passphrase`]; those of [`Store::approve_plan`].
pub(crate) fn approve_plan(
    store: &Store,
    run: &str,
    consent: &PlanConsent,
    (decider, always): (&Decider, bool),
    now: SystemTime,
) -> Result<(), StoredRunError> {
    decider.check(store, always)?;
    let stored = StoredRun::read(store, run)?;
    if stored.plan_consent() != Some(consent) {
        return Err(StoredRunError::OtherPlan);
    }
    let approval = PlanApproval {
        consent: consent.clone(),
        by: decider.name(),
        approved: now,
    };
    Ok(store.approve_plan(run, &approval)?)
}
