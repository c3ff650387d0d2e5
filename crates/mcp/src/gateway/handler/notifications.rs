//! Change notifications to clients.
#![expect(
    deprecated,
    reason = "clients of earlier revisions get logs and resource updates this way"
)]

use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::Duration;

use planwright_core::Value;
use rmcp::RoleServer;
use rmcp::service::{Peer, SubscriptionContext};
use tokio::task;

use super::changes::{ChangeStream, GatewayChange};
use super::forwarding::read;
use super::gateway_handler::GatewayHandler;

/// The interval of checks whether an idle client is still connected.
const LIVENESS_INTERVAL: Duration = Duration::from_secs(5);

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
