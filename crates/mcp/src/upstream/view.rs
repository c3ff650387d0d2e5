//! Snapshots of the servers behind a gateway, and their publication.

use std::sync::{Arc, Mutex, PoisonError};

use planwright_core::{ServerName, Tool, Value};
use tokio::sync::{broadcast, watch};

use super::options::ServerFailure;

/// An immutable snapshot of all servers; [`Upstreams::view`](super::Upstreams::view) returns the latest.
#[derive(Clone, Debug, Default)]
pub struct UpstreamView {
    /// The servers, in the order of the configuration, followed by the invalid ones.
    pub servers: Vec<Arc<UpstreamServer>>,
    /// The names of servers that are never started, because they are disabled or not required.
    pub absent: Arc<[ServerName]>,
    /// The change counters, which show the owner of an earlier view which lists have changed.
    pub changes: ChangeCounts,
}

/// Counters of changes since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChangeCounts {
    /// Changes of server states.
    pub states: u64,
    /// Changes of tool lists.
    pub tools: u64,
    /// Changes of prompt lists.
    pub prompts: u64,
    /// Changes of resource and resource template lists.
    pub resources: u64,
}

/// A snapshot of one server.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct UpstreamServer {
    /// The name in the configuration.
    pub name: ServerName,
    /// The number of the server. A server whose configuration has changed has a new and higher one.
    pub id: u64,
    /// The state of its process or connection.
    pub state: UpstreamState,
    /// True once the first start attempt has finished, successfully or not.
    pub first_start_finished: bool,
    /// The negotiated revision of MCP; `None` before the first start.
    pub revision: Option<Arc<str>>,
    /// The server's `serverInfo`, unchanged, or `null`.
    pub info: Value,
    /// The server's `capabilities`, unchanged, or `null`.
    pub capabilities: Value,
    /// The server's `instructions`, unchanged, or `null`.
    pub instructions: Value,
    /// The server's tools in the catalog.
    pub tools: Vec<Tool>,
    /// The entries of its `tools/list`, without invisible characters in their texts.
    pub tool_entries: Vec<Value>,
    /// The entries of its `resources/list`, without invisible characters in their texts.
    pub resources: Vec<Value>,
    /// The entries of its `resources/templates/list`, without invisible characters in their texts.
    pub resource_templates: Vec<Value>,
    /// The entries of its `prompts/list`, without invisible characters in their texts.
    pub prompts: Vec<Value>,
    /// Warnings about its tool list.
    pub warnings: Vec<String>,
}

/// The state of a server.
#[derive(Clone, Debug)]
pub enum UpstreamState {
    /// Not running, started on demand. The view still has the lists of its last session.
    Idle,
    /// Starting.
    Starting,
    /// Running.
    Ready,
    /// Failed to start. Another start is tried on demand.
    Failed(ServerFailure),
}

impl UpstreamView {
    /// Returns the server `name`.
    pub fn server(&self, name: &str) -> Option<&Arc<UpstreamServer>> {
        self.servers.iter().find(|server| &*server.name == name)
    }

    /// Returns the names of all servers, including those that are never started.
    pub fn names(&self) -> impl Iterator<Item = &ServerName> {
        let servers = self.servers.iter().map(|server| &server.name);
        servers.chain(self.absent.iter())
    }

    /// Returns the names of the servers whose first start has not finished.
    pub fn starting(&self) -> impl Iterator<Item = &ServerName> {
        let starting = self
            .servers
            .iter()
            .filter(|server| !server.first_start_finished);
        starting.map(|server| &server.name)
    }

    /// Returns the reasons why tools are missing, one clause for each affected server.
    pub fn missing(&self) -> impl Iterator<Item = String> {
        self.servers
            .iter()
            .filter_map(|server| match &server.state {
                UpstreamState::Ready => None,
                UpstreamState::Failed(failure) => Some(failure.message.clone()),
                // The view still has the lists of its last session.
                UpstreamState::Idle if server.first_start_finished => None,
                UpstreamState::Idle | UpstreamState::Starting => {
                    Some(format!("the server `{}` is still starting", server.name))
                }
            })
    }

    /// Returns the tools of all servers, in the order of the view and of each server's list.
    pub fn tools(&self) -> impl Iterator<Item = &Tool> {
        self.servers.iter().flat_map(|server| &server.tools)
    }
}

