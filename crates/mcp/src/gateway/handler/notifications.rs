//! Change notifications to clients.
#![expect(
    deprecated,
    reason = "clients of earlier revisions get logs and resource updates this way"
)]

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use planwright_core::Value;
use rmcp::RoleServer;
use rmcp::service::{Peer, SubscriptionContext};
use tokio::sync::{broadcast, watch};
use tokio::task;

use super::forwarding::read;
use super::service::GatewayHandler;
use crate::gateway::state::GatewayState;
use crate::upstream::{ChangeCounts, ResourceSubscription, UpstreamNotification};

/// The interval of checks whether an idle client is still connected.
const LIVENESS_INTERVAL: Duration = Duration::from_secs(5);

/// The changes collected for acknowledged subscriptions, by the task that serves each.
pub(super) type PendingSubscriptions = Arc<Mutex<HashMap<task::Id, ChangeStream>>>;

impl GatewayHandler {
    /// Begins to collect changes for a subscription. The subscription is acknowledged before
    /// [`Self::notify_subscriber`] is called, and changes in between must not be lost. Both run in the same task.
    pub(super) fn prepare_subscription(&self) {
        if let Some(task) = task::try_id() {
            let changes = ChangeStream::new(&self.gateway);
            let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
            pending.insert(task, changes);
        }
    }

    /// Takes the changes that were collected for the subscription of this task.
    fn take_prepared(&self) -> Option<ChangeStream> {
        let task = task::try_id()?;
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        pending.remove(&task)
    }

    /// Notifies a client of an earlier revision while it is connected.
    pub(super) fn notify_changes(&self, peer: Peer<RoleServer>) {
        self.is_notified.store(true, Ordering::Relaxed);
        let (mut changes, subscriptions) =
            (ChangeStream::new(&self.gateway), self.subscriptions.clone());
        tokio::spawn(async move {
            let mut liveness = tokio::time::interval(LIVENESS_INTERVAL);
            loop {
                let change = tokio::select! {
                    change = changes.next() => change,
                    // A disconnect is not signalled, so it is polled.
                    _ = liveness.tick() => {
                        if peer.is_transport_closed() {
                            return;
                        }
                        continue;
                    }
                };
                let Some(change) = change else {
                    return;
                };
                let sent = match change {
                    GatewayChange::Tools => peer.notify_tool_list_changed().await,
                    GatewayChange::Prompts => peer.notify_prompt_list_changed().await,
                    GatewayChange::Resources => peer.notify_resource_list_changed().await,
                    GatewayChange::Updated(params) if subscriptions.has(&params) => {
                        match read(params) {
                            Ok(params) => peer.notify_resource_updated(params).await,
                            Err(_) => Ok(()),
                        }
                    }
                    GatewayChange::Log(params) => match read(params) {
                        Ok(params) => peer.notify_logging_message(params).await,
                        Err(_) => Ok(()),
                    },
                    // This client has not subscribed to the resource.
                    GatewayChange::Updated(_) => Ok(()),
                };
                if sent.is_err() || peer.is_transport_closed() {
                    return;
                }
            }
        });
    }

    /// Notifies a client of the changes that it has subscribed to.
    pub(super) async fn notify_subscriber(&self, subscription: SubscriptionContext) {
        self.is_notified.store(true, Ordering::Relaxed);
        let prepared = self.take_prepared();
        let mut changes = prepared.unwrap_or_else(|| ChangeStream::new(&self.gateway));
        let accepted = subscription.accepted().clone();
        let addresses = accepted.resource_subscriptions.unwrap_or_default();
        let mut resources = Vec::new();
        for address in &addresses {
            resources.extend(self.subscribe_to(address).await);
        }
        loop {
            let change = tokio::select! {
                () = subscription.cancelled() => break,
                change = changes.next() => match change {
                    Some(change) => change,
                    None => break,
                },
            };
            let sink = subscription.sink();
            let sent = match change {
                GatewayChange::Tools if accepted.tools_list_changed == Some(true) => {
                    sink.notify_tool_list_changed().await
                }
                GatewayChange::Prompts if accepted.prompts_list_changed == Some(true) => {
                    sink.notify_prompt_list_changed().await
                }
                GatewayChange::Resources if accepted.resources_list_changed == Some(true) => {
                    sink.notify_resource_list_changed().await
                }
                GatewayChange::Updated(params) => {
                    match params.get("uri").and_then(Value::as_text) {
                        Some(address) if addresses.iter().any(|one| one == address) => {
                            sink.notify_resource_updated(address).await
                        }
                        _ => Ok(()),
                    }
                }
                GatewayChange::Tools
                | GatewayChange::Prompts
                | GatewayChange::Resources
                | GatewayChange::Log(_) => Ok(()),
            };
            if sent.is_err() {
                break;
            }
        }
        // Unsubscribes at the servers.
        drop(resources);
    }
}

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
