//! Publishes the latest server view and notifies subscribers when it changes.

use std::sync::{Arc, Mutex, PoisonError};

use planwright_core::Value;
use tokio::sync::{broadcast, watch};

use super::view::{ChangeCounts, UpstreamServer, UpstreamView};

/// The number of notifications buffered for a slow receiver, which then loses the oldest.
const NOTIFICATIONS_KEPT: usize = 256;

/// A notification of a server that is unrelated to any request.
#[derive(Clone, Debug)]
pub struct UpstreamNotification {
    /// The server.
    pub server: Arc<str>,
    /// The method, such as `notifications/resources/updated`.
    pub method: Arc<str>,
    /// The parameters, unchanged.
    pub params: Value,
}

/// The latest view and its subscribers.
#[derive(Debug)]
pub(super) struct Board {
    // Held only while one view replaces another, never across an await.
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

    /// Publishes a view in which `change` has modified the server at `index` and the counters.
    pub(super) fn change(
        &self,
        index: usize,
        change: impl FnOnce(&mut UpstreamServer, &mut ChangeCounts),
    ) {
        let mut view = self.view.lock().unwrap_or_else(PoisonError::into_inner);
        // Copy on write: readers of the previous view keep it unchanged.
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
        // Sending fails only if no receiver exists, which is fine.
        let _ = self.notifications.send(notification);
    }
}
