//! Follows what one session of a server offers, from its start to its end.

use std::collections::BTreeSet;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures::future::join_all;
use planwright_core::Value;
use tokio::sync::mpsc;

use super::abort::AbortOnDrop;
use super::board::Board;
use super::cleaning::{clean, refuse};
use super::followed::Followed;
use super::listing::{ToolList, bound};
use super::server::Server;
use super::session::{Session, StartError};
use super::subscription::keep_subscribed;
use super::view::{ChangeCounts, UpstreamServer, UpstreamState};
use super::watcher::ListKind;

/// How long a server may take to confirm what we want to hear of before its lists are asked for regardless.
const CONFIRMATION: Duration = Duration::from_millis(500);

/// What follows a session.
#[derive(Debug)]
pub(super) struct Tending {
    // The server keeps this, not the other way round.
    pub(super) server: Weak<Server>,
    pub(super) session: Arc<Session>,
    pub(super) board: Arc<Board>,
    pub(super) index: usize,
    pub(super) followed: Arc<Followed>,
    pub(super) signals: mpsc::UnboundedSender<Signal>,
}

/// What a session's follower is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Signal {
    /// A list is another now.
    Changed(ListKind),
    /// The server has confirmed what we want to hear of, or refused to.
    Subscribed,
    /// The session is over.
    Ended,
}

/// What a server lists of one kind.
enum Listed {
    Tools(ToolList),
    Prompts(Vec<Value>),
    Resources {
        resources: Vec<Value>,
        templates: Vec<Value>,
    },
}

impl Tending {
    /// Reads all lists, then each one that changes, until the session is over.
    pub(super) async fn run(self, mut signals: mpsc::UnboundedReceiver<Signal>) {
        let subscription = self.subscribe();
        if subscription.is_some() {
            // What changes between the list and the subscription would never be heard of.
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
            // A server that changes one thing after the other is asked once for all of it.
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
            // A list that cannot be had leaves the one before: the session may be over, and the next one lists again.
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

    /// Tells a session that keeps such things which resources were followed on the one before.
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
        // A resource may be gone; whoever follows it will hear nothing, as before.
        join_all(follow).await;
    }

    /// Reads all lists for the first time. Whether the server is ready.
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
        // The next start asks for its lists anew.
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
            // What it cannot say of these lists must not keep its tools from being used.
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

/// Tells people what is odd about a list.
fn log(warnings: &[String]) {
    for warning in warnings {
        tracing::warn!("{warning}");
    }
}

/// Why a list counts as another one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reason {
    /// The server said so.
    Said,
    /// It is not the list of the session before.
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
