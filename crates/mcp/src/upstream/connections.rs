//! The servers of one run.

use std::fmt;
use std::sync::{Arc, Weak};

use futures::future::join_all;
use planwright_core::{ServerName, Tool};
use planwright_engine::{Backends, ToolBackend};

use super::options::{ConnectOptions, ServerFailure};
use super::server::{Server, ServerBackend};
use super::tool_lists::ToolLists;
use crate::config::{ServerConfig, ServersConfig};
use crate::session::caller::ListKind;
use crate::session::open_session::{ClientContext, ServerObserver};

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
                let remover = Arc::new(ListRemover {
                    lists: lists.clone(),
                    server: Arc::clone(&server.config),
                });
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

/// Removes the stored list of a server when the server reports that its tools have changed.
#[derive(Debug)]
struct ListRemover {
    lists: ToolLists,
    server: Arc<ServerConfig>,
}

impl ServerObserver for ListRemover {
    fn on_list_changed(&self, kind: ListKind) {
        match kind {
            ListKind::Tools => self.lists.forget(&self.server),
            ListKind::Prompts | ListKind::Resources => {}
        }
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
