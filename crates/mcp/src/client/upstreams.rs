//! The servers behind a gateway.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures::future::join_all;
use planwright_core::Value;
use planwright_engine::{Backends, ToolBackend};
use tokio::sync::{broadcast, watch};

use super::backend::ServerBackend;
use super::board::{Board, UpstreamNotification};
use super::caller::{Caller, UpstreamError};
use super::connections::ServerFailure;
use super::options::ConnectOptions;
use super::server::Server;
use super::session::RequestError;
use super::view::{UpstreamServer, UpstreamState, UpstreamView};
use crate::config::ServersConfig;

/// The servers behind a gateway: started when they are first needed, side by side, each on its own. What they offer changes,
/// and the view with it.
///
/// Clones are the same servers. Dropping the last of them and of the backends kills the servers; [`Upstreams::shutdown`]
/// lets them end in peace. Needs a tokio runtime with time and input/output switched on.
#[derive(Clone)]
pub struct Upstreams {
    inner: Arc<Inner>,
}

struct Inner {
    servers: Vec<Arc<Server>>,
    board: Arc<Board>,
    capabilities: OnceLock<Value>,
}

impl Upstreams {
    /// The servers of `config` that are needed. This starts nothing.
    pub fn new(config: ServersConfig, options: ConnectOptions) -> Self {
        let options = Arc::new(options);
        let servers: Vec<Arc<Server>> = config
            .servers
            .into_iter()
            .filter(|server| options.needs(&server.name))
            .map(|server| Arc::new(Server::new(server, Arc::clone(&options))))
            .collect();
        let startable = servers.iter().map(|server| {
            UpstreamServer::new(Arc::clone(&server.config.name), UpstreamState::Idle)
        });
        let unusable = config.unusable.iter().filter_map(|problem| {
            let failure = ServerFailure::unusable(problem)?;
            options.needs(&failure.server).then(|| {
                UpstreamServer::new(Arc::clone(&failure.server), UpstreamState::Failed(failure))
            })
        });
        let board = Arc::new(Board::new(startable.chain(unusable).collect()));
        Self {
            inner: Arc::new(Inner {
                servers,
                board,
                capabilities: OnceLock::new(),
            }),
        }
    }

    /// Starts all servers that have not been started, side by side, and returns at once. They are told that the client
    /// has these `capabilities` (`ClientCapabilities` as MCP writes them); those of the first call count. A server that
    /// is needed before this was called is told that there are none.
    pub fn start(&self, capabilities: &Value) {
        self.inner.capabilities.get_or_init(|| capabilities.clone());
        for (index, server) in self.inner.servers.iter().enumerate() {
            let server = Arc::clone(server);
            let board = Arc::clone(&self.inner.board);
            if !matches!(self.view().servers[index].state, UpstreamState::Idle) {
                continue;
            }
            board.change(index, |seen, changes| {
                seen.state = UpstreamState::Starting;
                changes.states += 1;
            });
            tokio::spawn(async move {
                let outcome = server.start().await;
                board.change(index, |seen, changes| {
                    changes.states += 1;
                    match outcome {
                        Ok((tools, warnings)) => {
                            seen.state = UpstreamState::Ready;
                            seen.tools = tools;
                            seen.warnings = warnings;
                            changes.tools += 1;
                        }
                        Err(error) => {
                            seen.state = UpstreamState::Failed(server.failure(error));
                        }
                    }
                });
            });
        }
    }

    /// Waits until each server is ready or has failed, for `patience` at most. Whether that is so. Servers that nobody
    /// has started are not waited for.
    pub async fn settled(&self, patience: Duration) -> bool {
        let mut changes = self.changes();
        let is_settled = || {
            let view = self.view();
            let mut states = view.servers.iter().map(|server| &server.state);
            states.all(|state| !matches!(state, UpstreamState::Starting))
        };
        let settled = changes.wait_for(|_| is_settled());
        matches!(tokio::time::timeout(patience, settled).await, Ok(Ok(_)))
    }

    /// The newest view.
    pub fn view(&self) -> Arc<UpstreamView> {
        self.inner.board.view()
    }

    /// Ticks whenever the view changes.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.inner.board.changes()
    }

    /// Notifications that belong to no request: `notifications/resources/updated`, and `notifications/message` while
    /// nothing is under way.
    pub fn notifications(&self) -> broadcast::Receiver<UpstreamNotification> {
        self.inner.board.notifications()
    }

    /// What calls the tools of each server for the engine. What they ask or tell in the course goes to `caller`.
    pub fn backends(&self, caller: Option<Arc<dyn Caller>>) -> Backends {
        let _ = caller;
        let mut backends = Backends::new();
        for server in &self.inner.servers {
            let backend: Arc<dyn ToolBackend> = Arc::new(ServerBackend::new(Arc::clone(server)));
            backends.add(Arc::clone(&server.config.name), backend);
        }
        backends
    }

    /// Sends a request to `server` as it is, and gives the result as it came. Dropping the future cancels the request.
    ///
    /// # Errors
    ///
    /// The server's own error as it came, or why the server could not be reached.
    pub async fn request(
        &self,
        server: &str,
        method: &str,
        params: Value,
        caller: Option<Arc<dyn Caller>>,
    ) -> Result<Value, UpstreamError> {
        let _ = caller;
        let server = self.server(server)?;
        let session = server.session().await.map_err(UpstreamError::from)?;
        match session.request_raw(method, &params).await {
            Ok(result) => {
                server.has_worked();
                Ok(result)
            }
            Err(RequestError::Refused(error)) => Err(UpstreamError {
                code: error.code.0.into(),
                message: error.message.into_owned(),
                data: error.data.map(Value::from),
            }),
            Err(RequestError::Unreadable(reason)) => Err(UpstreamError::new(
                UpstreamError::UNAVAILABLE,
                format!(
                    "the answer of the server `{}` cannot be read: {reason}",
                    server.config.name
                ),
            )),
            Err(RequestError::Lost(reason)) => {
                let reason = match reason {
                    Some(reason) => reason,
                    None => session.reason().await,
                };
                let message = format!(
                    "the server `{}` did not answer: {reason}",
                    server.config.name
                );
                Err(server.unavailable(message).into())
            }
        }
    }

    /// Tells `server` something. That it does not run is no failure: nobody is there to be told.
    pub async fn notify(&self, server: &str, method: &str, params: Value) {
        if let Ok(server) = self.server(server)
            && let Some(session) = server.running().await
        {
            session.notify(method, &params).await;
        }
    }

    /// Stops all servers, each with all that it started. Requests from now on fail.
    pub async fn shutdown(&self) {
        join_all(self.inner.servers.iter().map(|server| server.stop())).await;
    }

    fn server(&self, name: &str) -> Result<&Arc<Server>, UpstreamError> {
        let mut servers = self.inner.servers.iter();
        servers
            .find(|server| &*server.config.name == name)
            .ok_or_else(|| {
                let message = format!("there is no server `{name}`");
                UpstreamError::new(UpstreamError::INVALID, message)
            })
    }
}

impl fmt::Debug for Upstreams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Upstreams")
            .field("view", &self.view())
            .finish_non_exhaustive()
    }
}
