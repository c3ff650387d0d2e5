//! What the servers offer, as far as is known at one moment.

use std::sync::Arc;

use planwright_core::{Tool, Value};

use super::connections::ServerFailure;

/// All servers at one moment. It never changes; [`Upstreams::view`](super::Upstreams::view) gives the newest.
#[derive(Clone, Debug, Default)]
pub struct UpstreamView {
    /// The servers, in the order of the configuration. Those that cannot even be started stand at the end.
    pub servers: Vec<Arc<UpstreamServer>>,
    /// The names of servers that are never started.
    pub absent: Arc<[Arc<str>]>,
    /// How often each kind of thing has changed so far: whoever keeps the numbers of the view before sees which did.
    pub changes: ChangeCounts,
}

/// How often each kind of thing has changed since the beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChangeCounts {
    /// Servers that came, failed or ended.
    pub states: u64,
    /// Lists of tools.
    pub tools: u64,
    /// Lists of prompts.
    pub prompts: u64,
    /// Lists of resources and of their templates.
    pub resources: u64,
}

/// One server at one moment.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct UpstreamServer {
    /// Its name in the configuration.
    pub name: Arc<str>,
    /// Whether it runs.
    pub state: UpstreamState,
    /// Whether a start of it is over, for better or worse. From then on nobody waits for further ones.
    pub was_tried: bool,
    /// The revision of MCP that is spoken with it; nothing until it was up for the first time.
    pub revision: Option<Arc<str>>,
    /// What it says that it is (`serverInfo`), as it came; else `null`.
    pub info: Value,
    /// What it says that it can do, as it came; else `null`.
    pub capabilities: Value,
    /// What it wants models to know, as it came; else `null`.
    pub instructions: Value,
    /// Its tools, as plans call them.
    pub tools: Vec<Tool>,
    /// The entries of its `tools/list`, without what is hidden in their texts.
    pub tool_entries: Vec<Value>,
    /// The entries of its `resources/list`, without what is hidden in their texts.
    pub resources: Vec<Value>,
    /// The entries of its `resources/templates/list`, without what is hidden in their texts.
    pub resource_templates: Vec<Value>,
    /// The entries of its `prompts/list`, without what is hidden in their texts.
    pub prompts: Vec<Value>,
    /// What was odd about its lists.
    pub warnings: Vec<String>,
}

/// Whether a server runs.
#[derive(Clone, Debug)]
pub enum UpstreamState {
    /// It does not run, and is started when it is needed. What it offered when it ran last is still in the view.
    Idle,
    /// It is being started.
    Starting,
    /// It runs.
    Ready,
    /// It could not be started. It is tried again when it is needed.
    Failed(ServerFailure),
}

impl UpstreamView {
    /// The server `name`.
    pub fn server(&self, name: &str) -> Option<&Arc<UpstreamServer>> {
        self.servers.iter().find(|server| &*server.name == name)
    }

    /// The names of all servers, also of those that are never started.
    pub fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        let servers = self.servers.iter().map(|server| &server.name);
        servers.chain(self.absent.iter())
    }

    /// The servers whose first start is not over yet.
    pub fn starting(&self) -> impl Iterator<Item = &Arc<str>> {
        let starting = self.servers.iter().filter(|server| !server.was_tried);
        starting.map(|server| &server.name)
    }

    /// Why tools of servers are not known, one clause for each server.
    pub fn missing(&self) -> impl Iterator<Item = String> {
        self.servers
            .iter()
            .filter_map(|server| match &server.state {
                UpstreamState::Ready => None,
                UpstreamState::Failed(failure) => Some(failure.message.clone()),
                // What it offered when it ran last is known.
                UpstreamState::Idle if server.was_tried => None,
                UpstreamState::Idle | UpstreamState::Starting => {
                    Some(format!("the server `{}` is still starting", server.name))
                }
            })
    }

    /// The tools of all servers, in the order of the view and of each server's list.
    pub fn tools(&self) -> impl Iterator<Item = &Tool> {
        self.servers.iter().flat_map(|server| &server.tools)
    }
}

impl UpstreamServer {
    /// A server of which nothing but its state is known.
    pub(super) fn new(name: Arc<str>, state: UpstreamState) -> Self {
        Self {
            name,
            was_tried: state.is_settled(),
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
    /// Whether nothing is to be waited for: it runs, or could not be started.
    pub fn is_settled(&self) -> bool {
        matches!(self, Self::Ready | Self::Failed(_))
    }
}
