//! Monitors the lists of one session, from its start to its end.

use std::collections::BTreeSet;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures::future::join_all;
use planwright_core::Value;
use tokio::sync::mpsc;

use super::server::{AbortOnDrop, Server};
use super::subscriptions::{Followed, keep_subscribed};
use super::view::{Board, ChangeCounts, UpstreamServer, UpstreamState};
use crate::session::lifecycle::{Session, StartError};
use crate::session::lists::{ToolList, bound};
use crate::session::observer::ListKind;
use crate::session::sanitize::{clean, refuse};

/// The time to wait for the acknowledgement of a subscription before the lists are requested anyway.
const CONFIRMATION: Duration = Duration::from_millis(500);

/// The monitor of a session, which publishes its lists.
#[derive(Debug)]
pub(crate) struct Tending {
    // Weak, because the server owns the monitor through its observer.
    pub(crate) server: Weak<Server>,
    pub(crate) session: Arc<Session>,
    pub(crate) board: Arc<Board>,
    pub(crate) index: usize,
    pub(crate) followed: Arc<Followed>,
    pub(crate) signals: mpsc::UnboundedSender<Signal>,
}

/// An event for the monitor of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    /// A list has changed.
    Changed(ListKind),
    /// The server has acknowledged or refused a subscription.
    Subscribed,
    /// The session has ended.
    Ended,
}

/// The content of one kind of list.
enum Listed {
    Tools(ToolList),
    Prompts(Vec<Value>),
    Resources {
        resources: Vec<Value>,
        templates: Vec<Value>,
    },
}

impl Tending {
    /// Reads all lists, then each one that changes, until the session ends.
    pub(crate) async fn run(self, mut signals: mpsc::UnboundedReceiver<Signal>) {
        let subscription = self.subscribe();
        if subscription.is_some() {
            // Lists are read after the subscription, otherwise a change in between would be missed.
            let confirmed = async { while let Some(Signal::Changed(_)) = signals.recv().await {} };
            let _ = tokio::time::timeout(CONFIRMATION, confirmed).await;
        }
        self.follow_again().await;
        if !self.begin().await {
            return;
        }
        while let Some(signal) = signals.recv().await {
            let mut kinds = BTreeSet::new();
            let mut next = Some(signal);
            // Queued changes are combined, so that each list is requested once.
            while let Some(signal) = next {
                match signal {
                    Signal::Changed(kind) => {
                        kinds.insert(kind);
                    }
                    Signal::Subscribed => {}
                    Signal::Ended => return,
                }
                next = signals.try_recv().ok();
            }
            let lists = join_all(kinds.into_iter().map(|kind| self.list(kind))).await;
            // If a list cannot be read, the previous one stays: the session may have ended, and the next one reads all
            // lists.
            let lists: Vec<Listed> = lists.into_iter().flatten().collect();
            if !lists.is_empty() {
                self.write(lists, Reason::Said);
            }
        }
    }

    fn subscribe(&self) -> Option<AbortOnDrop> {
        let session = Arc::clone(&self.session);
        let followed = Arc::clone(&self.followed);
        let signals = self.signals.clone();
        self.session.greeting.is_stateless.then(|| {
            let task = tokio::spawn(keep_subscribed(session, followed, signals));
            AbortOnDrop(task.abort_handle())
        })
    }

    /// Renews the resource subscriptions of the previous session, if the revision has subscription requests.
    async fn follow_again(&self) {
        if self.session.greeting.is_stateless {
            return;
        }
        let follow = self.followed.all().into_iter().map(async |uri| {
            let params = Value::object([("uri", Value::Text(uri))]);
            self.session
                .request("resources/subscribe", &params, None)
                .await
        });
        // A resource may no longer exist; its subscribers then get no notifications, as before.
        join_all(follow).await;
    }

