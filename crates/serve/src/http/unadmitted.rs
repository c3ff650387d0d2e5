//! The connections without an authorised request, and their end in favour of others. The address of a request.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

use super::limits::network_of;

/// The share of all connections that one address may have without an authorised request.
const CONNECTIONS_PER_SHARE: u32 = 8;

/// The minimum of that number: a client may open several connections at once.
const MIN_CONNECTIONS: usize = 4;

/// The connections without an authorised request, by address, the oldest first.
#[derive(Clone, Debug)]
pub(super) struct UnadmittedConnections {
    limit: usize,
    waiting: Arc<Mutex<HashMap<IpAddr, VecDeque<CancellationToken>>>>,
}

/// A connection without an authorised request, until it has one or is dropped.
#[derive(Clone, Debug)]
pub(super) struct UnadmittedConnection(Arc<UnadmittedEntry>);

#[derive(Debug)]
struct UnadmittedEntry {
    address: IpAddr,
    end: CancellationToken,
    newcomers: UnadmittedConnections,
}

impl UnadmittedConnections {
    /// Creates the list for a port that takes `connections`.
    pub(super) fn new(connections: u32) -> Self {
        Self {
            limit: usize::try_from(connections / CONNECTIONS_PER_SHARE)
                .map_or(usize::MAX, |limit| limit.max(MIN_CONNECTIONS)),
            waiting: Arc::default(),
        }
    }

    /// Adds a connection. If its address has too many, the oldest of them is closed.
    pub(super) fn enter(&self, address: IpAddr) -> UnadmittedConnection {
        let address = network_of(address);
        let end = CancellationToken::new();
        let mut waiting = self.lock();
        let of_address = waiting.entry(address).or_default();
        if of_address.len() >= self.limit
            && let Some(oldest) = of_address.pop_front()
        {
            oldest.cancel();
        }
        of_address.push_back(end.clone());
        drop(waiting);
        UnadmittedConnection(Arc::new(UnadmittedEntry {
            address,
            end,
            newcomers: self.clone(),
        }))
    }

    /// Closes the oldest connection of the address that has the most. Returns false if there was none.
    pub(super) fn evict_oldest(&self) -> bool {
        let mut waiting = self.lock();
        let limit = waiting
            .values_mut()
            .max_by_key(|of_address| of_address.len());
        let oldest = limit.and_then(VecDeque::pop_front);
        oldest.inspect(CancellationToken::cancel).is_some()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<IpAddr, VecDeque<CancellationToken>>> {
        // No code that may panic runs while the lock is held.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl UnadmittedConnection {
    /// Marks the connection as authorised, so that it is no longer closed in favour of others.
    pub(super) fn admit(&self) {
        self.0.leave();
    }

    /// Waits until the connection has to give way.
    pub(super) async fn wait_for_eviction(&self) {
        self.0.end.cancelled().await;
    }
}

impl UnadmittedEntry {
    fn leave(&self) {
        let mut waiting = self.newcomers.lock();
        if let Some(of_address) = waiting.get_mut(&self.address) {
            of_address.retain(|end| *end != self.end);
            if of_address.is_empty() {
                waiting.remove(&self.address);
            }
        }
    }
}

impl Drop for UnadmittedEntry {
    fn drop(&mut self) {
        self.leave();
    }
}

/// The address of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Peer(pub(super) IpAddr);

#[cfg(test)]
mod tests {
    use super::{UnadmittedConnection, UnadmittedConnections};

    fn has_ended(newcomer: &UnadmittedConnection) -> bool {
        newcomer.0.end.is_cancelled()
    }

    #[test]
    fn the_oldest_of_an_address_gives_way() {
        let newcomers = UnadmittedConnections::new(16);
        let (here, there) = ("10.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap());
        let known = newcomers.enter(here);
        let first = newcomers.enter(here);
        known.admit();
        let others = [here; 3].map(|here| newcomers.enter(here));
        let far = newcomers.enter(there);
        assert!(!has_ended(&known) && !has_ended(&first));
        let late = newcomers.enter(here);
        assert!(has_ended(&first) && !has_ended(&known) && !has_ended(&far));
        assert!(!others.iter().any(has_ended));
        assert!(newcomers.evict_oldest() && has_ended(&others[0]) && !has_ended(&far));
        drop((others, late, far));
        assert!(!newcomers.evict_oldest() && !has_ended(&known));
        assert!(newcomers.lock().is_empty());
    }
}
