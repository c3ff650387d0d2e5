//! A server behind a gateway, whose state is published.

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use futures::future::join;
use planwright_core::Value;
use planwright_engine::backend::ToolError;
use tokio::sync::mpsc;

use super::abort::AbortOnDrop;
use super::board::{Board, UpstreamNotification};
use super::caller::Caller;
use super::followed::Followed;
use super::server::Server;
use super::session::{Session, StartError};
use super::tending::{Signal, Tending};
use super::upstream_client::UpstreamClient;
use super::variants::Variants;
use super::view::UpstreamState;
use super::watcher::{Counterpart, ListKind, Watcher};
use crate::config::Reach;

/// A server and its index in the published view.
#[derive(Debug)]
pub(super) struct Upstream {
    pub(super) server: Arc<Server>,
    pub(super) followed: Arc<Followed>,
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
    pub(super) fn new(server: Server, board: Arc<Board>, index: usize) -> Self {
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
    pub(super) async fn session(
        self: &Arc<Self>,
        client: &OnceLock<UpstreamClient>,
    ) -> Result<Arc<Session>, ToolError> {
        self.introduce(client.get());
        self.server.session().await
    }

    /// Returns the server in a session that suits `caller`. That is the main session, unless the server is remote, has
    /// several clients, and the main session would prevent it from sending `caller` the requests that `caller`
    /// supports.
    pub(super) async fn server_for(
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
    pub(super) async fn stop(&self) {
        join(self.server.stop(), self.variants.stop()).await;
    }

    /// Starts the server in the background if it has never been started or has failed to.
    pub(super) fn start(self: &Arc<Self>, client: &UpstreamClient) {
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
    pub(super) fn introduce(self: &Arc<Self>, client: Option<&UpstreamClient>) {
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
