//! The servers behind a gateway.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures::future::{BoxFuture, join_all};
use planwright_core::{ServerName, Value};
use planwright_engine::backend::{ToolCall, ToolError, ToolOutput};
use planwright_engine::{Backends, ToolBackend};
use tokio::sync::{broadcast, watch};
use tokio::time::Instant;

use super::entry::Upstream;
use super::options::{ConnectOptions, ServerFailure};
use super::resource_subscription::ResourceSubscription;
use super::server::{Server, ServerBackend};
use super::view::{
    UpstreamNotification, UpstreamServer, UpstreamState, UpstreamView, ViewPublisher,
};
use crate::config::ServersConfig;
use crate::session::caller::{Caller, UpstreamClient};
use crate::session::error::UpstreamError;

/// The default of [`ConnectOptions::restart_pause`] for long-lived servers.
const RESTART_PAUSE: Duration = Duration::from_secs(30);

/// The servers behind a gateway: started on demand, concurrently and independently. Each change is published in a new
/// view.
///
/// Clones share the servers. Dropping the last clone and backend kills the servers; [`Upstreams::shutdown`] lets them
/// end on their own first. Needs a tokio runtime with time and I/O enabled.
#[derive(Clone)]
pub struct Upstreams {
    inner: Arc<UpstreamsInner>,
}

struct UpstreamsInner {
    upstreams: Vec<Arc<Upstream>>,
    publisher: Arc<ViewPublisher>,
    client: Arc<OnceLock<UpstreamClient>>,
    started: OnceLock<Instant>,
}

impl Upstreams {
    /// Creates the required servers of `config` without starting them.
    pub fn new(config: ServersConfig, mut options: ConnectOptions) -> Self {
        // A call that needs a failed server is worth an attempt, but not more often than this.
        options.restart_pause.get_or_insert(RESTART_PAUSE);
        let options = Arc::new(options);
        let names = config.names().cloned().collect::<Vec<_>>();
        let servers: Vec<Server> = config
            .servers
            .into_iter()
            .filter(|server| options.needs(&server.name))
            .map(|server| Server::new(server, Arc::clone(&options)))
            .collect();
        let startable = servers
            .iter()
            .map(|server| UpstreamServer::new(server.config.name.clone(), UpstreamState::Idle));
        let unusable = config.unusable.iter().filter_map(|problem| {
            let failure = ServerFailure::unusable(problem)?;
            options.needs(&failure.server).then(|| {
                UpstreamServer::new(failure.server.clone(), UpstreamState::Failed(failure))
            })
        });
        // Startable servers come first, since each of them finds its snapshot by its index below.
        let snapshots: Vec<UpstreamServer> = startable.chain(unusable).collect();
        let has_snapshot = |name: &ServerName| snapshots.iter().any(|server| server.name == *name);
        let absent = names
            .into_iter()
            .filter(|name| !has_snapshot(name))
            .collect();
        let publisher = Arc::new(ViewPublisher::new(snapshots, absent));
        let upstreams = servers
            .into_iter()
            .enumerate()
            .map(|(index, server)| Arc::new(Upstream::new(server, Arc::clone(&publisher), index)));
        Self {
            inner: Arc::new(UpstreamsInner {
                upstreams: upstreams.collect(),
                publisher,
                client: Arc::default(),
                started: OnceLock::new(),
            }),
        }
    }

    /// [Starts](Self::start_for) all servers for a client of the latest revision with these `capabilities`
    /// (`ClientCapabilities` of MCP).
    pub fn start(&self, capabilities: &Value) {
        self.start_for(&UpstreamClient::new(capabilities.clone()));
    }

    /// Starts all servers that have not been started, concurrently, and returns at once. Servers learn the capabilities
    /// of the `client` of the first call; a server that is started on demand before that learns of none.
    ///
    /// Failed servers are tried again within the limits of [`ConnectOptions`], so callers may call this before each use
    /// of the view.
    pub fn start_for(&self, client: &UpstreamClient) {
        self.inner.started.get_or_init(Instant::now);
        let client = self.inner.client.get_or_init(|| client.clone());
        for upstream in &self.inner.upstreams {
            upstream.start(client);
        }
    }

    /// Waits until the first start of each starting server has finished, for `timeout` at most. Returns true if so.
    /// Idle servers and restarts are not waited for.
    pub async fn settled(&self, timeout: Duration) -> bool {
        // Subscribed before the view is read, so that no change in between is missed.
        let mut changes = self.changes();
        let is_settled = || {
            let view = self.view();
            let mut servers = view.servers.iter();
            servers.all(|server| {
                server.first_start_finished || !matches!(server.state, UpstreamState::Starting)
            })
        };
        let settled = changes.wait_for(|_| is_settled());
        matches!(tokio::time::timeout(timeout, settled).await, Ok(Ok(_)))
    }

