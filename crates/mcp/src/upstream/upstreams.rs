//! The servers behind a gateway.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use futures::future::{BoxFuture, join_all};
use planwright_core::{ServerName, Value};
use planwright_engine::backend::{ToolCall, ToolError, ToolOutput};
use planwright_engine::{Backends, ToolBackend};
use tokio::sync::{broadcast, watch};
use tokio::time::Instant;

use super::entry::{Upstream, UsedUpstream};
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
    // Held for single accesses only, never across an await.
    servers: Mutex<CurrentServers>,
    options: Arc<ConnectOptions>,
    publisher: Arc<ViewPublisher>,
    client: Arc<OnceLock<UpstreamClient>>,
    started: OnceLock<Instant>,
}

#[derive(Debug, Default)]
struct CurrentServers {
    upstreams: Vec<Arc<Upstream>>,
    /// The removed servers that may still be in use.
    retired: Vec<Weak<Upstream>>,
    /// The problems of servers that cannot be started, with the numbers of these servers.
    unusable: Vec<(u64, ServerFailure)>,
    /// The values that messages must not contain, those of removed servers included.
    secrets: Vec<Arc<str>>,
    last_id: u64,
}

/// The differences between the servers of two configurations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerChanges {
    /// The new servers.
    pub added: Vec<ServerName>,
    /// The servers whose configuration is another.
    pub changed: Vec<ServerName>,
    /// The servers that are gone.
    pub removed: Vec<ServerName>,
}

impl ServerChanges {
    /// Returns true if there is no difference.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.changed.is_empty() && self.removed.is_empty()
    }
}

impl Upstreams {
    /// Creates the required servers of `config` without starting them.
    pub fn new(config: ServersConfig, mut options: ConnectOptions) -> Self {
        // A call that needs a failed server is worth an attempt, but not more often than this.
        options.restart_pause.get_or_insert(RESTART_PAUSE);
        let upstreams = Self {
            inner: Arc::new(UpstreamsInner {
                servers: Mutex::default(),
                options: Arc::new(options),
                publisher: Arc::new(ViewPublisher::new(Vec::new(), Vec::new())),
                client: Arc::default(),
                started: OnceLock::new(),
            }),
        };
        let (_, gone) = upstreams.configure(config);
        debug_assert!(gone.is_empty(), "there were no servers before");
        upstreams
    }

    /// Replaces the servers by those of `config`. Servers with the same configuration stay as they are. The others start at once, if the
    /// servers were started. A server that is gone or has changed ends after the runs and requests that use it.
    ///
    /// Needs a tokio runtime.
    pub fn replace(&self, config: ServersConfig) -> ServerChanges {
        let (changes, gone) = self.configure(config);
        for upstream in gone {
            tokio::spawn(upstream.retire());
        }
        if let (Some(_), Some(client)) = (self.inner.started.get(), self.inner.client.get()) {
            self.start_for(client);
        }
        changes
    }

    /// Returns the values that messages must not contain: those of all configurations so far.
    pub fn secrets(&self) -> Vec<Arc<str>> {
        self.servers().secrets.clone()
    }

