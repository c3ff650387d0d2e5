//! The outcomes of the undos that earlier reverts of a run called.

use std::collections::BTreeMap;

use planwright_core::Tool;
use planwright_engine::RunId;
use planwright_store::Store;

use super::calls::{RecordedOutcome, made_calls, set_steps};
use crate::format::RevertsV1;
use crate::stored::{StoredRun, StoredRunError};

/// The outcome of an earlier undo of a call, unless the undo certainly did not happen.
pub(super) enum UndoOutcome {
    Undone,
    InDoubt(RunId),
}

/// Returns what earlier reverts did to each call, by the number of the entry that says that it was sent.
pub(super) fn undo_outcomes(
    store: &Store,
    earlier: &[(RunId, RevertsV1)],
    configured: &(dyn Fn(Tool) -> Tool + Sync),
) -> Result<BTreeMap<usize, UndoOutcome>, StoredRunError> {
    let mut outcomes = BTreeMap::new();
    for (id, reverts) in earlier {
        let stored = StoredRun::read(store, id.as_str())?;
        let (made, set) = (made_calls(&stored, configured)?, set_steps(&stored)?);
        for call in &reverts.calls {
            // A person has undone it otherwise, even if the undo failed or was never called.
            if set.contains(call.step.as_str()) {
                outcomes.insert(call.entry, UndoOutcome::Undone);
                continue;
            }
            let mut undos = made
                .iter()
                .filter(|made| made.at.outermost().as_str() == call.step);
            let outcome = match undos.next_back().map(|made| &made.outcome) {
                Some(RecordedOutcome::Happened(..)) => UndoOutcome::Undone,
                Some(RecordedOutcome::Unknown) => UndoOutcome::InDoubt(id.clone()),
                None => continue,
            };
            outcomes.insert(call.entry, outcome);
        }
    }
    Ok(outcomes)
}
