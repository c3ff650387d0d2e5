//! One server behind a gateway: what becomes of it is written on the board.

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use planwright_core::Value;
use planwright_engine::backend::ToolError;
use tokio::sync::mpsc;

use super::abort::AbortOnDrop;
use super::board::{Board, UpstreamNotification};
use super::followed::Followed;
use super::server::Server;
use super::session::{Session, StartError};
use super::tending::{Signal, Tending};
use super::view::UpstreamState;
use super::watcher::{Counterpart, ListKind, Watcher};

/// A server and its place on the board.
#[derive(Debug)]
pub(super) struct Upstream {
    pub(super) server: Arc<Server>,
    pub(super) followed: Arc<Followed>,
    board: Arc<Board>,
    index: usize,
    // What follows the session that runs. A plain mutex: it is held for one look-up.
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
            tended: Mutex::default(),
        }
    }

    /// The running server, which is started if it does not run; it is told that its clients have `capabilities`.
    pub(super) async fn session(
        self: &Arc<Self>,
        capabilities: &OnceLock<Value>,
    ) -> Result<Arc<Session>, ToolError> {
        self.introduce(capabilities.get());
        self.server.session().await
    }

    /// Starts the server if it was not started before, or could not be.
    pub(super) fn start(self: &Arc<Self>, capabilities: &Value) {
        self.introduce(Some(capabilities));
        let view = self.board.view();
        let is_to_start = view.servers.get(self.index).is_some_and(|server| {
            matches!(server.state, UpstreamState::Failed(_))
                || (matches!(server.state, UpstreamState::Idle) && !server.was_tried)
        });
        if is_to_start {
            self.server.wake();
        }
    }

    /// Says on whose behalf it will be started. The first word counts.
    pub(super) fn introduce(self: &Arc<Self>, capabilities: Option<&Value>) {
        let watcher: Weak<Self> = Arc::downgrade(self);
        self.server.introduce(Counterpart {
            capabilities: capabilities.cloned().unwrap_or_default(),
            watcher: Some(watcher),
        });
    }

    fn signal(&self, signal: Signal) {
        let tended = self.tended.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tended) = &*tended {
            // Whoever follows a session that is gone needs no signal.
            let _ = tended.signals.send(signal);
        }
    }

    fn replace_tended(&self, tended: Option<Tended>) {
        let mut slot = self.tended.lock().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut *slot, tended);
        // What that ends may come back here.
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
        // What follows the session before keeps it, and with it the process.
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
            // It was an earlier session.
            return;
        }
        self.signal(Signal::Ended);
        self.board.change(self.index, |server, changes| {
            // One that did not get so far is dealt with by whoever waits for its lists.
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
