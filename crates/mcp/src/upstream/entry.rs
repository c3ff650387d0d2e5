//! A server behind a gateway, whose state is published.

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use futures::future::{join, join_all};
use planwright_core::Value;
use planwright_engine::backend::ToolError;
use tokio::sync::mpsc;

use super::monitor::{Signal, Tending};
use super::server::{AbortOnDrop, Server};
use super::subscriptions::Followed;
use super::view::{Board, UpstreamNotification, UpstreamState};
use crate::config::Reach;
use crate::session::caller::{Caller, UpstreamClient};
use crate::session::lifecycle::{Session, StartError};
use crate::session::observer::{Counterpart, ListKind, Watcher};

/// A server and its index in the published view.
#[derive(Debug)]
pub(crate) struct Upstream {
    pub(crate) server: Arc<Server>,
    pub(crate) followed: Arc<Followed>,
    board: Arc<Board>,
    index: usize,
    variants: Variants,
    // The monitor of the current session. Held for single accesses only.
    tended: Mutex<Option<Tended>>,
}

struct Tended {
    signals: mpsc::UnboundedSender<Signal>,
    _task: AbortOnDrop,
}

impl Upstream {
    pub(crate) fn new(server: Server, board: Arc<Board>, index: usize) -> Self {
        Self {
            server: Arc::new(server),
            followed: Arc::default(),
            board,
            index,
            variants: Variants::default(),
            tended: Mutex::default(),
        }
    }

    /// Returns the session, and starts the server for `client` if it is not running.
    pub(crate) async fn session(
        self: &Arc<Self>,
        client: &OnceLock<UpstreamClient>,
    ) -> Result<Arc<Session>, ToolError> {
        self.introduce(client.get());
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
        let asked = caller.and_then(|caller| caller.abilities());
        let is_open = matches!(self.server.config.reach, Reach::Http(_))
            && client.get().is_some_and(|client| client.is_one_of_many);
        let Some(asked) = asked.filter(|_| is_open) else {
            return Ok(Arc::clone(&self.server));
        };
        let mut asked = asked.shared();
        let is_served = if session.greeting.is_stateless {
            // Each request carries the capabilities of its client.
            !asked.is_asked_by_requests || self.server.config.protocol.is_some()
        } else {
            // Such a server sends requests, whichever revision the client speaks.
            asked.is_asked_by_requests = true;
            *session.desk.capabilities() == asked.capabilities
        };
        if is_served {
            return Ok(Arc::clone(&self.server));
        }
        Ok(self.variants.of(self, asked))
    }

    /// Stops the server in all its sessions.
    pub(crate) async fn stop(&self) {
        join(self.server.stop(), self.variants.stop()).await;
    }

    /// Starts the server in the background if it has never been started or has failed to.
    pub(crate) fn start(self: &Arc<Self>, client: &UpstreamClient) {
        self.introduce(Some(client));
        let view = self.board.view();
        let is_to_start = view.servers.get(self.index).is_some_and(|server| {
            matches!(server.state, UpstreamState::Failed(_))
                || (matches!(server.state, UpstreamState::Idle) && !server.was_tried)
        });
        if is_to_start {
            self.server.wake();
        }
    }

    /// Sets the client that the server is started for. Only the first call has an effect.
    pub(crate) fn introduce(self: &Arc<Self>, client: Option<&UpstreamClient>) {
        let watcher: Weak<Self> = Arc::downgrade(self);
        let mut client = client.cloned().unwrap_or_default();
        if client.is_one_of_many && matches!(self.server.config.reach, Reach::Http(_)) {
            // Clients of earlier revisions get sessions of their own (see [`SessionVariants`]).
            client.is_asked_by_requests = false;
        }
        self.server.introduce(Counterpart {
            client,
            watcher: Some(watcher),
        });
    }

    fn signal(&self, signal: Signal) {
        let tended = self.tended.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tended) = &*tended {
            // The monitor of a closed session needs no signal.
            let _ = tended.signals.send(signal);
        }
    }

    fn replace_tended(&self, tended: Option<Tended>) {
        let mut slot = self.tended.lock().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut *slot, tended);
        // Dropping the monitor may call this object again, so it must not happen under the lock.
        drop(slot);
        drop(before);
    }

    fn become_of(&self, state: UpstreamState) {
        self.board.change(self.index, |server, changes| {
            server.was_tried |= state.is_settled();
            server.state = state;
            changes.states += 1;
        });
    }
}

