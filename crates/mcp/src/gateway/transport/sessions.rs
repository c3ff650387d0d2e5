//! The HTTP sessions of revisions before 2026-07-28: their owners, their limits and usage, and the results that pass
//! through them.
//!
//! Design: [A session belongs to one client](https://github.com/planwright/planwright/blob/main/docs/design/access.md#a-session-belongs-to-one-client).

use std::collections::HashMap;
use std::future::ready;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::{Stream, StreamExt};
use http::request::Parts;
use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, CustomResult, Extensions, GetExtensions,
    JsonRpcMessage, RequestId, ServerJsonRpcMessage, ServerResult,
};
use rmcp::service::RequestContext;
use rmcp::transport::Transport;
use rmcp::transport::common::server_side_http::ServerSseMessage;
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError, SessionTransport,
};
use rmcp::transport::streamable_http_server::session::{SessionId, SessionManager};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::event_log::EventLog;
use crate::gateway::client::ClientId;
use crate::gateway::results::{ResultSlot, slot};

#[derive(Debug, Default)]
pub(super) struct GatewaySessions {
    local: LocalSessionManager,
    log: EventLog,
    owners: Mutex<HashMap<SessionId, ClientId>>,
    ends: Mutex<HashMap<SessionId, SessionEnd>>,
    clients: Mutex<HashMap<ClientId, ClientEnd>>,
    usage: SessionUsage,
}

impl GatewaySessions {
    /// Returns true unless another client has opened this session.
    pub(super) fn is_accessible_to(&self, session: &str, client: &ClientId) -> bool {
        let owners = self.owners();
        owners.get(session).is_none_or(|owner| owner == client)
    }

    /// Reserves one more session of `client`. At the limit of the client, its longest idle session ends; at the limit of all
    /// clients, the longest idle session of all. Returns `None` if none of them is idle.
    pub(super) async fn reserve_session(&self, client: &ClientId) -> Option<OpeningGuard> {
        // Cloned, because the lock must not be held while a session is closed.
        let owned = self.owners().clone();
        let (opening, idle) = self.usage.open(client, &owned)?;
        if let Some(idle) = idle {
            tracing::debug!(%client, "an idle session ends, since there are too many");
            if let Err(error) = self.close_session(&idle).await {
                tracing::debug!(%error, "an idle session had ended by itself");
            }
        }
        Some(opening)
    }

    /// Marks a session as used by a request until the guard is dropped.
    pub(super) fn track_request(&self, session: &str, request: SessionRequest) -> RequestGuard {
        self.usage.begin(session.into(), request)
    }

    /// Stores the owner of a session until it is closed.
    pub(super) async fn set_owner(&self, session: SessionId, client: ClientId) {
        if self.has_session(&session).await.unwrap_or_default() {
            // Creates the usage entry, so that the session counts as used from its start.
            drop(self.usage.begin(session.clone(), SessionRequest::Call));
            self.owners().insert(session, client);
        }
    }

    /// Returns the signal for the end of a client's access, which all its requests carry.
    pub(super) fn client_end(&self, client: &ClientId) -> ClientEnd {
        let mut clients = lock(&self.clients);
        match clients.get(client) {
            Some(end) if !end.is_signalled() => end.clone(),
            // A client that has access again gets a new signal.
            _ => {
                let end = ClientEnd::default();
                clients.insert(client.clone(), end.clone());
                end
            }
        }
    }

    pub(super) async fn end_client(&self, client: &ClientId) {
        if let Some(end) = lock(&self.clients).remove(client) {
            end.signal();
        }
        let owned: Vec<SessionId> = lock(&self.owners)
            .iter()
            .filter(|(_, owner)| *owner == client)
            .map(|(session, _)| session.clone())
            .collect();
        for session in owned {
            if let Err(error) = self.close_session(&session).await {
                tracing::warn!(%error, "a session of a client that was shut out was not closed");
            }
        }
    }

    fn owners(&self) -> MutexGuard<'_, HashMap<SessionId, ClientId>> {
        lock(&self.owners)
    }
}

impl SessionManager for GatewaySessions {
    type Error = LocalSessionManagerError;
    type Transport = RawSessionTransport;

