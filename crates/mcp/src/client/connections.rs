//! The connections to all servers.

use std::fmt;
use std::sync::Arc;

use futures::future::join_all;
use planwright_core::Tool;
use planwright_engine::{Backends, ToolBackend};

use super::backend::ServerBackend;
use super::options::ConnectOptions;
use super::server::Server;
use crate::config::{ConfigProblem, ServersConfig};

/// The servers of a configuration, as far as they are needed and could be started.
///
/// Dropping this and all backends made from it kills the servers; [`Connections::shutdown`] lets them end in peace.
pub struct Connections {
    servers: Vec<Arc<Server>>,
    tools: Vec<Tool>,
    failures: Vec<ServerFailure>,
    warnings: Vec<String>,
}

/// Why a server is not there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct ServerFailure {
    /// The server.
    pub server: Arc<str>,
    /// What went wrong.
    pub message: String,
    /// The way out.
    pub help: String,
    /// The end of what it wrote on its standard error; empty where it wrote nothing.
    pub stderr: String,
}

impl ServerFailure {
    /// Why a server cannot even be started, where the problem is one server's.
    pub(super) fn unusable(problem: &ConfigProblem) -> Option<Self> {
        Some(Self {
            server: Arc::clone(problem.server.as_ref()?),
            message: problem.message.clone(),
            help: problem.help.clone(),
            stderr: String::new(),
        })
    }
}

impl Connections {
    /// Starts the servers that are needed, all at the same time, and lists their tools.
    ///
    /// This never fails as a whole: what did not start stands in [`Connections::failures`], the rest works. It
    /// returns when the last server is ready or has failed, so at the latest after the longest start timeout.
    /// Needs a tokio runtime with time and input/output switched on.
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
        };
        for problem in &config.unusable {
            if let Some(failure) = ServerFailure::unusable(problem)
                && options.needs(&failure.server)
            {
                connections.failures.push(failure);
            }
        }
        let starts = servers.iter().map(|server| server.start());
        let outcomes = join_all(starts).await;
        for (server, outcome) in servers.into_iter().zip(outcomes) {
            match outcome {
                Ok(list) => {
                    connections.tools.extend(list.tools);
                    connections.warnings.extend(list.warnings);
                    connections.servers.push(server);
                }
                Err(error) => connections.failures.push(server.failure(error)),
            }
        }
        connections
    }

    /// The tools of all servers, in the order of the configuration and of each server's list.
    pub fn tools(&self) -> &[Tool] {
        &self.tools
    }

    /// The servers that did not start, and why.
    pub fn failures(&self) -> &[ServerFailure] {
        &self.failures
    }

    /// What was odd about the servers that did.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The names of the servers that started.
    pub fn servers(&self) -> impl Iterator<Item = &Arc<str>> {
        self.servers.iter().map(|server| &server.config.name)
    }

    /// What calls the tools of each server.
    pub fn backends(&self) -> Backends {
        let mut backends = Backends::new();
        for server in &self.servers {
            let backend: Arc<dyn ToolBackend> =
                Arc::new(ServerBackend::new(Arc::clone(server), None));
            backends.add(Arc::clone(&server.config.name), backend);
        }
        backends
    }

    /// The last 64 KiB of what the server `name` wrote on its standard error, without the secrets of its configuration.
    pub fn stderr(&self, name: &str) -> Option<String> {
        let server = self
            .servers
            .iter()
            .find(|server| &*server.config.name == name)?;
        Some(server.log.text())
    }

    /// Stops all servers, each with all that it started. Calls from now on fail.
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