    /// Waits as [`Upstreams::settled`] does, but only until `grace` after the first start of the servers: a server that
    /// never responds costs this time once, however often callers wait.
    pub async fn settled_within(&self, grace: Duration) -> bool {
        let end = self.grace_deadline(grace);
        self.settled(end.saturating_duration_since(Instant::now()))
            .await
    }

    /// Returns the instant `grace` after the first start of the servers, or now if they were not started.
    pub fn grace_deadline(&self, grace: Duration) -> Instant {
        let started = self.inner.started.get().copied();
        started.map_or_else(Instant::now, |started| started + grace)
    }

    /// Returns the latest view.
    pub fn view(&self) -> Arc<UpstreamView> {
        self.inner.publisher.view()
    }

    /// Returns a counter that changes with each new view.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.inner.publisher.changes()
    }

    /// Returns a receiver of notifications that are unrelated to any request: `notifications/resources/updated`, and
    /// `notifications/message` while no request is in flight.
    pub fn notifications(&self) -> broadcast::Receiver<UpstreamNotification> {
        self.inner.publisher.notifications()
    }

    /// Returns a backend for each server. `caller` receives the requests and notifications of the servers during calls.
    pub fn backends(&self, caller: Option<Arc<dyn Caller>>) -> Backends {
        let mut backends = Backends::new();
        for upstream in &self.inner.upstreams {
            let backend: Arc<dyn ToolBackend> = Arc::new(UpstreamBackend::new(
                Arc::clone(upstream),
                // Shared rather than copied: the client may become known only after the backends exist.
                Arc::clone(&self.inner.client),
                caller.clone(),
            ));
            backends.add(upstream.server.config.name.clone(), backend);
        }
        backends
    }

    /// Sends a request to `server` and returns the result unchanged. Dropping the future cancels the request.
    ///
    /// Only `_meta` is modified: it gets the entries of `caller`, those that the negotiated revision requires, and our
    /// own progress token. If the parameters contain a progress token, `caller` is notified of progress with it. A
    /// result that requests input (`input_required`) is returned like any other.
    ///
    /// # Errors
    ///
    /// Returns the server's own error unchanged, or the reason why the server could not be reached.
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
        match session
            .request(method, &params, caller.as_ref(), None)
            .await
        {
            Ok(result) => {
                server.record_success();
                Ok(result)
            }
            Err(error) => Err(server.error(&session, error).await),
        }
    }

    /// Returns true if `server` may request input from `caller` by a result, in the negotiated revision.
    #[cfg(feature = "gateway")]
    pub(crate) async fn asks_by_results(&self, server: &str, caller: &Arc<dyn Caller>) -> bool {
        let Ok(upstream) = self.upstream(server) else {
            return false;
        };
        let server = upstream.server_for(&self.inner.client, Some(caller));
        let session = server
            .await
            .ok()
            .and_then(|server| server.running_session());
        session.is_some_and(|session| session.server_info.is_stateless)
    }

    /// Sends a notification to `server`, unless it is not running.
    #[expect(
        clippy::unused_async,
        reason = "a transport may have to wait until the server can take more"
    )]
    pub async fn notify(&self, server: &str, method: &str, params: Value) {
        if let Ok(upstream) = self.upstream(server)
            // A notification concerns a running session, so it starts none.
            && let Some(session) = upstream.server.running_session()
        {
            session.notify(method, &params);
        }
    }

    /// Subscribes to changes of the resource `uri` of `server` until the returned guard is dropped. The changes arrive
    /// as [`Upstreams::notifications`]. Several subscribers share one subscription at the server, which is made in the
    /// form of its revision and renewed when the server restarts.
    ///
    /// # Errors
    ///
    /// Returns the server's own error unchanged, or the reason why the server could not be reached.
    pub async fn subscribe(
        &self,
        server: &str,
        uri: &str,
    ) -> Result<ResourceSubscription, UpstreamError> {
        let upstream = self.upstream(server)?;
        let session = upstream.session(&self.inner.client).await?;
        ResourceSubscription::begin(upstream, &session, Arc::from(uri)).await
    }

    /// Stops all servers and their descendants. Later requests fail.
    pub async fn shutdown(&self) {
        // Concurrently, because each server may use its whole grace period.
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

#[derive(Debug)]
struct UpstreamBackend {
    // Keeps the observer of the server alive, because the server itself does not.
    upstream: Arc<Upstream>,
    client: Arc<OnceLock<UpstreamClient>>,
    caller: Option<Arc<dyn Caller>>,
}

impl UpstreamBackend {
    fn new(
        upstream: Arc<Upstream>,
        client: Arc<OnceLock<UpstreamClient>>,
        caller: Option<Arc<dyn Caller>>,
    ) -> Self {
        Self {
            upstream,
            client,
            caller,
        }
    }
}

impl ToolBackend for UpstreamBackend {
    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let server = self.upstream.server_for(&self.client, self.caller.as_ref());
            let backend = ServerBackend::new(server.await?, self.caller.clone());
            backend.call(call).await
        })
    }
}
