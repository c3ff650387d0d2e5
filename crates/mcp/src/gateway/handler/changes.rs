//! The changes that clients are notified of, and the subscriptions to them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use planwright_core::Value;
use tokio::sync::{broadcast, watch};
use tokio::task;

use crate::gateway::state::GatewayState;
use crate::upstream::{ChangeCounts, ResourceSubscription, UpstreamNotification};

/// The changes collected for acknowledged subscriptions, by the task that serves each.
pub(super) type PendingSubscriptions = Arc<Mutex<HashMap<task::Id, ChangeStream>>>;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum GatewayChange {
    Tools,
    Prompts,
    Resources,
    /// A resource has changed; the parameters of the notification.
    Updated(Value),
    /// A server has sent a log message; the parameters of the notification.
    Log(Value),
}

#[derive(Debug)]
pub(super) struct ChangeStream {
    gateway: Arc<GatewayState>,
    host: watch::Receiver<u64>,
    upstream: watch::Receiver<u64>,
    notifications: broadcast::Receiver<UpstreamNotification>,
    seen: ChangeCounts,
    waiting: Vec<GatewayChange>,
}

impl ChangeStream {
    pub(super) fn new(gateway: &Arc<GatewayState>) -> Self {
        Self {
            host: gateway.host.changes(),
            upstream: gateway.upstreams.changes(),
            notifications: gateway.upstreams.notifications(),
            seen: gateway.upstreams.view().changes,
            waiting: Vec::new(),
            gateway: Arc::clone(gateway),
        }
    }

    /// Returns the next change, or `None` at the end of the stream.
    pub(super) async fn next(&mut self) -> Option<GatewayChange> {
        loop {
            if let Some(change) = self.waiting.pop() {
                return Some(change);
            }
            tokio::select! {
                changed = self.host.changed() => {
                    changed.ok()?;
                    self.waiting.push(GatewayChange::Tools);
                }
                changed = self.upstream.changed() => {
                    changed.ok()?;
                    self.compare();
                }
                notification = self.notifications.recv() => match notification {
                    Ok(notification) => self.take(&notification),
                    // A slow client loses old notifications instead of delaying others.
                    Err(broadcast::error::RecvError::Lagged(_)) => {}
                    Err(broadcast::error::RecvError::Closed) => return None,
                }
            }
        }
    }

    fn compare(&mut self) {
        // The receiver only reports that the view is new, so the counters show the changed lists.
        let now = self.gateway.upstreams.view().changes;
        let before = std::mem::replace(&mut self.seen, now);
        if !self.gateway.passes_through() {
            return;
        }
        let kinds = [
            (now.tools != before.tools, GatewayChange::Tools),
            (now.prompts != before.prompts, GatewayChange::Prompts),
            (now.resources != before.resources, GatewayChange::Resources),
        ];
        let changed = kinds.into_iter().filter(|(has_changed, _)| *has_changed);
        self.waiting.extend(changed.map(|(_, change)| change));
    }

    fn take(&mut self, notification: &UpstreamNotification) {
        if !self.gateway.passes_through() {
            return;
        }
        let params = notification.params.clone();
        match &*notification.method {
            "notifications/resources/updated" => self.waiting.push(GatewayChange::Updated(params)),
            "notifications/message" => self.waiting.push(GatewayChange::Log(params)),
            _ => {}
        }
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct ClientSubscriptions(Arc<Mutex<HashMap<String, Vec<ResourceSubscription>>>>);

impl ClientSubscriptions {
    pub(super) fn add(&self, address: &str, subscriptions: Vec<ResourceSubscription>) {
        self.lock().insert(address.to_owned(), subscriptions);
    }

    pub(super) fn remove(&self, address: &str) {
        // Dropped after the lock is released, because it unsubscribes at the servers.
        let subscriptions = self.lock().remove(address);
        drop(subscriptions);
    }

    pub(super) fn has(&self, params: &Value) -> bool {
        let address = params.get("uri").and_then(Value::as_text);
        address.is_some_and(|address| self.lock().contains_key(address))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Vec<ResourceSubscription>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
