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
use tokio::sync::{broadcast, watch};
use tokio::task;

use super::forwarding::read;
use super::service::Front;
use crate::gateway::state::Shared;
use crate::upstream::{ChangeCounts, ResourceFollowing, UpstreamNotification};

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

/// A change that clients are notified of.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum News {
    /// The list of tools has changed.
    Tools,
    /// The list of prompts has changed.
    Prompts,
    /// The list of resources has changed.
    Resources,
    /// A resource has changed; the parameters of the notification.
    Updated(Value),
    /// A server has sent a log message; the parameters of the notification.
    Log(Value),
}

/// A stream of changes.
#[derive(Debug)]
pub(super) struct Newsreader {
    shared: Arc<Shared>,
    host: watch::Receiver<u64>,
    upstream: watch::Receiver<u64>,
    notifications: broadcast::Receiver<UpstreamNotification>,
    seen: ChangeCounts,
    waiting: Vec<News>,
}

impl Newsreader {
    pub(super) fn new(shared: &Arc<Shared>) -> Self {
        Self {
            host: shared.host.changes(),
            upstream: shared.upstreams.changes(),
            notifications: shared.upstreams.notifications(),
            seen: shared.upstreams.view().changes,
            waiting: Vec::new(),
            shared: Arc::clone(shared),
        }
    }

    /// Returns the next change, or `None` at the end of the stream.
    pub(super) async fn next(&mut self) -> Option<News> {
        loop {
            if let Some(news) = self.waiting.pop() {
                return Some(news);
            }
            tokio::select! {
                changed = self.host.changed() => {
                    changed.ok()?;
                    self.waiting.push(News::Tools);
                }
                changed = self.upstream.changed() => {
                    changed.ok()?;
                    self.compare();
                }
                notification = self.notifications.recv() => match notification {
                    Ok(notification) => self.take(&notification),
                    Err(broadcast::error::RecvError::Lagged(_)) => {}
                    Err(broadcast::error::RecvError::Closed) => return None,
                }
            }
        }
    }

    fn compare(&mut self) {
        let now = self.shared.upstreams.view().changes;
        let before = std::mem::replace(&mut self.seen, now);
        if !self.shared.passes() {
            return;
        }
        let kinds = [
            (now.tools != before.tools, News::Tools),
            (now.prompts != before.prompts, News::Prompts),
            (now.resources != before.resources, News::Resources),
        ];
        let changed = kinds.into_iter().filter(|(is_other, _)| *is_other);
        self.waiting.extend(changed.map(|(_, news)| news));
    }

    fn take(&mut self, notification: &UpstreamNotification) {
        if !self.shared.passes() {
            return;
        }
        let params = notification.params.clone();
        match &*notification.method {
            "notifications/resources/updated" => self.waiting.push(News::Updated(params)),
            "notifications/message" => self.waiting.push(News::Log(params)),
            _ => {}
        }
    }
}

/// The resource subscriptions of a connection.
#[derive(Clone, Debug, Default)]
pub(super) struct Subscriptions(Arc<Mutex<HashMap<String, Vec<ResourceFollowing>>>>);

impl Subscriptions {
    pub(super) fn add(&self, address: &str, following: Vec<ResourceFollowing>) {
        self.lock().insert(address.to_owned(), following);
    }

    pub(super) fn remove(&self, address: &str) {
        let following = self.lock().remove(address);
        drop(following);
    }

    pub(super) fn has(&self, params: &Value) -> bool {
        let address = params.get("uri").and_then(Value::as_text);
        address.is_some_and(|address| self.lock().contains_key(address))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Vec<ResourceFollowing>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