    async fn create_session(&self) -> Result<(SessionId, RawSessionTransport), Self::Error> {
        let (id, transport) = self.local.create_session().await?;
        // Registered before the client learns the id, so that a session that is deleted at once ends its calls, too.
        let end = SessionEnd::default();
        lock(&self.ends).insert(id.clone(), end.clone());
        self.log.open_session(id.clone());
        let transport = RawSessionTransport {
            transport,
            slots: HashMap::new(),
            end,
        };
        Ok((id, transport))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Self::Error> {
        self.local.initialize_session(id, message).await
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        self.local.has_session(id).await
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        // The signal comes first, so that no call of the session starts another step while the session is being closed.
        if let Some(end) = lock(&self.ends).remove(id) {
            end.signal();
        }
        let closed = self.local.close_session(id).await;
        self.log.close_session(id);
        self.owners().remove(id);
        self.usage.remove(id);
        closed
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let events = self.local.create_stream(id, message).await?;
        Ok(self.log.record(id, events).await)
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), Self::Error> {
        self.local.accept_message(id, message).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.local.create_standalone_stream(id).await
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        // `rmcp` drops the events of a request's stream when it sends the response.
        if let Some(events) = self.log.resume(id, &last_event_id) {
            return Ok(events.left_stream());
        }
        let events = self.local.resume(id, last_event_id.clone()).await?;
        // `rmcp` sends the last event again. The id `0` belongs to the first event, and to the hint to reconnect before it.
        let events = events.skip_while(move |event| {
            let is_known = event.event_id.as_ref() == Some(&last_event_id);
            ready(is_known && last_event_id != "0")
        });
        Ok(events.right_stream())
    }
}

/// The transport of a session, whose results bypass the types of `rmcp`. The results are replaced here, before the messages
/// become events, so that a client that resumes a stream gets the same.
pub(super) struct RawSessionTransport {
    transport: SessionTransport,
    slots: HashMap<RequestId, ResultSlot>,
    end: SessionEnd,
}

impl Transport<RoleServer> for RawSessionTransport {
    type Error = <SessionTransport as Transport<RoleServer>>::Error;

    fn send(
        &mut self,
        mut message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        match &mut message {
            JsonRpcMessage::Response(response) => {
                let slot = self.slots.remove(&response.id);
                if let Some(raw) = slot.and_then(|slot| slot.take()) {
                    response.result = ServerResult::CustomResult(CustomResult::new(raw.into()));
                }
            }
            JsonRpcMessage::Error(error) => {
                let id = error.id.as_ref();
                id.and_then(|id| self.slots.remove(id));
            }
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => {}
        }
        self.transport.send(message)
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        let Some(mut message) = self.transport.receive().await else {
            self.end.signal();
            return None;
        };
        match &mut message {
            JsonRpcMessage::Request(request) => {
                self.end.attach(request.request.extensions_mut());
                if let Some(slot) = slot(request.request.extensions()) {
                    self.slots.insert(request.id.clone(), slot.clone());
                }
            }
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) =
                    &notification.notification
                {
                    // A cancelled request gets no response.
                    let id = cancelled.params.request_id.as_ref();
                    id.and_then(|id| self.slots.remove(id));
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
        Some(message)
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.transport.close().await
    }
}

/// The end of a stream or session. Each of its requests carries the signal, so that calls end with it at once: `rmcp`
/// itself lets handlers run for some seconds.
#[derive(Clone, Debug, Default)]
pub(super) struct SessionEnd(CancellationToken);

impl SessionEnd {
    pub(super) fn signal(&self) {
        self.0.cancel();
    }

    pub(super) fn attach(&self, extensions: &mut Extensions) {
        extensions.insert(self.clone());
    }
}

/// The end of a client's access. Each of its HTTP requests carries the signal.
#[derive(Clone, Debug, Default)]
pub(super) struct ClientEnd(CancellationToken);

impl ClientEnd {
    pub(super) fn signal(&self) {
        self.0.cancel();
    }

