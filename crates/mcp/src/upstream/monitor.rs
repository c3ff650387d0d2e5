//! Monitors the lists of one session, from its start to its end, with its subscriptions to changes of lists and resources.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::Poll;
use std::time::Duration;

use futures::future::join_all;
use planwright_core::{Object, Value};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use super::server::{AbortOnDrop, Server};
use super::view::{ChangeCounts, UpstreamServer, UpstreamState, ViewPublisher};
use crate::session::caller::ListKind;
use crate::session::error::ServerStartError;
use crate::session::error::UpstreamError;
use crate::session::lists::{
    ServerToolList, limit_warnings, remove_hidden_names, strip_hidden_text,
};
use crate::session::open_session::Session;
use crate::session::router::RequestError;

/// The time to wait for the acknowledgement of a subscription before the lists are requested anyway.
const SUBSCRIPTION_TIMEOUT: Duration = Duration::from_millis(500);

/// The monitor of a session, which publishes its lists.
#[derive(Debug)]
pub(crate) struct SessionMonitor {
    // Weak, so that the monitor does not keep the server alive.
    pub(crate) server: Weak<Server>,
    pub(crate) session: Arc<Session>,
    pub(crate) publisher: Arc<ViewPublisher>,
    pub(crate) id: u64,
    pub(crate) subscribed: Arc<SubscribedUris>,
    pub(crate) events: mpsc::UnboundedSender<MonitorEvent>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MonitorEvent {
    Changed(ListKind),
    /// The server has acknowledged or refused a subscription.
    Subscribed,
    Ended,
}

enum ListContent {
    Tools(ServerToolList),
    Prompts(Vec<Value>),
    Resources {
        resources: Vec<Value>,
        templates: Vec<Value>,
    },
}

impl SessionMonitor {
    /// Reads all lists, then each one that changes, until the session ends.
    pub(crate) async fn run(self, mut events: mpsc::UnboundedReceiver<MonitorEvent>) {
        let subscription = self.subscribe();
        if subscription.is_some() {
            // Lists are read after the subscription, otherwise a change in between would be missed.
            let acknowledged =
                async { while let Some(MonitorEvent::Changed(_)) = events.recv().await {} };
            let _ = tokio::time::timeout(SUBSCRIPTION_TIMEOUT, acknowledged).await;
        }
        self.resubscribe().await;
        if !self.read_initial_lists().await {
            return;
        }
        while let Some(event) = events.recv().await {
            let mut kinds = BTreeSet::new();
            let mut next = Some(event);
            // Queued changes are combined, so that each list is requested once.
            while let Some(event) = next {
                match event {
                    MonitorEvent::Changed(kind) => {
                        kinds.insert(kind);
                    }
                    MonitorEvent::Subscribed => {}
                    MonitorEvent::Ended => return,
                }
                next = events.try_recv().ok();
            }
            let lists = join_all(kinds.into_iter().map(|kind| self.list(kind))).await;
            // If a list cannot be read, the previous one stays: the session may have ended, and the next one reads all
            // lists.
            let lists: Vec<ListContent> = lists.into_iter().flatten().collect();
            if !lists.is_empty() {
                self.publish(lists, PublishReason::Notified);
            }
        }
    }

    fn subscribe(&self) -> Option<AbortOnDrop> {
        let session = Arc::clone(&self.session);
        let subscribed = Arc::clone(&self.subscribed);
        let events = self.events.clone();
        self.session.server_info.is_stateless.then(|| {
            let task = tokio::spawn(maintain_subscription(session, subscribed, events));
            AbortOnDrop(task.abort_handle())
        })
    }

    /// Renews the resource subscriptions of the previous session, if the revision has subscription requests.
    async fn resubscribe(&self) {
        if self.session.server_info.is_stateless {
            return;
        }
        let requests = self.subscribed.all().into_iter().map(async |uri| {
            let params = Value::object([("uri", Value::Text(uri))]);
            self.session
                .request("resources/subscribe", &params, None, None)
                .await
        });
        // A resource may no longer exist; its subscribers then get no notifications, as before.
        join_all(requests).await;
    }

    /// Reads all lists for the first time. Returns true if the server is ready.
    async fn read_initial_lists(&self) -> bool {
        let Some(server) = self.server.upgrade() else {
            return false;
        };
        let limit = server.start_timeout();
        let lists = join_all(ListKind::ALL.map(|kind| self.list(kind)));
        let error = match tokio::time::timeout(limit, lists).await {
            Err(_) => ServerStartError::timed_out(limit),
            Ok(lists) => match lists.into_iter().collect() {
                Ok(lists) => {
                    self.publish(lists, PublishReason::Initial);
                    return true;
                }
                Err(error) => error,
            },
        };
        let failure = server.failure(error);
        self.publisher.update(self.id, |server, changes| {
            server.state = UpstreamState::Failed(failure);
            server.first_start_finished = true;
            changes.states += 1;
        });
        // The next start reads the lists again.
        self.session.stop(server.options.stop_grace).await;
        false
    }

