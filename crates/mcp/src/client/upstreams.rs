//! The servers behind a gateway.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures::future::join_all;
use planwright_core::Value;
use planwright_engine::{Backends, ToolBackend};
use tokio::sync::{broadcast, watch};
use tokio::time::Instant;

use super::board::{Board, UpstreamNotification};
use super::caller::{Caller, UpstreamError};
use super::connections::ServerFailure;
use super::following::ResourceFollowing;
use super::options::ConnectOptions;
use super::server::Server;
use super::upstream::Upstream;
use super::upstream_backend::UpstreamBackend;
use super::upstream_client::UpstreamClient;
use super::view::{UpstreamServer, UpstreamState, UpstreamView};
use crate::config::ServersConfig;

/// How long after a number of starts in vain one more is allowed, where the options do not say.
const RESTART_PAUSE: Duration = Duration::from_secs(30);

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
    upstreams: Vec<Arc<Upstream>>,
    board: Arc<Board>,
    client: Arc<OnceLock<UpstreamClient>>,
    started: OnceLock<Instant>,
}

impl Upstreams {
    /// The servers of `config` that are needed. This starts nothing.
    pub fn new(config: ServersConfig, mut options: ConnectOptions) -> Self {
        options.restart_pause.get_or_insert(RESTART_PAUSE);
        let options = Arc::new(options);
        let names = config.names().cloned().collect::<Vec<_>>();
        let servers: Vec<Server> = config
            .servers
            .into_iter()
            .filter(|server| options.needs(&server.name))
            .map(|server| Server::new(server, Arc::clone(&options)))
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
        let servers_seen: Vec<UpstreamServer> = startable.chain(unusable).collect();
        let is_seen = |name: &Arc<str>| servers_seen.iter().any(|server| server.name == *name);
        let absent = names.into_iter().filter(|name| !is_seen(name)).collect();
        let board = Arc::new(Board::new(servers_seen, absent));
        let upstreams = servers
            .into_iter()
            .enumerate()
            .map(|(index, server)| Arc::new(Upstream::new(server, Arc::clone(&board), index)));
        Self {
            inner: Arc::new(Inner {
                upstreams: upstreams.collect(),
                board,
                client: Arc::default(),
                started: OnceLock::new(),
            }),
        }
    }

    /// [Starts](Self::start_for) all servers for a client of the newest revision that has these `capabilities` (`ClientCapabilities`
    /// as MCP writes them).
    pub fn start(&self, capabilities: &Value) {
        self.start_for(&UpstreamClient::new(capabilities.clone()));
    }

    /// Starts all servers that have not been started, side by side, and returns at once. They are told what `client` can do;
    /// the client of the first call counts. A server that is needed before this was called is told that there is none.
    ///
    /// Servers that failed are tried again, as far as [`ConnectOptions`] let them be. So this may be called whenever
    /// somebody wants to know what there is.
    pub fn start_for(&self, client: &UpstreamClient) {
        self.inner.started.get_or_init(Instant::now);
        let client = self.inner.client.get_or_init(|| client.clone());
        for upstream in &self.inner.upstreams {
            upstream.start(client);
        }
    }

    /// Waits until the first start of each server is over, for `patience` at most. Whether that is so. Servers that
    /// nobody has started are not waited for, nor those that are tried again.
    pub async fn settled(&self, patience: Duration) -> bool {
        let mut changes = self.changes();
        let is_settled = || {
            let view = self.view();
            let mut servers = view.servers.iter();
            servers
                .all(|server| server.was_tried || !matches!(server.state, UpstreamState::Starting))
        };
        let settled = changes.wait_for(|_| is_settled());
        matches!(tokio::time::timeout(patience, settled).await, Ok(Ok(_)))
    }

    /// Waits as [`Upstreams::settled`] does, but until `grace` after the servers were started first: a server that never answers
    /// costs that much once, however often it is waited for.
    pub async fn settled_within(&self, grace: Duration) -> bool {
        let end = self.end_of_grace(grace);
        self.settled(end.saturating_duration_since(Instant::now()))
            .await
    }

    /// The moment `grace` after the servers were started first; now, if they were not.
    pub fn end_of_grace(&self, grace: Duration) -> Instant {
        let started = self.inner.started.get().copied();
        started.map_or_else(Instant::now, |started| started + grace)
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
        let mut backends = Backends::new();
        for upstream in &self.inner.upstreams {
            let backend: Arc<dyn ToolBackend> = Arc::new(UpstreamBackend::new(
                Arc::clone(upstream),
                Arc::clone(&self.inner.client),
                caller.clone(),
            ));
            backends.add(Arc::clone(&upstream.server.config.name), backend);
        }
        backends
    }

    /// Sends a request to `server` as it is, and gives the result as it came. Dropping the future cancels the request.
    ///
    /// Only `_meta` is not quite what came: it says what `caller` adds, the revision that is spoken with the server wants, and
    /// a progress token of ours. What has a token of the caller's tells it of its progress. A caller that is asked for
    /// input by the result itself (`input_required`) gets it like any other.
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
        let upstream = self.upstream(server)?;
        let server = upstream
            .server_for(&self.inner.client, caller.as_ref())
            .await?;
        let session = server.session().await?;
        match session.request(method, &params, caller.as_ref()).await {
            Ok(result) => {
                server.has_worked();
                Ok(result)
            }
            Err(error) => Err(server.error(&session, error).await),
        }
    }

    /// Whether `server` may ask `caller` for input by a result, in the revision that is spoken with it.
    #[cfg(feature = "gateway")]
    pub(crate) async fn asks_by_results(&self, server: &str, caller: &Arc<dyn Caller>) -> bool {
        let Ok(upstream) = self.upstream(server) else {
            return false;
        };
        let server = upstream.server_for(&self.inner.client, Some(caller));
        let session = server.await.ok().and_then(|server| server.running());
        session.is_some_and(|session| session.greeting.is_stateless)
    }

    /// Tells `server` something. That it does not run is no failure: nobody is there to be told.
    #[expect(
        clippy::unused_async,
        reason = "a way to a server may have to wait until it can take more"
    )]
    pub async fn notify(&self, server: &str, method: &str, params: Value) {
        if let Ok(upstream) = self.upstream(server)
            && let Some(session) = upstream.server.running()
        {
            session.notify(method, &params);
        }
    }

    /// Hears of changes of the resource `uri` of `server` from now on, until what this gives is dropped: they come as
    /// [`Upstreams::notifications`]. Several may follow the same one; the server is asked once, in the way of the
    /// revision that it speaks, and again where it was started again.
    ///
    /// # Errors
    ///
    /// The server's own error as it came, or why the server could not be reached.
    pub async fn follow(
        &self,
        server: &str,
        uri: &str,
    ) -> Result<ResourceFollowing, UpstreamError> {
        let upstream = self.upstream(server)?;
        let session = upstream.session(&self.inner.client).await?;
        ResourceFollowing::begin(upstream, &session, Arc::from(uri)).await
    }

    /// Stops all servers, each with all that it started. Requests from now on fail.
    pub async fn shutdown(&self) {
        let stops = self.inner.upstreams.iter();
        join_all(stops.map(|upstream| upstream.stop())).await;
    }

    fn upstream(&self, name: &str) -> Result<&Arc<Upstream>, UpstreamError> {
        let mut upstreams = self.inner.upstreams.iter();
        let found = upstreams.find(|upstream| &*upstream.server.config.name == name);
        found.ok_or_else(|| {
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
