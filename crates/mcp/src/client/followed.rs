//! The subscribed resources of one server.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

/// The URIs of subscribed resources, each with its number of subscribers.
#[derive(Debug, Default)]
pub(super) struct Followed {
    // Held for single accesses only, never across an await.
    addresses: Mutex<BTreeMap<Arc<str>, usize>>,
    ticks: watch::Sender<u64>,
}

impl Followed {
    /// Adds a subscriber of `uri`. Returns true if it is the first.
    pub(super) fn add(&self, uri: &Arc<str>) -> bool {
        let mut addresses = self.addresses();
        let count = addresses.entry(Arc::clone(uri)).or_default();
        *count += 1;
        let is_first = *count == 1;
        drop(addresses);
        if is_first {
            self.ticks.send_modify(|ticks| *ticks += 1);
        }
        is_first
    }

    /// Removes a subscriber of `uri`. Returns true if it was the last.
    pub(super) fn remove(&self, uri: &Arc<str>) -> bool {
        let mut addresses = self.addresses();
        let Some(count) = addresses.get_mut(uri) else {
            return false;
        };
        *count -= 1;
        let is_last = *count == 0;
        if is_last {
            addresses.remove(uri);
        }
        drop(addresses);
        if is_last {
            self.ticks.send_modify(|ticks| *ticks += 1);
        }
        is_last
    }

    /// Returns all subscribed URIs.
    pub(super) fn all(&self) -> Vec<Arc<str>> {
        self.addresses().keys().cloned().collect()
    }

    /// Returns a counter that changes with the set of URIs.
    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.ticks.subscribe()
    }

    fn addresses(&self) -> MutexGuard<'_, BTreeMap<Arc<str>, usize>> {
        self.addresses
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