impl Watcher for Upstream {
    fn starting(&self) {
        // The old monitor holds the old session, and with it the process.
        self.replace_tended(None);
        self.become_of(UpstreamState::Starting);
    }

    fn started(&self, session: &Arc<Session>) {
        let (signals, received) = mpsc::unbounded_channel();
        let tending = Tending {
            server: Arc::downgrade(&self.server),
            session: Arc::clone(session),
            board: Arc::clone(&self.board),
            index: self.index,
            followed: Arc::clone(&self.followed),
            signals: signals.clone(),
        };
        let task = tokio::spawn(tending.run(received));
        let tended = Tended {
            signals,
            _task: AbortOnDrop(task.abort_handle()),
        };
        self.replace_tended(Some(tended));
    }

    fn failed(&self, error: &StartError) {
        let failure = self.server.failure(error.clone());
        self.become_of(UpstreamState::Failed(failure));
    }

    fn ended(&self) {
        if self.server.running().is_some() {
            // An earlier session has ended.
            return;
        }
        self.signal(Signal::Ended);
        self.board.change(self.index, |server, changes| {
            // If the server is not ready yet, the monitor handles the end while it waits for the lists.
            if matches!(server.state, UpstreamState::Ready) {
                server.state = UpstreamState::Idle;
                changes.states += 1;
            }
        });
    }

    fn list_changed(&self, kind: ListKind) {
        self.signal(Signal::Changed(kind));
    }

    fn subscribed(&self) {
        self.signal(Signal::Subscribed);
    }

    fn told(&self, method: &str, params: Value) {
        self.board.notify(UpstreamNotification {
            server: Arc::clone(&self.server.config.name),
            method: Arc::from(method),
            params,
        });
    }
}

impl fmt::Debug for Tended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tended").finish_non_exhaustive()
    }
}

/// The additional sessions of one server. Their number is at most 50: [`UpstreamClient::shared`] leaves 25 sets of
/// capabilities, for each of the two ways to request input.
#[derive(Debug, Default)]
pub(crate) struct Variants(Mutex<Vec<Variant>>);

#[derive(Debug)]
struct Variant {
    client: UpstreamClient,
    server: Arc<Server>,
    // Held here, because the server references its observer only weakly.
    _relay: Arc<Relay>,
}

impl Variants {
    /// Returns the server of `upstream` in a session for clients like `client`.
    pub(crate) fn of(&self, upstream: &Arc<Upstream>, client: UpstreamClient) -> Arc<Server> {
        let mut variants = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(variant) = variants.iter().find(|variant| variant.client == client) {
            return Arc::clone(&variant.server);
        }
        let main = &upstream.server;
        let server = Server::new((*main.config).clone(), Arc::clone(&main.options));
        let relay = Arc::new(Relay(Arc::downgrade(upstream)));
        let watcher: Weak<Relay> = Arc::downgrade(&relay);
        server.introduce(Counterpart {
            client: client.clone(),
            watcher: Some(watcher),
        });
        let server = Arc::new(server);
        variants.push(Variant {
            client,
            server: Arc::clone(&server),
            _relay: relay,
        });
        server
    }

    /// Stops all these sessions.
    pub(crate) async fn stop(&self) {
        let servers: Vec<Arc<Server>> = {
            let variants = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let servers = variants.iter().map(|variant| &variant.server);
            servers.cloned().collect()
        };
        join_all(servers.iter().map(|server| server.stop())).await;
    }
}

/// Forwards list changes and unrelated notifications of an additional session to the observer of the server.
#[derive(Debug)]
struct Relay(Weak<Upstream>);

impl Watcher for Relay {
    // The main session reports the state of the server.
    fn starting(&self) {}

    fn started(&self, _: &Arc<Session>) {}

    fn failed(&self, _: &StartError) {}

    fn ended(&self) {}

    fn subscribed(&self) {}

    fn list_changed(&self, kind: ListKind) {
        if let Some(upstream) = self.0.upgrade() {
            upstream.list_changed(kind);
        }
    }

    fn told(&self, method: &str, params: Value) {
        if let Some(upstream) = self.0.upgrade() {
            upstream.told(method, params);
        }
    }
}
