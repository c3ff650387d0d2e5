//! A server behind a gateway, whose state is published.

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use futures::future::{join, join_all};
use planwright_core::Value;
use planwright_engine::backend::ToolError;
use tokio::sync::{mpsc, watch};

use super::monitor::{MonitorEvent, SessionMonitor, SubscribedUris};
use super::server::{AbortOnDrop, Server};
use super::view::{UpstreamNotification, UpstreamState, ViewPublisher};
use crate::session::caller::{Caller, ListKind, UpstreamClient};
use crate::session::error::ServerStartError;
use crate::session::open_session::{ClientContext, ServerObserver, Session};

/// A server and its number in the published view.
#[derive(Debug)]
pub(crate) struct Upstream {
    pub(crate) server: Arc<Server>,
    pub(crate) subscribed: Arc<SubscribedUris>,
    publisher: Arc<ViewPublisher>,
    pub(crate) id: u64,
    /// The number of runs and requests that use the server.
    users: watch::Sender<usize>,
    variants: SessionVariants,
    // The monitor of the current session. Held for single accesses only.
    monitor: Mutex<Option<MonitorHandle>>,
}

struct MonitorHandle {
    events: mpsc::UnboundedSender<MonitorEvent>,
    _task: AbortOnDrop,
}

impl Upstream {
    pub(crate) fn new(server: Server, publisher: Arc<ViewPublisher>, id: u64) -> Self {
        Self {
            server: Arc::new(server),
            subscribed: Arc::default(),
            publisher,
            id,
            users: watch::Sender::new(0),
            variants: SessionVariants::default(),
            monitor: Mutex::default(),
        }
    }

    /// Returns the session, and starts the server for `client` if it is not running.
    pub(crate) async fn session(
        self: &Arc<Self>,
        client: &OnceLock<UpstreamClient>,
    ) -> Result<Arc<Session>, ToolError> {
        self.set_client(client.get());
        self.server.session().await
    }

    /// Returns the server in a session that suits `caller`. That is the main session, unless the server is remote, has
    /// several clients, and the main session would prevent it from sending `caller` the requests that `caller`
    /// supports.
    pub(crate) async fn server_for(
        self: &Arc<Self>,
        client: &OnceLock<UpstreamClient>,
        caller: Option<&Arc<dyn Caller>>,
    ) -> Result<Arc<Server>, ToolError> {
        let session = self.session(client).await?;
        let upstream_client = caller.and_then(|caller| caller.upstream_client());
        let has_variants = self.server.config.reach.has_sessions_per_client()
            && client.get().is_some_and(|client| client.shares_servers);
        let Some(upstream_client) = upstream_client.filter(|_| has_variants) else {
            return Ok(Arc::clone(&self.server));
        };
        let mut upstream_client = upstream_client.shared();
        let suits_main_session = if session.server_info.is_stateless {
            // Each request carries the capabilities of its client.
            !upstream_client.receives_requests || self.server.config.protocol.is_some()
        } else {
            // Such a server sends requests, no matter which revision the client speaks.
            upstream_client.receives_requests = true;
            *session.server_requests.capabilities() == upstream_client.capabilities
        };
        if suits_main_session {
            return Ok(Arc::clone(&self.server));
        }
        Ok(self.variants.of(self, upstream_client))
    }

    /// Stops the server in all its sessions.
    pub(crate) async fn stop(&self) {
        join(self.server.stop(), self.variants.stop()).await;
    }

    /// Stops the server once no run and no request uses it any more.
    pub(crate) async fn retire(self: Arc<Self>) {
        let mut users = self.users.subscribe();
        // The sender is in this object, so it outlives the wait.
        let _ = users.wait_for(|users| *users == 0).await;
        self.stop().await;
    }

    /// Starts the server in the background if it has never been started or has failed to.
    pub(crate) fn start(self: &Arc<Self>, client: &UpstreamClient) {
        self.set_client(Some(client));
        let view = self.publisher.view();
        let mut servers = view.servers.iter();
        let server = servers.find(|server| server.id == self.id);
        let needs_start = server.is_some_and(|server| {
            matches!(server.state, UpstreamState::Failed(_))
                || (matches!(server.state, UpstreamState::Idle) && !server.first_start_finished)
        });
        if needs_start {
            self.server.start_in_background();
        }
    }

    /// Sets the client that the server is started for. Only the first call has an effect.
    pub(crate) fn set_client(self: &Arc<Self>, client: Option<&UpstreamClient>) {
        let observer: Weak<Self> = Arc::downgrade(self);
        let mut client = client.cloned().unwrap_or_default();
        if client.shares_servers && self.server.config.reach.has_sessions_per_client() {
            // Clients of earlier revisions get separate sessions (see [`SessionVariants`]).
            client.receives_requests = false;
        }
        self.server.set_context(ClientContext {
            client,
            observer: Some(observer),
        });
    }

    fn send_event(&self, event: MonitorEvent) {
        let monitor = self.monitor.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(monitor) = &*monitor {
            // The monitor of a closed session needs no event.
            let _ = monitor.events.send(event);
        }
    }

