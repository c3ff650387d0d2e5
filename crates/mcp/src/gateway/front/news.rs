//! Change notifications to clients.
#![expect(
    deprecated,
    reason = "clients of earlier revisions are told of logs and of resources in this way"
)]

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use planwright_core::Value;
use rmcp::RoleServer;
use rmcp::service::{Peer, SubscriptionContext};
use tokio::task;

use super::Front;
use super::forwarding::read;
use crate::gateway::changes::{News, Newsreader};

/// The interval of checks whether an idle client is still connected.
const LOOK: Duration = Duration::from_secs(5);

/// The changes collected for acknowledged subscriptions, by the task that serves each.
pub(super) type Expected = Arc<Mutex<HashMap<task::Id, Newsreader>>>;

impl Front {
    /// Begins to collect changes for a subscription. The subscription is acknowledged before [`Self::tell_subscriber`]
    /// is called, and changes in between must not be lost. Both run in the same task.
    pub(super) fn expect_subscriber(&self) {
        if let Some(task) = task::try_id() {
            let news = Newsreader::new(&self.shared);
            let mut expected = self.expected.lock().unwrap_or_else(PoisonError::into_inner);
            expected.insert(task, news);
        }
    }

    /// Takes the changes that were collected for the subscription of this task.
    fn collected(&self) -> Option<Newsreader> {
        let task = task::try_id()?;
        let mut expected = self.expected.lock().unwrap_or_else(PoisonError::into_inner);
        expected.remove(&task)
    }

    /// Notifies a client of an earlier revision while it is connected.
    pub(super) fn tell(&self, peer: Peer<RoleServer>) {
        self.is_told.store(true, Ordering::Relaxed);
        let (mut news, subscriptions) = (Newsreader::new(&self.shared), self.subscriptions.clone());
        tokio::spawn(async move {
            let mut look = tokio::time::interval(LOOK);
            loop {
                let news = tokio::select! {
                    news = news.next() => news,
                    // A disconnect is not signalled, so it is polled.
                    _ = look.tick() => {
                        if peer.is_transport_closed() {
                            return;
                        }
                        continue;
                    }
                };
                let Some(news) = news else {
                    return;
                };
                let told = match news {
                    News::Tools => peer.notify_tool_list_changed().await,
                    News::Prompts => peer.notify_prompt_list_changed().await,
                    News::Resources => peer.notify_resource_list_changed().await,
                    News::Updated(params) if subscriptions.has(&params) => match read(params) {
                        Ok(params) => peer.notify_resource_updated(params).await,
                        Err(_) => Ok(()),
                    },
                    News::Log(params) => match read(params) {
                        Ok(params) => peer.notify_logging_message(params).await,
                        Err(_) => Ok(()),
                    },
                    News::Updated(_) => Ok(()),
                };
                if told.is_err() || peer.is_transport_closed() {
                    return;
                }
            }
        });
    }

    /// Notifies a client of the changes that it has subscribed to.
    pub(super) async fn tell_subscriber(&self, subscription: SubscriptionContext) {
        self.is_told.store(true, Ordering::Relaxed);
        let collected = self.collected();
        let mut news = collected.unwrap_or_else(|| Newsreader::new(&self.shared));
        let accepted = subscription.accepted().clone();
        let addresses = accepted.resource_subscriptions.unwrap_or_default();
        let mut following = Vec::new();
        for address in &addresses {
            following.extend(self.follow(address).await);
        }
        loop {
            let news = tokio::select! {
                () = subscription.cancelled() => break,
                news = news.next() => match news {
                    Some(news) => news,
                    None => break,
                },
            };
            let sink = subscription.sink();
            let told = match news {
                News::Tools if accepted.tools_list_changed == Some(true) => {
                    sink.notify_tool_list_changed().await
                }
                News::Prompts if accepted.prompts_list_changed == Some(true) => {
                    sink.notify_prompt_list_changed().await
                }
                News::Resources if accepted.resources_list_changed == Some(true) => {
                    sink.notify_resource_list_changed().await
                }
                News::Updated(params) => match params.get("uri").and_then(Value::as_text) {
                    Some(address) if addresses.iter().any(|one| one == address) => {
                        sink.notify_resource_updated(address).await
                    }
                    _ => Ok(()),
                },
                _ => Ok(()),
            };
            if told.is_err() {
                break;
            }
        }
        drop(following);
    }
}