    async fn list(&self, kind: ListKind) -> Result<ListContent, ServerStartError> {
        let session = &self.session;
        let has_capability = session.server_info.has_capability(kind.capability());
        let Some(server) = self.server.upgrade() else {
            return Err(ServerStartError::stopped());
        };
        let config = &server.config;
        let entries = async |method, field, what| {
            if !has_capability {
                return Vec::new();
            }
            // A failure of these lists must not prevent the use of the tools.
            let mut entries = session.list(method, field).await.unwrap_or_default();
            let mut warnings = Vec::new();
            remove_hidden_names(&mut entries, what, &config.name, &mut warnings);
            strip_hidden_text(&mut entries, what, &config.name, &mut warnings);
            limit_warnings(&config.name, &mut warnings);
            log_warnings(&warnings);
            entries
        };
        Ok(match kind {
            ListKind::Tools => {
                let list = server.list_tools(session).await?;
                log_warnings(&list.warnings);
                ListContent::Tools(list)
            }
            ListKind::Prompts => {
                let prompts = entries("prompts/list", "prompts", ("prompt", "name"));
                ListContent::Prompts(prompts.await)
            }
            ListKind::Resources => {
                let resources = entries("resources/list", "resources", ("resource", "uri"));
                let templates = entries(
                    "resources/templates/list",
                    "resourceTemplates",
                    ("resource template", "uriTemplate"),
                );
                ListContent::Resources {
                    resources: resources.await,
                    templates: templates.await,
                }
            }
        })
    }

    fn publish(&self, lists: Vec<ListContent>, reason: PublishReason) {
        let server_info = &self.session.server_info;
        // One update for all: a client never sees a ready server without its lists.
        self.publisher.update(self.id, |server, changes| {
            for list in lists {
                list.publish(server, changes, reason);
            }
            if reason == PublishReason::Initial {
                server.revision = Some(Arc::clone(&server_info.revision));
                server.info = server_info.info.clone();
                server.capabilities = server_info.capabilities.clone();
                server.instructions = server_info.instructions.clone();
                server.state = UpstreamState::Ready;
                server.first_start_finished = true;
                changes.states += 1;
            }
        });
    }
}

/// The reason for comparing and publishing a list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PublishReason {
    /// The server has sent a change notification, which counts as a change.
    Notified,
    /// The session is new; the list counts as changed only if it differs from that of the previous session.
    Initial,
}

impl ListContent {
    fn publish(
        self,
        server: &mut UpstreamServer,
        changes: &mut ChangeCounts,
        reason: PublishReason,
    ) {
        let is_notified = reason == PublishReason::Notified;
        match self {
            Self::Tools(list) => {
                changes.tools += u64::from(is_notified || server.tool_entries != list.entries);
                server.tools = list.tools;
                server.tool_entries = list.entries;
                server.warnings = list.warnings;
            }
            Self::Prompts(prompts) => {
                changes.prompts += u64::from(is_notified || server.prompts != prompts);
                server.prompts = prompts;
            }
            Self::Resources {
                resources,
                templates,
            } => {
                let have_changed =
                    server.resources != resources || server.resource_templates != templates;
                changes.resources += u64::from(is_notified || have_changed);
                server.resources = resources;
                server.resource_templates = templates;
            }
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
async fn maintain_subscription(
    session: Arc<Session>,
    subscribed: Arc<SubscribedUris>,
    events: mpsc::UnboundedSender<MonitorEvent>,
) {
    let mut changes = subscribed.changes();
    let mut pause = INITIAL_PAUSE;
    let mut was_interrupted = false;
    // The previous subscription ends after the next one is sent, so that no change is missed in between.
    let mut previous = None;
    loop {
        changes.mark_unchanged();
        let filter = subscription_filter(&session, &subscribed);
        // An empty subscription makes no sense until a resource is added.
        if filter.as_object().is_none_or(Object::is_empty) {
            drop(previous.take());
            if changes.changed().await.is_err() {
                return;
            }
            continue;
        }
        let started_at = Instant::now();
        let mut current = Box::pin(listen(Arc::clone(&session), filter));
        // The first poll sends the request, before the previous subscription is dropped.
        let first_poll = futures::poll!(current.as_mut());
        drop(previous.take());
        if std::mem::take(&mut was_interrupted) {
            // Changes during the interruption were not notified, so all lists are read again.
            for kind in ListKind::ALL {
                let _ = events.send(MonitorEvent::Changed(kind));
            }
        }
        let outcome = match first_poll {
            Poll::Ready(outcome) => outcome,
            Poll::Pending => tokio::select! {
                outcome = current.as_mut() => outcome,
                changed = changes.changed() => match changed {
                    Ok(()) => {
                        previous = Some(current);
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
        // A subscription that lasted is not a failure, so the pauses start over.
        if started_at.elapsed() >= MAX_PAUSE {
            pause = INITIAL_PAUSE;
        }
        tokio::time::sleep(pause).await;
        pause = MAX_PAUSE.min(pause * 2);
        was_interrupted = true;
    }
}

fn log_warnings(warnings: &[String]) {
    for warning in warnings {
        tracing::warn!("{warning}");
    }
}

/// Subscribes until the server ends it. Dropping the future cancels the subscription.
async fn listen(session: Arc<Session>, filter: Value) -> Result<Value, RequestError> {
    let params = Value::object([("notifications", filter)]);
    let method = "subscriptions/listen";
    session.request(method, &params, None, None).await
}

/// Returns the changes to subscribe to: those that the server supports, and the subscribed resources.
fn subscription_filter(session: &Session, subscribed: &SubscribedUris) -> Value {
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
