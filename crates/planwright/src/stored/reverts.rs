//! The runs that undo the calls of another run: their ids, and the rule that no call is undone twice.

use std::sync::Arc;

use planwright_core::text::hex;
use planwright_engine::RunId;
use planwright_store::{Store, StoreError};
use sha2::{Digest, Sha256};

use super::{StoredRun, StoredRunError};
use crate::format::{RevertsV1, RunV1};

/// The runs that revert `run`, in the order in which they began, with the calls that each undoes; and the id of the next one.
///
/// The ids follow from that of `run`, so that a lookup needs no index, and of two processes only one can begin the next one.
///
/// # Errors
///
/// The store cannot be read.
pub fn reverts_of(
    store: &Store,
    run: &RunId,
) -> Result<(Vec<(RunId, RevertsV1)>, RunId), StoredRunError> {
    let mut found = Vec::new();
    let mut number = 1_usize;
    loop {
        let id = revert_id(run, number)?;
        // The beginning of a longer id does not count.
        match store.run(id.as_str()) {
            Ok(info) if info.id == id => {}
            Ok(_) | Err(StoreError::Missing { .. } | StoreError::Ambiguous { .. }) => {
                return Ok((found, id));
            }
            Err(error) => return Err(error.into()),
        }
        let header = RunV1::from_value(&store.header(id.as_str())?)?;
        // A caller may have given the id to another run.
        if let Some(reverts) = header.reverts.filter(|reverts| reverts.run == *run) {
            found.push((id, reverts));
        }
        number += 1;
    }
}

/// Returns the id of the revert number `number` of `run`. It looks like any other id, so that its first characters suffice to name it.
fn revert_id(run: &RunId, number: usize) -> Result<RunId, StoredRunError> {
    let digest = Sha256::digest(format!("planwright.revert/1 {run} {number}"));
    let digits: Arc<str> = hex(digest.get(..8).unwrap_or_default()).into();
    RunId::try_from(digits).map_err(|error| StoredRunError::Unwritable(error.to_string()))
}

/// Checks that resuming a run repeats or uses nothing that a later run has undone or will undo. The caller has leased the run, and a run that
/// reverts another begins only while its predecessor and the reverted run are leased.
pub(super) fn check_not_reverted(
    stored: &StoredRun,
    store: &Store,
    id: &RunId,
) -> Result<(), StoredRunError> {
    let (reverts, _) = reverts_of(store, id)?;
    if let Some((by, _)) = reverts.into_iter().next_back() {
        return Err(StoredRunError::Reverted(by));
    }
    let Some(reverts) = &stored.run.reverts else {
        return Ok(());
    };
    let (all, _) = reverts_of(store, &reverts.run)?;
    match all.into_iter().next_back() {
        Some((last, _)) if last != *id => Err(StoredRunError::Superseded(last)),
        Some(_) | None => Ok(()),
    }
}
