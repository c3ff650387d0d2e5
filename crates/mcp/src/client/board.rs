//! Where the newest view hangs, and whom it rings when it is exchanged.

use std::sync::{Arc, Mutex, PoisonError};

use planwright_core::Value;
use tokio::sync::{broadcast, watch};

use super::view::{ChangeCounts, UpstreamServer, UpstreamView};

/// How many notifications are kept for a listener that is slow; it loses the oldest then.
const NOTIFICATIONS_KEPT: usize = 256;

/// A notification of a server that belongs to no request.
#[derive(Clone, Debug)]
pub struct UpstreamNotification {
    /// The server.
    pub server: Arc<str>,
    /// What it is about, such as `notifications/resources/updated`.
    pub method: Arc<str>,
    /// Its parameters, as they came.
    pub params: Value,
}

/// The newest view and its watchers.
#[derive(Debug)]
pub(super) struct Board {
    // A plain mutex: it is held while one view is exchanged for the next, and never across a wait.
    view: Mutex<Arc<UpstreamView>>,
    ticks: watch::Sender<u64>,
    notifications: broadcast::Sender<UpstreamNotification>,
}

impl Board {
    pub(super) fn new(servers: Vec<UpstreamServer>, absent: Vec<Arc<str>>) -> Self {
        let view = UpstreamView {
            servers: servers.into_iter().map(Arc::new).collect(),
            absent: absent.into(),
            changes: ChangeCounts::default(),
        };
        Self {
            view: Mutex::new(Arc::new(view)),
            ticks: watch::Sender::new(0),
            notifications: broadcast::Sender::new(NOTIFICATIONS_KEPT),
        }
    }

    pub(super) fn view(&self) -> Arc<UpstreamView> {
        Arc::clone(&self.view.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.ticks.subscribe()
    }

    pub(super) fn notifications(&self) -> broadcast::Receiver<UpstreamNotification> {
        self.notifications.subscribe()
    }

    /// Makes the next view, in which the server at `index` is another. The `change` says what is counted.
    pub(super) fn change(
        &self,
        index: usize,
        change: impl FnOnce(&mut UpstreamServer, &mut ChangeCounts),
    ) {
        let mut view = self.view.lock().unwrap_or_else(PoisonError::into_inner);
        // Whoever holds the view before keeps it as it was.
        let UpstreamView {
            servers, changes, ..
        } = Arc::make_mut(&mut view);
        if let Some(server) = servers.get_mut(index) {
            change(Arc::make_mut(server), changes);
        }
        drop(view);
        self.ticks.send_modify(|ticks| *ticks += 1);
    }

    pub(super) fn notify(&self, notification: UpstreamNotification) {
        // That nobody listens is no failure.
        let _ = self.notifications.send(notification);
    }
}