    fn replace_monitor(&self, monitor: Option<MonitorHandle>) {
        let mut slot = self.monitor.lock().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut *slot, monitor);
        // Dropping the monitor may call this object again, so it must not happen under the lock.
        drop(slot);
        drop(before);
    }

    fn set_state(&self, state: UpstreamState) {
        self.publisher.update(self.id, |server, changes| {
            server.first_start_finished |= state.is_settled();
            server.state = state;
            changes.states += 1;
        });
    }
}

impl ServerObserver for Upstream {
    fn on_starting(&self) {
        // The old monitor holds the old session, and with it the process.
        self.replace_monitor(None);
        self.set_state(UpstreamState::Starting);
    }

    fn on_started(&self, session: &Arc<Session>) {
        let (events, received) = mpsc::unbounded_channel();
        let monitor = SessionMonitor {
            server: Arc::downgrade(&self.server),
            session: Arc::clone(session),
            publisher: Arc::clone(&self.publisher),
            id: self.id,
            subscribed: Arc::clone(&self.subscribed),
            events: events.clone(),
        };
        let task = tokio::spawn(monitor.run(received));
        let monitor = MonitorHandle {
            events,
            _task: AbortOnDrop(task.abort_handle()),
        };
        self.replace_monitor(Some(monitor));
    }

    fn on_failed(&self, error: &ServerStartError) {
        let failure = self.server.failure(error.clone());
        self.set_state(UpstreamState::Failed(failure));
    }

    fn on_disconnected(&self) {
        if self.server.running_session().is_some() {
            // An earlier session has ended.
            return;
        }
        self.send_event(MonitorEvent::Ended);
        self.publisher.update(self.id, |server, changes| {
            // If the server is not ready yet, the monitor handles the end while it waits for the lists.
            if matches!(server.state, UpstreamState::Ready) {
                server.state = UpstreamState::Idle;
                changes.states += 1;
            }
        });
    }

    fn on_list_changed(&self, kind: ListKind) {
        self.send_event(MonitorEvent::Changed(kind));
    }

    fn on_subscribed(&self) {
        self.send_event(MonitorEvent::Subscribed);
    }

    fn on_notification(&self, method: &str, params: Value) {
        self.publisher.notify(UpstreamNotification {
            server: self.server.config.name.clone(),
            method: Arc::from(method),
            params,
        });
    }
}

/// A server in use: if it is removed from the configuration, it is stopped only after the use.
#[derive(Debug)]
pub(crate) struct UsedUpstream(Arc<Upstream>);

impl UsedUpstream {
    pub(crate) fn new(upstream: Arc<Upstream>) -> Self {
        upstream.users.send_modify(|users| *users += 1);
        Self(upstream)
    }
}

impl std::ops::Deref for UsedUpstream {
    type Target = Arc<Upstream>;

    fn deref(&self) -> &Arc<Upstream> {
        &self.0
    }
}

impl Drop for UsedUpstream {
    fn drop(&mut self) {
        self.0.users.send_modify(|users| *users -= 1);
    }
}

impl fmt::Debug for MonitorHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MonitorHandle").finish_non_exhaustive()
    }
}

/// The additional sessions of one server. Their number is at most 50: [`UpstreamClient::shared`] leaves 25 sets of
/// capabilities, for each of the two ways to request input.
#[derive(Debug, Default)]
pub(crate) struct SessionVariants(Mutex<Vec<SessionVariant>>);

#[derive(Debug)]
struct SessionVariant {
    client: UpstreamClient,
    server: Arc<Server>,
    // Held here, because the server references its observer only weakly.
    _observer: Arc<VariantObserver>,
}

impl SessionVariants {
    /// Returns the server of `upstream` in a session for clients like `client`.
    pub(crate) fn of(&self, upstream: &Arc<Upstream>, client: UpstreamClient) -> Arc<Server> {
        let mut variants = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(variant) = variants.iter().find(|variant| variant.client == client) {
            return Arc::clone(&variant.server);
        }
        let main = &upstream.server;
        let server = Server::new((*main.config).clone(), Arc::clone(&main.options));
        let observer = Arc::new(VariantObserver(Arc::downgrade(upstream)));
        let weak_observer: Weak<VariantObserver> = Arc::downgrade(&observer);
        server.set_context(ClientContext {
            client: client.clone(),
            observer: Some(weak_observer),
        });
        let server = Arc::new(server);
        variants.push(SessionVariant {
            client,
            server: Arc::clone(&server),
            _observer: observer,
        });
        server
    }

    pub(crate) async fn stop(&self) {
        let servers: Vec<Arc<Server>> = {
            let variants = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let servers = variants.iter().map(|variant| &variant.server);
            servers.cloned().collect()
        };
        join_all(servers.iter().map(|server| server.stop())).await;
    }
}

/// Forwards list changes and unrelated notifications of an additional session to the observer of the server. The main session reports
/// the state of the server.
#[derive(Debug)]
struct VariantObserver(Weak<Upstream>);

impl ServerObserver for VariantObserver {
    fn on_list_changed(&self, kind: ListKind) {
        if let Some(upstream) = self.0.upgrade() {
            upstream.on_list_changed(kind);
        }
    }

    fn on_notification(&self, method: &str, params: Value) {
        if let Some(upstream) = self.0.upgrade() {
            upstream.on_notification(method, params);
        }
    }
}
