use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use planwright_core::Value;
use tokio::sync::{broadcast, watch};

use super::shared::Shared;
use crate::client::{ChangeCounts, ResourceFollowing, UpstreamNotification};

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
