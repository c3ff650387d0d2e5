//! A cache of stored runs, so that all that read one run parse its journal, and the large values in it, once.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use planwright::store::{RunInfo, Store};
use planwright::stored::{StoredRun, StoredRunError};

use super::known::RunOrigin;

/// The number of runs that are cached.
const CACHED: usize = 4;

/// The stored runs that were read last, the latest first.
#[derive(Debug)]
pub(crate) struct StoredRuns {
    store: Store,
    latest: Mutex<VecDeque<(RunInfo, Arc<StoredRun>)>>,
}

impl StoredRuns {
    pub(super) fn new(store: Store) -> Self {
        Self {
            store,
            latest: Mutex::default(),
        }
    }

    pub(super) fn store(&self) -> &Store {
        &self.store
    }

    /// Returns a run with all entries that are stored now. Of a cached run, only the entries since then are read. Blocks on the disk.
    pub(crate) fn read(&self, info: &RunInfo) -> Result<Arc<StoredRun>, StoredRunError> {
        let id = info.id.as_str();
        let cached = {
            let latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
            let mut found = latest.iter().filter(|(known, _)| known.id == info.id);
            let of_run = found.next();
            let of_run = of_run.filter(|(known, _)| RunOrigin::of(known) == RunOrigin::of(info));
            of_run.map(|(_, stored)| Arc::clone(stored))
        };
        let read = match cached {
            Some(stored) => stored.updated(&self.store, id)?.map_or(stored, Arc::new),
            None => Arc::new(StoredRun::read(&self.store, id)?),
        };
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        latest.retain(|(other, _)| other.id != info.id);
        latest.push_front((info.clone(), Arc::clone(&read)));
        latest.truncate(CACHED);
        Ok(read)
    }
}