    /// Reads all lists for the first time. Returns true if the server is ready.
    async fn begin(&self) -> bool {
        let Some(server) = self.server.upgrade() else {
            return false;
        };
        let limit = server.start_timeout();
        let lists = join_all(ListKind::ALL.map(|kind| self.list(kind)));
        let error = match tokio::time::timeout(limit, lists).await {
            Err(_) => StartError::late(limit),
            Ok(lists) => match lists.into_iter().collect() {
                Ok(lists) => {
                    self.write(lists, Reason::Compared);
                    return true;
                }
                Err(error) => error,
            },
        };
        let failure = server.failure(error);
        self.board.change(self.index, |server, changes| {
            server.state = UpstreamState::Failed(failure);
            server.was_tried = true;
            changes.states += 1;
        });
        // The next start reads the lists again.
        self.session.stop(server.options.stop_grace).await;
        false
    }

    async fn list(&self, kind: ListKind) -> Result<Listed, StartError> {
        let session = &self.session;
        let has = session.greeting.has(kind.capability());
        let Some(server) = self.server.upgrade() else {
            return Err(StartError::stopped());
        };
        let config = &server.config;
        let entries = async |method, field, what| {
            if !has {
                return Vec::new();
            }
            // A failure of these lists must not prevent the use of the tools.
            let mut entries = session.list(method, field).await.unwrap_or_default();
            let mut warnings = Vec::new();
            refuse(&mut entries, what, &config.name, &mut warnings);
            clean(&mut entries, what, &config.name, &mut warnings);
            bound(&config.name, &mut warnings);
            log(&warnings);
            entries
        };
        Ok(match kind {
            ListKind::Tools => {
                let list = session.list_tools(config).await?;
                log(&list.warnings);
                Listed::Tools(list)
            }
            ListKind::Prompts => {
                let prompts = entries("prompts/list", "prompts", ("prompt", "name"));
                Listed::Prompts(prompts.await)
            }
            ListKind::Resources => {
                let resources = entries("resources/list", "resources", ("resource", "uri"));
                let templates = entries(
                    "resources/templates/list",
                    "resourceTemplates",
                    ("resource template", "uriTemplate"),
                );
                Listed::Resources {
                    resources: resources.await,
                    templates: templates.await,
                }
            }
        })
    }

    fn write(&self, lists: Vec<Listed>, reason: Reason) {
        let greeting = &self.session.greeting;
        self.board.change(self.index, |server, changes| {
            for list in lists {
                list.write(server, changes, reason);
            }
            if reason == Reason::Compared {
                server.revision = Some(Arc::clone(&greeting.revision));
                server.info = greeting.info.clone();
                server.capabilities = greeting.capabilities.clone();
                server.instructions = greeting.instructions.clone();
                server.state = UpstreamState::Ready;
                server.was_tried = true;
                changes.states += 1;
            }
        });
    }
}

fn log(warnings: &[String]) {
    for warning in warnings {
        tracing::warn!("{warning}");
    }
}

/// The reason for comparing and publishing a list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reason {
    /// The server has sent a change notification, which counts as a change.
    Said,
    /// The session is new; the list counts as changed only if it differs from that of the previous session.
    Compared,
}

impl Listed {
    fn write(self, server: &mut UpstreamServer, changes: &mut ChangeCounts, reason: Reason) {
        let is_said = reason == Reason::Said;
        match self {
            Self::Tools(list) => {
                changes.tools += u64::from(is_said || server.tool_entries != list.entries);
                server.tools = list.tools;
                server.tool_entries = list.entries;
                server.warnings = list.warnings;
            }
            Self::Prompts(prompts) => {
                changes.prompts += u64::from(is_said || server.prompts != prompts);
                server.prompts = prompts;
            }
            Self::Resources {
                resources,
                templates,
            } => {
                let are_others =
                    server.resources != resources || server.resource_templates != templates;
                changes.resources += u64::from(is_said || are_others);
                server.resources = resources;
                server.resource_templates = templates;
            }
        }
    }
}
