//! The state of the journal of a run.

use std::collections::HashSet;
use std::sync::Arc;

use planwright_core::Hashing;

use super::history::History;
use crate::address::Address;

/// The journal of a run, as far as the run knows it.
#[derive(Debug, Default)]
pub(in crate::run) struct JournalState {
    /// True if the run has a journal.
    is_enabled: bool,
    /// The history of earlier processes.
    history: Option<Arc<History>>,
    /// In a replay: the places at which the process needed or lacked consent.
    replayed_consent: Option<RecordedConsent>,
}

/// The places at which a process needed or lacked consent, read from its journal. A replay needs them, because a journal contains neither
/// the flow policy nor secrets nor definitions of tools.
#[derive(Debug, Default)]
pub(in crate::run) struct RecordedConsent {
    /// The places that the process asked about.
    pub(in crate::run) asked: HashSet<Arc<Address>, Hashing>,
    /// The places of its calls that needed consent.
    pub(in crate::run) consented: HashSet<Arc<Address>, Hashing>,
    /// The places of calls that the flow policy has refused.
    pub(in crate::run) refused: HashSet<Arc<Address>, Hashing>,
}

impl JournalState {
    /// Records everything from here on.
    pub(super) fn enable(&mut self) {
        self.is_enabled = true;
    }

    pub(in crate::run) fn is_enabled(&self) -> bool {
        self.is_enabled
    }

    pub(super) fn resume_from(&mut self, history: Arc<History>) {
        self.history = Some(history);
    }

    pub(in crate::run) fn history(&self) -> Option<&Arc<History>> {
        self.history.as_ref()
    }

    pub(in crate::run) fn replayed_consent(&self) -> Option<&RecordedConsent> {
        self.replayed_consent.as_ref()
    }

    pub(super) fn replay_consent(&mut self, recorded: RecordedConsent) {
        self.replayed_consent = Some(recorded);
    }
}