    fn is_signalled(&self) -> bool {
        self.0.is_cancelled()
    }
}

/// Waits for the end of the request's session, stream or client. Never completes for a request without signals.
pub(crate) async fn wait_for_end(context: &RequestContext<RoleServer>) {
    let session = context.extensions.get::<SessionEnd>();
    let parts = context.extensions.get::<Parts>();
    let client = parts.and_then(|parts| parts.extensions.get::<ClientEnd>());
    match (session, client) {
        (None, None) => std::future::pending().await,
        (Some(session), None) => session.0.cancelled().await,
        (None, Some(client)) => client.0.cancelled().await,
        (Some(session), Some(client)) => {
            tokio::select! {
                () = session.0.cancelled() => {}
                () = client.0.cancelled() => {}
            }
        }
    }
}

/// The maximum number of sessions of one client. A program opens one for each conversation.
const MAX_SESSIONS_PER_CLIENT: usize = 256;

/// The maximum number of sessions of all clients. A session takes about 140 KB.
const MAX_SESSIONS: usize = 1024;

/// The usage of all sessions. Clones share the state.
#[derive(Clone, Debug, Default)]
pub(super) struct SessionUsage(Arc<Mutex<UsageState>>);

#[derive(Debug, Default)]
struct UsageState {
    sessions: HashMap<SessionId, SessionUse>,
    /// The number of sessions that are being opened.
    opening: HashMap<ClientId, usize>,
}

#[derive(Debug)]
struct SessionUse {
    last: Instant,
    calls: usize,
    streams: usize,
}

/// The kind of a request of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SessionRequest {
    /// A request with a response.
    Call,
    /// An open stream of notifications.
    Stream,
}

/// A guard of a request in flight.
#[derive(Debug)]
pub(super) struct RequestGuard {
    usage: SessionUsage,
    session: SessionId,
    request: SessionRequest,
}

/// A guard of a session that is being opened.
#[derive(Debug)]
pub(super) struct OpeningGuard {
    usage: SessionUsage,
    client: ClientId,
}

impl SessionUsage {
    /// Reserves a session of `client`, and returns the session that must end for it, if any. `owners` are the existing
    /// sessions. Returns `None` if the limit is reached and no session is idle.
    pub(super) fn open(
        &self,
        client: &ClientId,
        owners: &HashMap<SessionId, ClientId>,
    ) -> Option<(OpeningGuard, Option<SessionId>)> {
        let mut state = self.lock();
        let of_client = owners.values().filter(|owner| *owner == client).count();
        let opening = state.opening.get(client).copied().unwrap_or_default();
        let all_opening: usize = state.opening.values().sum();
        let is_full_for_client = of_client + opening >= MAX_SESSIONS_PER_CLIENT;
        // A client at its limit loses one of its own sessions, never one of another client.
        let idle = if is_full_for_client {
            Some(state.longest_idle(owners.iter().filter(|(_, owner)| *owner == client))?)
        } else if owners.len() + all_opening >= MAX_SESSIONS {
            Some(state.longest_idle(owners.iter())?)
        } else {
            None
        };
        *state.opening.entry(client.clone()).or_default() += 1;
        drop(state);
        let opening = OpeningGuard {
            usage: self.clone(),
            client: client.clone(),
        };
        Some((opening, idle))
    }

    /// Marks a session as used by a request.
    pub(super) fn begin(&self, session: SessionId, request: SessionRequest) -> RequestGuard {
        self.lock().change(&session, request, |count| count + 1);
        RequestGuard {
            usage: self.clone(),
            session,
            request,
        }
    }

    /// Removes a session that has ended.
    fn remove(&self, session: &SessionId) {
        self.lock().sessions.remove(session);
    }

    fn lock(&self) -> MutexGuard<'_, UsageState> {
        // No code that may panic runs while the lock is held.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl UsageState {
    /// Returns the session that was idle longest, preferring sessions without an open stream.
    fn longest_idle<'a>(
        &self,
        sessions: impl Iterator<Item = (&'a SessionId, &'a ClientId)>,
    ) -> Option<SessionId> {
        let used = sessions.map(|(session, _)| (session, self.sessions.get(session)));
        // A session with a request in flight never ends.
        let idle = used.filter(|(_, used)| used.is_none_or(|used| used.calls == 0));
        let oldest = idle.min_by_key(|(_, used)| used.map(|used| (used.streams > 0, used.last)));
        oldest.map(|(session, _)| session.clone())
    }

    fn change(
        &mut self,
        session: &SessionId,
        request: SessionRequest,
        change: impl Fn(usize) -> usize,
    ) {
        let used = self.sessions.entry(session.clone()).or_insert(SessionUse {
            last: Instant::now(),
            calls: 0,
            streams: 0,
        });
        used.last = Instant::now();
        let count = match request {
            SessionRequest::Call => &mut used.calls,
            SessionRequest::Stream => &mut used.streams,
        };
        *count = change(*count);
    }
}

impl Drop for RequestGuard {
    fn drop(&mut self) {
        let mut state = self.usage.lock();
        // The session may have ended meanwhile.
        if state.sessions.contains_key(&self.session) {
            state.change(&self.session, self.request, |count| count.saturating_sub(1));
        }
    }
}

impl Drop for OpeningGuard {
    fn drop(&mut self) {
        let mut state = self.usage.lock();
        if let Some(count) = state.opening.get_mut(&self.client) {
            *count -= 1;
            if *count == 0 {
                state.opening.remove(&self.client);
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No code that may panic runs while a lock is held.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