impl UpstreamServer {
    /// Creates a snapshot that has only a state.
    pub(crate) fn new(id: u64, name: ServerName, state: UpstreamState) -> Self {
        Self {
            name,
            id,
            first_start_finished: state.is_settled(),
            state,
            revision: None,
            info: Value::Null,
            capabilities: Value::Null,
            instructions: Value::Null,
            tools: Vec::new(),
            tool_entries: Vec::new(),
            resources: Vec::new(),
            resource_templates: Vec::new(),
            prompts: Vec::new(),
            warnings: Vec::new(),
        }
    }
}

impl UpstreamState {
    /// Returns true if the server is running or has failed to start.
    pub fn is_settled(&self) -> bool {
        matches!(self, Self::Ready | Self::Failed(_))
    }
}

/// The number of notifications buffered for a slow receiver, which then loses the oldest.
const NOTIFICATION_CAPACITY: usize = 256;

/// A notification of a server that is unrelated to any request.
#[derive(Clone, Debug)]
pub struct UpstreamNotification {
    /// The server.
    pub server: ServerName,
    /// The method, such as `notifications/resources/updated`.
    pub method: Arc<str>,
    /// The parameters, unchanged.
    pub params: Value,
}

/// The latest view and its subscribers.
#[derive(Debug)]
pub(crate) struct ViewPublisher {
    // Held only while one view replaces another, never across an await.
    view: Mutex<Arc<UpstreamView>>,
    version: watch::Sender<u64>,
    notifications: broadcast::Sender<UpstreamNotification>,
}

impl ViewPublisher {
    pub(crate) fn new(servers: Vec<UpstreamServer>, absent: Vec<ServerName>) -> Self {
        let view = UpstreamView {
            servers: servers.into_iter().map(Arc::new).collect(),
            absent: absent.into(),
            changes: ChangeCounts::default(),
        };
        Self {
            view: Mutex::new(Arc::new(view)),
            version: watch::Sender::new(0),
            notifications: broadcast::Sender::new(NOTIFICATION_CAPACITY),
        }
    }

    pub(crate) fn view(&self) -> Arc<UpstreamView> {
        Arc::clone(&self.view.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.version.subscribe()
    }

    pub(crate) fn notifications(&self) -> broadcast::Receiver<UpstreamNotification> {
        self.notifications.subscribe()
    }

    /// Publishes a view in which `update` has modified the server `id` and the counters. A server that was removed is not
    /// published any more.
    pub(crate) fn update(
        &self,
        id: u64,
        update: impl FnOnce(&mut UpstreamServer, &mut ChangeCounts),
    ) {
        let mut view = self.view.lock().unwrap_or_else(PoisonError::into_inner);
        // Copy on write: readers of the previous view keep it unchanged.
        let UpstreamView {
            servers, changes, ..
        } = Arc::make_mut(&mut view);
        let Some(server) = servers.iter_mut().find(|server| server.id == id) else {
            return;
        };
        update(Arc::make_mut(server), changes);
        drop(view);
        self.version.send_modify(|version| *version += 1);
    }

    /// Publishes a view with these servers. A server that the view already has keeps its snapshot.
    pub(crate) fn replace(&self, servers: Vec<UpstreamServer>, absent: Vec<ServerName>) {
        let mut view = self.view.lock().unwrap_or_else(PoisonError::into_inner);
        let mut changes = view.changes;
        changes.states += 1;
        let present = |id: u64| view.servers.iter().find(|server| server.id == id);
        for gone in &view.servers {
            if servers.iter().any(|server| server.id == gone.id) {
                continue;
            }
            changes.tools += u64::from(!gone.tool_entries.is_empty());
            changes.prompts += u64::from(!gone.prompts.is_empty());
            let has_resources = !gone.resources.is_empty() || !gone.resource_templates.is_empty();
            changes.resources += u64::from(has_resources);
        }
        let servers = servers
            .into_iter()
            .map(|server| present(server.id).map_or_else(|| Arc::new(server), Arc::clone))
            .collect();
        *view = Arc::new(UpstreamView {
            servers,
            absent: absent.into(),
            changes,
        });
        drop(view);
        self.version.send_modify(|version| *version += 1);
    }

    pub(crate) fn notify(&self, notification: UpstreamNotification) {
        // Sending fails only if no receiver exists, which is fine.
        let _ = self.notifications.send(notification);
    }
}
