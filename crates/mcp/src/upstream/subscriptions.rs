//! Subscriptions of sessions to changes of lists and resources.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;

use planwright_core::{Object, Value};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use super::entry::Upstream;
use super::monitor::MonitorEvent;
use crate::session::caller::ListKind;
use crate::session::caller::UpstreamError;
use crate::session::lifecycle::Session;
use crate::session::router::RequestError;

/// A guard that keeps a resource subscription until it is dropped.
#[derive(Debug)]
#[must_use = "dropping this ends it"]
pub struct ResourceSubscription {
    upstream: Arc<Upstream>,
    uri: Arc<str>,
}

impl ResourceSubscription {
    pub(crate) async fn begin(
        upstream: &Arc<Upstream>,
        session: &Session,
        uri: Arc<str>,
    ) -> Result<Self, UpstreamError> {
        let is_first = upstream.subscribed.add(&uri);
        let subscription = Self {
            upstream: Arc::clone(upstream),
            uri,
        };
        // On a stateless session, the monitor's subscription task includes the URI.
        if is_first && !session.server_info.is_stateless {
            let params = subscription.params();
            let outcome = session.request("resources/subscribe", &params, None).await;
            if let Err(error) = outcome {
                return Err(upstream.server.error(session, error).await);
            }
        }
        Ok(subscription)
    }

    fn params(&self) -> Value {
        Value::object([("uri", Value::Text(Arc::clone(&self.uri)))])
    }
}

impl Drop for ResourceSubscription {
    fn drop(&mut self) {
        if !self.upstream.subscribed.remove(&self.uri) {
            return;
        }
        // Without a runtime, the connection and the server are gone.
        if let Some(session) = self.upstream.server.running()
            && !session.server_info.is_stateless
            && let Ok(runtime) = Handle::try_current()
        {
            let params = self.params();
            runtime.spawn(async move {
                // Notifications without subscribers are dropped, so a failure has no effect.
                let _ = session
                    .request("resources/unsubscribe", &params, None)
                    .await;
            });
        }
    }
}

/// The URIs of subscribed resources, each with its number of subscribers.
#[derive(Debug, Default)]
pub(crate) struct SubscribedUris {
    // Held for single accesses only, never across an await.
    addresses: Mutex<BTreeMap<Arc<str>, usize>>,
    version: watch::Sender<u64>,
}

impl SubscribedUris {
    /// Adds a subscriber of `uri`. Returns true if it is the first.
    pub(crate) fn add(&self, uri: &Arc<str>) -> bool {
        let mut addresses = self.addresses();
        let count = addresses.entry(Arc::clone(uri)).or_default();
        *count += 1;
        let is_first = *count == 1;
        drop(addresses);
        if is_first {
            self.version.send_modify(|version| *version += 1);
        }
        is_first
    }

    /// Removes a subscriber of `uri`. Returns true if it was the last.
    pub(crate) fn remove(&self, uri: &Arc<str>) -> bool {
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
            self.version.send_modify(|version| *version += 1);
        }
        is_last
    }

    pub(crate) fn all(&self) -> Vec<Arc<str>> {
        self.addresses().keys().cloned().collect()
    }

    /// Returns a counter that changes with the set of URIs.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.version.subscribe()
    }

    fn addresses(&self) -> MutexGuard<'_, BTreeMap<Arc<str>, usize>> {
        self.addresses
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// The initial pause before an ended subscription is renewed; it doubles each time that one ends soon.
const INITIAL_PAUSE: Duration = Duration::from_secs(1);

const MAX_PAUSE: Duration = Duration::from_mins(1);

/// Maintains the subscription of a stateless session until the session ends or the server does not support
/// subscriptions.
pub(crate) async fn maintain_subscription(
    session: Arc<Session>,
    subscribed: Arc<SubscribedUris>,
    events: mpsc::UnboundedSender<MonitorEvent>,
) {
    let mut changes = subscribed.changes();
    let mut pause = INITIAL_PAUSE;
    let mut was_interrupted = false;
    // The previous subscription ends after the next one is sent, so that no change is missed in between.
    let mut before = None;
    loop {
        changes.mark_unchanged();
        let filter = filter(&session, &subscribed);
        // An empty subscription makes no sense until a resource is added.
        if filter.as_object().is_none_or(Object::is_empty) {
            drop(before.take());
            if changes.changed().await.is_err() {
                return;
            }
            continue;
        }
        let begun = Instant::now();
        let mut current = Box::pin(listen(Arc::clone(&session), filter));
        // The first poll sends the request, before the previous subscription is dropped.
        let early = futures::poll!(current.as_mut());
        drop(before.take());
        if std::mem::take(&mut was_interrupted) {
            // Changes during the interruption were not notified, so all lists are read again.
            for kind in ListKind::ALL {
                let _ = events.send(MonitorEvent::Changed(kind));
            }
        }
        let outcome = match early {
            Poll::Ready(outcome) => outcome,
            Poll::Pending => tokio::select! {
                outcome = current.as_mut() => outcome,
                changed = changes.changed() => match changed {
                    Ok(()) => {
                        before = Some(current);
                        continue;
                    }
                    Err(_) => return,
                },
            },
        };
        match outcome {
            Err(RequestError::Refused(error)) if error.code == UpstreamError::UNKNOWN_METHOD => {
                // The monitor waits for an acknowledgement, which will not arrive.
                let _ = events.send(MonitorEvent::Subscribed);
                return;
            }
            Err(RequestError::Lost(None)) => return,
            _ => {}
        }
        // A subscription that lasted is no failure, so the pauses start over.
        if begun.elapsed() >= MAX_PAUSE {
            pause = INITIAL_PAUSE;
        }
        tokio::time::sleep(pause).await;
        pause = MAX_PAUSE.min(pause * 2);
        was_interrupted = true;
    }
}

/// Subscribes until the server ends it. Dropping the future cancels the subscription.
async fn listen(session: Arc<Session>, filter: Value) -> Result<Value, RequestError> {
    let params = Value::object([("notifications", filter)]);
    let method = "subscriptions/listen";
    session.request(method, &params, None).await
}

/// Returns the changes to subscribe to: those that the server supports, and the subscribed resources.
fn filter(session: &Session, subscribed: &SubscribedUris) -> Value {
    let lists = ListKind::ALL
        .into_iter()
        .filter(|kind| {
            session
                .server_info
                .has_feature(kind.capability(), "listChanged")
        })
        .map(|kind| (kind.filter(), Value::from(true)));
    let addresses = subscribed.all();
    let resources = (!addresses.is_empty()).then(|| {
        let addresses = addresses.into_iter().map(Value::Text);
        ("resourceSubscriptions", Value::list(addresses))
    });
    Value::object(lists.chain(resources))
}
