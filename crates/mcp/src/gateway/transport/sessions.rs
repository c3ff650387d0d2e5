//! The HTTP sessions of revisions before 2026-07-28: their owners, their limits, and the results that pass through
//! them.
//!
//! Design: [A session belongs to one client](https://github.com/planwright/planwright/blob/main/docs/design/access.md#a-session-belongs-to-one-client).

use std::collections::HashMap;
use std::future::ready;
use std::sync::{Mutex, MutexGuard, PoisonError};

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
use tokio_util::sync::CancellationToken;

use super::event_log::EventLog;
use super::usage::{OpeningGuard, RequestGuard, SessionRequest, SessionUsage};
use crate::gateway::call::results::{ResultSlot, slot};
use crate::gateway::client::ClientId;

#[derive(Debug, Default)]
pub(super) struct Sessions {
    local: LocalSessionManager,
    log: EventLog,
    owners: Mutex<HashMap<SessionId, ClientId>>,
    ends: Mutex<HashMap<SessionId, SessionEnd>>,
    clients: Mutex<HashMap<ClientId, ClientEnd>>,
    usage: SessionUsage,
}

impl Sessions {
    /// Returns true unless another client has opened this session.
    pub(super) fn is_accessible_to(&self, session: &str, client: &ClientId) -> bool {
        let owners = self.owners();
        owners.get(session).is_none_or(|owner| owner == client)
    }

    /// Reserves one more session of `client`. At the limit, the session that was idle longest ends: one of the client,
    /// if the client has too many, or else of all. Returns `None` if none of them is idle.
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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No code that may panic runs while a lock is held.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SessionManager for Sessions {
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
        self.usage.forget(id);
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
                if let ClientNotification::CancelledNotification(given_up) =
                    &notification.notification
                {
                    // A cancelled request gets no response.
                    let id = given_up.params.request_id.as_ref();
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

    pub(super) fn is_signalled(&self) -> bool {
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

#[cfg(test)]
mod tests {
    use futures::{FutureExt, Stream, StreamExt};
    use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
    use rmcp::transport::Transport;
    use rmcp::transport::common::server_side_http::ServerSseMessage;
    use rmcp::transport::streamable_http_server::session::{SessionId, SessionManager};
    use serde_json::{Value, json};

    use super::{RawSessionTransport, Sessions};

    async fn session() -> (Sessions, SessionId, RawSessionTransport) {
        let sessions = Sessions::default();
        let (id, mut transport) = sessions.create_session().await.unwrap();
        let opening = client_message(json!({"id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        }}));
        let response = json!({"id": 0, "result": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "serverInfo": {"name": "test", "version": "1"},
        }});
        let (opened, ()) = tokio::join!(sessions.initialize_session(&id, opening), async {
            transport.receive().await.unwrap();
            send(&mut transport, response).await;
        });
        opened.unwrap();
        (sessions, id, transport)
    }

    fn client_message(mut message: Value) -> ClientJsonRpcMessage {
        message["jsonrpc"] = "2.0".into();
        serde_json::from_value(message).unwrap()
    }

    /// Sends a message of the server, and waits until it has become an event.
    async fn send(transport: &mut RawSessionTransport, mut message: Value) {
        message["jsonrpc"] = "2.0".into();
        let message: ServerJsonRpcMessage = serde_json::from_value(message).unwrap();
        transport.send(message).await.unwrap();
    }

    fn call() -> ClientJsonRpcMessage {
        client_message(json!({"id": 7, "method": "tools/call", "params": {
            "name": "wait", "_meta": {"progressToken": "p"},
        }}))
    }

    fn progress() -> Value {
        let params = json!({"progressToken": "p", "progress": 1});
        json!({"method": "notifications/progress", "params": params})
    }

    async fn ids(events: impl Stream<Item = ServerSseMessage>) -> Vec<String> {
        events.map(|event| event.event_id.unwrap()).collect().await
    }

    #[tokio::test]
    async fn streams_of_requests_are_read_after_their_end() {
        let (sessions, id, mut transport) = session().await;
        for resumed_before in [false, true] {
            let events = sessions.create_stream(&id, call()).await.unwrap();
            transport.receive().await.unwrap();
            let mut events = Box::pin(events);
            let first = events.next().await.unwrap().event_id.unwrap();
            let (_, stream) = first.split_once('/').unwrap();
            let mut broken = None;
            if resumed_before {
                broken = Some(sessions.resume(&id, first.clone()).await.unwrap());
                assert!(events.next().await.is_none());
            }
            drop((events, broken));
            send(&mut transport, progress()).await;
            send(&mut transport, json!({"id": 7, "result": {}})).await;
            for (last, expected) in [(0, vec![1, 2]), (1, vec![2]), (2, vec![])] {
                let resumed = sessions.resume(&id, format!("{last}/{stream}"));
                let expected: Vec<_> = expected
                    .iter()
                    .map(|index| format!("{index}/{stream}"))
                    .collect();
                assert_eq!(ids(resumed.await.unwrap()).await, expected);
            }
        }
    }

    #[tokio::test]
    async fn a_resumed_listening_stream_does_not_repeat_events() {
        let (sessions, id, mut transport) = session().await;
        let changed = || json!({"method": "notifications/tools/list_changed"});
        let events = sessions.create_standalone_stream(&id).await.unwrap();
        send(&mut transport, changed()).await;
        send(&mut transport, changed()).await;
        assert_eq!(ids(events.take(2)).await, ["0", "1"]);
        for (last, expected) in [("0", vec!["0", "1"]), ("1", vec![])] {
            let events = sessions.resume(&id, last.to_owned()).await.unwrap();
            let ready = ids(events.take(expected.len() + 1)).now_or_never();
            assert!(ready.is_none());
            let events = sessions.resume(&id, last.to_owned()).await.unwrap();
            assert_eq!(ids(events.take(expected.len())).await, expected);
        }
        let mut events = Box::pin(sessions.resume(&id, "1".to_owned()).await.unwrap());
        send(&mut transport, changed()).await;
        assert_eq!(events.next().await.unwrap().event_id.unwrap(), "2");
    }
}
