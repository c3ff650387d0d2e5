//! The servers of one run, and the options for starting, limiting and stopping them.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures::future::join_all;
use planwright_core::{ServerName, Tool};
use planwright_engine::{Backends, ToolBackend};

use super::backend::ServerBackend;
use super::server::Server;
use super::tool_lists::{ListRemover, ToolLists};
use crate::config::{ConfigProblem, ServersConfig};
use crate::session::caller::{ClientContext, ServerObserver, UnansweredQuestions};
use crate::supervisor::Supervisor;
#[cfg(feature = "http")]
use crate::transport::auth::{Consent, Tokens};

/// Options for starting, limiting and stopping servers.
#[derive(Clone, Debug)]
pub struct ConnectOptions {
    /// The names of the required servers; `None` requires all. The others are never started.
    pub only: Option<BTreeSet<ServerName>>,
    /// The default start timeout of a server.
    pub start_timeout: Duration,
    /// The time that a server gets to end after its input is closed, and again after it has received `SIGTERM`.
    pub stop_grace: Duration,
    /// The maximum length of a message from a server, in bytes.
    pub message_limit: usize,
    /// The maximum number of restarts of a server without a successful call in between.
    pub restart_limit: u32,
    /// The pause after which one more restart is allowed once the limit is reached; `None` allows no more.
    /// [`Upstreams`](super::Upstreams), which live long, use 30 seconds instead of `None`.
    pub restart_pause: Option<Duration>,
    /// The name and version of this client.
    pub client: (String, String),
    /// The storage of OAuth tokens.
    #[cfg(feature = "http")]
    pub tokens: Tokens,
    /// The prompt for a person's consent. Without it, a server that requires consent fails with a hint.
    #[cfg(feature = "http")]
    pub consent: Option<Arc<dyn Consent>>,
    /// The supervisor that ends servers after this process has died. Without it, servers only notice the end of their
    /// input.
    pub supervisor: Option<Supervisor>,
    /// The observer of server processes.
    pub processes: Option<Arc<dyn ProcessObserver>>,
    /// The storage of tool lists. Each list that a server sends is stored there, and removed when it has changed.
    pub tool_lists: Option<ToolLists>,
    /// The questions of servers that nobody can answer. Servers with these options add theirs.
    pub unanswered: UnansweredQuestions,
}

/// Observes the processes of servers. Its methods must not block.
pub trait ProcessObserver: fmt::Debug + Send + Sync {
    /// Reports that the process `pid` was started for `server`.
    fn started(&self, server: &str, pid: u32);

    /// Reports that the process and all its descendants have ended.
    fn ended(&self, pid: u32);
}

impl Default for ConnectOptions {
    fn default() -> Self {
        Self {
            only: None,
            start_timeout: Duration::from_secs(30),
            stop_grace: Duration::from_secs(2),
            message_limit: 256 << 20,
            restart_limit: 3,
            restart_pause: None,
            client: (
                "planwright".to_owned(),
                env!("CARGO_PKG_VERSION").to_owned(),
            ),
            #[cfg(feature = "http")]
            tokens: Tokens::in_memory(),
            #[cfg(feature = "http")]
            consent: None,
            supervisor: None,
            processes: None,
            tool_lists: None,
            unanswered: UnansweredQuestions::default(),
        }
    }
}

impl ConnectOptions {
    /// Returns true if the server `name` is required.
    pub(crate) fn needs(&self, name: &str) -> bool {
        self.only.as_ref().is_none_or(|names| names.contains(name))
    }
}

/// The running servers of a configuration.
///
/// Dropping this and all backends created from it kills the servers; [`Connections::shutdown`] lets them end on their
/// own first.
pub struct Connections {
    servers: Vec<Arc<Server>>,
    tools: Vec<Tool>,
    failures: Vec<ServerFailure>,
    warnings: Vec<String>,
    // Servers reference their observers only weakly.
    list_removers: Vec<Arc<ListRemover>>,
}

/// The reason why a server is not available.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct ServerFailure {
    /// The server.
    pub server: ServerName,
    /// The error, as one clause.
    pub message: String,
    /// A hint how to fix it.
    pub help: String,
    /// The end of the server's standard error output, may be empty.
    pub stderr: String,
}