    /// Sets the servers, and returns those that are gone.
    fn configure(&self, config: ServersConfig) -> (ServerChanges, Vec<Arc<Upstream>>) {
        let inner = &self.inner;
        let options = &inner.options;
        let names = config.names().cloned().collect::<Vec<_>>();
        let mut current = self.servers();
        let mut before = std::mem::take(&mut current.upstreams);
        let unusable_before = std::mem::take(&mut current.unusable);
        let mut changes = ServerChanges::default();
        let mut snapshots = Vec::new();
        for server in config.servers {
            if !options.needs(&server.name) {
                continue;
            }
            for secret in &server.secrets {
                if !current.secrets.contains(secret) {
                    current.secrets.push(Arc::clone(secret));
                }
            }
            let is_same = |known: &Arc<Upstream>| *known.server.config == server;
            let upstream = match before.iter().position(is_same) {
                Some(at) => before.remove(at),
                None => {
                    let name = server.name.clone();
                    let mut known = before.iter();
                    if known.any(|known| known.server.config.name == name) {
                        changes.changed.push(name);
                    } else {
                        changes.added.push(name);
                    }
                    current.last_id += 1;
                    let id = current.last_id;
                    let server = Server::new(server, Arc::clone(options));
                    Arc::new(Upstream::new(server, Arc::clone(&inner.publisher), id))
                }
            };
            let name = upstream.server.config.name.clone();
            snapshots.push(UpstreamServer::new(upstream.id, name, UpstreamState::Idle));
            current.upstreams.push(upstream);
        }
        for problem in &config.unusable {
            let failure = ServerFailure::unusable(problem);
            let Some(failure) = failure.filter(|failure| options.needs(&failure.server)) else {
                continue;
            };
            let known = unusable_before.iter().find(|(_, known)| *known == failure);
            if known.is_none() {
                let name = failure.server.clone();
                let mut names = unusable_before.iter().map(|(_, known)| &known.server);
                let mut running = before.iter().map(|known| &known.server.config.name);
                let had = names.any(|known| *known == name) || running.any(|known| *known == name);
                let list = if had {
                    &mut changes.changed
                } else {
                    &mut changes.added
                };
                // A server may have several problems.
                if !list.contains(&name) {
                    list.push(name);
                }
            }
            let id = known.map_or(current.last_id + 1, |(id, _)| *id);
            current.last_id = current.last_id.max(id);
            let state = UpstreamState::Failed(failure.clone());
            snapshots.push(UpstreamServer::new(id, failure.server.clone(), state));
            current.unusable.push((id, failure));
        }
        let is_gone = |name: &ServerName| !snapshots.iter().any(|server| server.name == *name);
        let gone = before.iter().map(|known| known.server.config.name.clone());
        let unusable = unusable_before.iter();
        let gone = gone.chain(unusable.map(|(_, known)| known.server.clone()));
        changes.removed.extend(gone.filter(is_gone));
        let absent = names.into_iter().filter(is_gone).collect();
        current.retired.retain(|server| server.strong_count() > 0);
        current.retired.extend(before.iter().map(Arc::downgrade));
        inner.publisher.replace(snapshots, absent);
        (changes, before)
    }

    fn servers(&self) -> MutexGuard<'_, CurrentServers> {
        let servers = self.inner.servers.lock();
        servers.unwrap_or_else(PoisonError::into_inner)
    }

    fn upstreams(&self) -> Vec<Arc<Upstream>> {
        self.servers().upstreams.clone()
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
        for upstream in self.upstreams() {
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
        for upstream in self.used_upstreams() {
            let name = upstream.server.config.name.clone();
            let backend: Arc<dyn ToolBackend> = Arc::new(UpstreamBackend::new(
                upstream,
                // Shared rather than copied: the client may become known only after the backends exist.
                Arc::clone(&self.inner.client),
                caller.clone(),
            ));
            backends.add(name, backend);
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
        ResourceSubscription::begin(&upstream, &session, Arc::from(uri)).await
    }

    /// Stops all servers and their descendants. Later requests fail.
    pub async fn shutdown(&self) {
        // Concurrently, because each server may use its whole grace period.
        let (mut upstreams, retired) = {
            let servers = self.servers();
            (servers.upstreams.clone(), servers.retired.clone())
        };
        upstreams.extend(retired.iter().filter_map(Weak::upgrade));
        join_all(upstreams.iter().map(|upstream| upstream.stop())).await;
    }

    // The uses are counted under the lock: a server that is replaced meanwhile has its user when `Upstream::retire` looks.
    fn used_upstreams(&self) -> Vec<UsedUpstream> {
        let servers = self.servers();
        let upstreams = servers.upstreams.iter();
        upstreams
            .map(|upstream| UsedUpstream::new(Arc::clone(upstream)))
            .collect()
    }

    fn upstream(&self, name: &str) -> Result<UsedUpstream, UpstreamError> {
        let mut upstreams = self.used_upstreams().into_iter();
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
    upstream: UsedUpstream,
    client: Arc<OnceLock<UpstreamClient>>,
    caller: Option<Arc<dyn Caller>>,
}

impl UpstreamBackend {
    fn new(
        upstream: UsedUpstream,
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
