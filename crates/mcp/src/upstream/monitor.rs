//! Monitors the lists of one session, from its start to its end.

use std::collections::BTreeSet;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures::future::join_all;
use planwright_core::Value;
use tokio::sync::mpsc;

use super::server::{AbortOnDrop, Server};
use super::subscriptions::{SubscribedUris, maintain_subscription};
use super::view::{ChangeCounts, UpstreamServer, UpstreamState, ViewPublisher};
use crate::session::caller::ListKind;
use crate::session::lifecycle::{ServerStartError, Session};
use crate::session::lists::{ToolList, limit_warnings};
use crate::session::lists::{remove_hidden_names, strip_hidden_text};

/// The time to wait for the acknowledgement of a subscription before the lists are requested anyway.
const SUBSCRIPTION_TIMEOUT: Duration = Duration::from_millis(500);

/// The monitor of a session, which publishes its lists.
#[derive(Debug)]
pub(crate) struct SessionMonitor {
    // Weak, so that the monitor does not keep the server alive.
    pub(crate) server: Weak<Server>,
    pub(crate) session: Arc<Session>,
    pub(crate) publisher: Arc<ViewPublisher>,
    pub(crate) index: usize,
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
    Tools(ToolList),
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
                .request("resources/subscribe", &params, None)
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
        self.publisher.update(self.index, |server, changes| {
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
                let list = session.list_tools(config).await?;
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
        self.publisher.update(self.index, |server, changes| {
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

fn log_warnings(warnings: &[String]) {
    for warning in warnings {
        tracing::warn!("{warning}");
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