impl ServerFailure {
    /// Converts a configuration problem of a single server.
    pub(crate) fn unusable(problem: &ConfigProblem) -> Option<Self> {
        Some(Self {
            server: problem.server.clone()?,
            message: problem.message.clone(),
            help: problem.help.clone(),
            stderr: String::new(),
        })
    }
}

impl Connections {
    /// Starts the required servers concurrently, and lists their tools.
    ///
    /// This never fails as a whole: servers that did not start are listed in [`Connections::failures`]. It returns when
    /// the last server is ready or has failed, so at the latest after the longest start timeout. It needs a tokio
    /// runtime with time and I/O enabled.
    pub async fn connect(config: &ServersConfig, options: ConnectOptions) -> Self {
        let options = Arc::new(options);
        let servers: Vec<Arc<Server>> = config
            .servers
            .iter()
            .filter(|server| options.needs(&server.name))
            .map(|server| Arc::new(Server::new(server.clone(), Arc::clone(&options))))
            .collect();
        let mut connections = Self {
            servers: Vec::new(),
            tools: Vec::new(),
            failures: Vec::new(),
            warnings: Vec::new(),
            list_removers: Vec::new(),
        };
        for problem in &config.unusable {
            if let Some(failure) = ServerFailure::unusable(problem)
                // A server that is not needed must not fail the caller.
                && options.needs(&failure.server)
            {
                connections.failures.push(failure);
            }
        }
        if let Some(lists) = &options.tool_lists {
            for server in &servers {
                let remover = Arc::new(ListRemover::new(lists.clone(), Arc::clone(&server.config)));
                let observer: Weak<ListRemover> = Arc::downgrade(&remover);
                server.set_context(ClientContext {
                    observer: Some(observer as Weak<dyn ServerObserver>),
                    ..ClientContext::default()
                });
                connections.list_removers.push(remover);
            }
        }
        let starts = servers.iter().map(|server| server.start());
        // The outcomes have the order of the configuration, no matter which server is ready first.
        let outcomes = join_all(starts).await;
        for (server, outcome) in servers.into_iter().zip(outcomes) {
            match outcome {
                Ok(list) => {
                    connections.tools.extend(list.tools);
                    connections.warnings.extend(list.warnings);
                    connections.servers.push(server);
                }
                Err(error) => {
                    if let Some(lists) = &options.tool_lists {
                        lists.store_failure(&server.config);
                    }
                    connections.failures.push(server.failure(error));
                }
            }
        }
        connections
    }

    /// Returns the tools of all servers, in the order of the configuration and of each server's list.
    pub fn tools(&self) -> &[Tool] {
        &self.tools
    }

    /// Returns the failures of the servers that did not start.
    pub fn failures(&self) -> &[ServerFailure] {
        &self.failures
    }

    /// Returns the warnings about the tool lists of the running servers.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Returns the names of the running servers.
    pub fn servers(&self) -> impl Iterator<Item = &ServerName> {
        self.servers.iter().map(|server| &server.config.name)
    }

    /// Returns a backend for each running server.
    pub fn backends(&self) -> Backends {
        let mut backends = Backends::new();
        for server in &self.servers {
            let backend: Arc<dyn ToolBackend> =
                Arc::new(ServerBackend::new(Arc::clone(server), None));
            backends.add(server.config.name.clone(), backend);
        }
        backends
    }

    /// Returns the last 64 KiB of the standard error output of the server `name`, with the secrets of its configuration
    /// redacted.
    pub fn stderr(&self, name: &str) -> Option<String> {
        let server = self
            .servers
            .iter()
            .find(|server| &*server.config.name == name)?;
        Some(server.log.text())
    }

    /// Stops all servers and their descendants. Later calls fail.
    pub async fn shutdown(&self) {
        join_all(self.servers.iter().map(|server| server.stop())).await;
    }
}

impl fmt::Debug for Connections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connections")
            .field("servers", &self.servers().collect::<Vec<_>>())
            .field("tools", &self.tools.len())
            .field("failures", &self.failures)
            .finish_non_exhaustive()
    }
}
