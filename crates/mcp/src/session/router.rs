//! Routes responses to pending requests without `rmcp`'s models.
//!
//! `rmcp` parses a message by trying some twenty types on a buffered copy, and keeps only the content types of a tool
//! result that it knows. Results may be large and must arrive unchanged, and a gateway passes unknown fields through.
//! So this module parses messages once, directly into shared values. `rmcp` still performs the handshake and sends
//! messages; it receives an empty message in place of each routed one.
//!
//! Design: [Messages pass unchanged](https://github.com/planwright/planwright/blob/main/docs/design/transports.md#messages-pass-unchanged).

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use planwright_core::Value;
use rmcp::RoleClient;
use rmcp::model::{
    ClientRequest, CustomNotification, JsonRpcMessage, RequestId, ServerJsonRpcMessage,
    ServerNotification, ServerResult,
};
use rmcp::service::TxJsonRpcMessage;
use tokio::sync::oneshot;

use super::envelope::ResponseOutline;
use super::envelope::{self, Envelope, canonical_id};
use super::error::UpstreamError;
use super::message_text::{repair_text, truncate_message};

// Ids of the handshake that differ from those of other requests, which count up from 0.
pub(crate) const DISCOVER: RequestId = RequestId::Number(4_000_000_001);
pub(crate) const INITIALIZE: RequestId = RequestId::Number(4_000_000_002);

/// The pending requests, and the handler of server-initiated messages.
#[derive(Default)]
pub(crate) struct ResponseRouter {
    // Held for single accesses only, never across an await.
    state: Mutex<RouterState>,
    handler: OnceLock<Arc<dyn ServerMessageHandler>>,
}

#[derive(Default)]
struct RouterState {
    pending: HashMap<RequestId, oneshot::Sender<RequestOutcome>>,
    handshakes: HashMap<RequestId, Option<Value>>,
    is_closed: bool,
    /// The highest request number so far.
    last_number: i64,
}

impl RouterState {
    /// Returns the id of the pending request if there is exactly one.
    fn only_request(&self) -> Option<RequestId> {
        let mut ids = self.pending.keys();
        let first = ids.next()?;
        ids.next().is_none().then(|| first.clone())
    }
}

pub(crate) type RequestOutcome = Result<Value, RequestError>;

/// The reason why a request has no result.
#[derive(Debug)]
pub(crate) enum RequestError {
    /// The server has responded with an error.
    Refused(UpstreamError),
    /// The request did not reach the server, for this reason.
    #[cfg_attr(
        not(feature = "http"),
        expect(dead_code, reason = "a pipe cannot refuse a single message")
    )]
    Unsent(String),
    /// The request may have reached the server, but its response was lost. The reason is `None` if it is that of the
    /// whole connection.
    Lost(Option<String>),
    /// The response is unreadable, so the outcome is unknown.
    Unreadable(String),
}

/// A handler of server-initiated messages. It is called in the order of the messages and before later ones are routed,
/// so it must not block.
pub(crate) trait ServerMessageHandler: Send + Sync {
    /// Handles a request that relates to the request `related`, if that is known.
    fn on_request(
        self: Arc<Self>,
        id: RequestId,
        method: &str,
        params: Value,
        related: Option<&RequestId>,
    );

    /// Handles a notification that relates to the request `related`, if that is known.
    fn on_notification(&self, method: &str, params: Value, related: Option<&RequestId>);

    /// Handles the end of the connection.
    fn on_close(&self);
}

impl ResponseRouter {
    /// Sets the handler of server-initiated messages. Before that, `rmcp` gets them.
    pub(crate) fn set_handler(&self, handler: Arc<dyn ServerMessageHandler>) {
        // Each connection has one handler, so this is called once.
        let _ = self.handler.set(handler);
    }

    /// Registers the request `id` and returns the receiver of its outcome, which is closed without one when the
    /// connection closes.
    pub(crate) fn register(&self, id: RequestId) -> oneshot::Receiver<RequestOutcome> {
        let (sender, receiver) = oneshot::channel();
        let mut state = self.state();
        if let RequestId::Number(number) = id {
            state.last_number = state.last_number.max(number);
        }
        if !state.is_closed {
            state.pending.insert(id, sender);
        }
        receiver
    }

    /// Removes the request `id`, whose outcome is no longer needed.
    pub(crate) fn unregister(&self, id: &RequestId) {
        self.state().pending.remove(id);
    }

    pub(crate) fn fail(&self, id: &RequestId, error: RequestError) {
        let sender = self.state().pending.remove(id);
        if let Some(sender) = sender {
            // The caller may have stopped waiting.
            let _ = sender.send(Err(error));
        }
    }

    /// Requests a copy of the result of the handshake request `id`, which `rmcp` gets as well.
    fn capture_handshake(&self, id: RequestId) {
        self.state().handshakes.insert(id, None);
    }

    /// Takes the copy of that result.
    pub(crate) fn take_handshake(&self, id: &RequestId) -> Option<Value> {
        self.state().handshakes.remove(id)?
    }

    /// Closes the router and fails all pending requests.
    pub(crate) fn close(&self) {
        let mut state = self.state();
        state.is_closed = true;
        let unanswered = std::mem::take(&mut state.pending);
        drop(state);
        // Dropping the senders fails their requests.
        drop(unanswered);
        if let Some(handler) = self.handler.get() {
            handler.on_close();
        }
    }

    /// Records an outgoing handshake request. Must be called in the order of the messages.
    pub(crate) fn record_outgoing(&self, message: &TxJsonRpcMessage<RoleClient>) {
        if let JsonRpcMessage::Request(request) = message
            && let ClientRequest::DiscoverRequest(_) | ClientRequest::InitializeRequest(_) =
                request.request
        {
            self.capture_handshake(request.id.clone());
        }
    }

    /// Routes an incoming message and returns the message for `rmcp`, or `None` if it is not a message. A transport on
    /// which each request has its own response channel passes the `related` request.
    pub(crate) fn decode(
        &self,
        bytes: &[u8],
        related: Option<&RequestId>,
    ) -> Option<ServerJsonRpcMessage> {
        // Most messages are valid, so the repair runs only after a failure.
        self.decode_valid(bytes, related)
            .or_else(|| self.decode_valid(repair_text(bytes)?.as_bytes(), related))
            .or_else(|| {
                let failed = self.fail_unreadable(bytes, related);
                if failed.is_none() && !bytes.trim_ascii().is_empty() {
                    let stray = envelope::describe_stray(bytes, truncate_message);
                    tracing::warn!("a server {stray}");
                }
                failed.map(empty_response)
            })
    }

    fn decode_valid(
        &self,
        bytes: &[u8],
        related: Option<&RequestId>,
    ) -> Option<ServerJsonRpcMessage> {
        match self.route(envelope::read(bytes)?, related) {
            RouteResult::Routed(Some(id)) => Some(empty_response(id)),
            RouteResult::Routed(None) => Some(empty_notification()),
            // Its own response channel fails the related request, which got this response in place of its own.
            RouteResult::Unexpected(id) => related.map(|_| empty_response(id)),
            RouteResult::ForRmcp => serde_json::from_slice(bytes).ok(),
            RouteResult::Invalid => None,
        }
    }

    fn route(&self, message: Envelope, related: Option<&RequestId>) -> RouteResult {
        let Envelope {
            id,
            method,
            params,
            result,
            error,
        } = message;
        match (method, result, error) {
            (Some(method), _, _) => {
                let Some(handler) = self.handler.get() else {
                    // During the handshake, `rmcp` answers the server itself.
                    return RouteResult::ForRmcp;
                };
                let params = params.unwrap_or_default();
                match id {
                    Some(id) => Arc::clone(handler).on_request(id, &method, params, related),
                    None => handler.on_notification(&method, params, related),
                }
                RouteResult::Routed(None)
            }
            (None, Some(result), None) => self.answer(id, Ok(result)),
            (None, None, Some(error)) => self.answer(
                id,
                Err(RequestError::Refused(envelope::to_upstream_error(error))),
            ),
            // JSON-RPC 2.0 requires exactly one of `result` and `error` in a response.
            (None, Some(_), Some(_)) | (None, None, None) => RouteResult::Invalid,
        }
    }

    /// Fails the request that an unreadable message answers, and returns its id: the id in the message, else the
    /// request that the message arrived for, else the only pending request.
    fn fail_unreadable(&self, bytes: &[u8], related: Option<&RequestId>) -> Option<RequestId> {
        let outline = ResponseOutline::of(bytes);
        let mut state = self.state();
        let id = if outline.is_response_without_id() {
            match related {
                Some(id) => id.clone(),
                None => state.only_request()?,
            }
        } else {
            outline.id.clone().filter(|_| outline.is_response())?
        };
        let sender = state.pending.remove(&id)?;
        drop(state);
        // The caller may have stopped waiting.
        let _ = sender.send(Err(RequestError::Unreadable(envelope::unreadable_reason(
            bytes,
        ))));
        Some(id)
    }

    #[cfg(feature = "http")]
    pub(crate) fn is_pending(&self, id: &RequestId) -> bool {
        self.state().pending.contains_key(id)
    }

    fn answer(&self, id: Option<RequestId>, answer: RequestOutcome) -> RouteResult {
        let Some(id) = id.map(canonical_id) else {
            return match answer {
                Ok(_) if self.handler.get().is_some() => RouteResult::Invalid,
                _ => RouteResult::ForRmcp,
            };
        };
        let mut state = self.state();
        if let (Some(copy), Ok(result)) = (state.handshakes.get_mut(&id), &answer) {
            *copy = Some(result.clone());
        }
        match state.pending.remove(&id) {
            Some(sender) => {
                let _ = sender.send(answer);
                RouteResult::Routed(Some(id))
            }
            // Over HTTP, `rmcp` repeats the handshake by itself when the server has dropped the session.
            None if [DISCOVER, INITIALIZE].contains(&id) => RouteResult::ForRmcp,
            None if self.handler.get().is_some() => {
                // A number of the past is that of a cancelled request, whose response is late.
                match id {
                    RequestId::Number(number) if number <= state.last_number => {
                        RouteResult::Routed(Some(id))
                    }
                    id => RouteResult::Unexpected(id),
                }
            }
            None => RouteResult::ForRmcp,
        }
    }

    fn state(&self) -> MutexGuard<'_, RouterState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug, PartialEq)]
enum RouteResult {
    /// The message is routed; it was the response to this request.
    Routed(Option<RequestId>),
    /// The message is a response to this request, which was never sent.
    Unexpected(RequestId),
    ForRmcp,
    Invalid,
}

impl fmt::Debug for ResponseRouter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseRouter")
            .field("pending", &self.state().pending.len())
            .finish_non_exhaustive()
    }
}

/// Returns the placeholder of a routed response.
fn empty_response(id: RequestId) -> ServerJsonRpcMessage {
    JsonRpcMessage::response(ServerResult::empty(()), id)
}

/// Returns the placeholder of any other routed message.
fn empty_notification() -> ServerJsonRpcMessage {
    let nothing = CustomNotification::new("", None);
    JsonRpcMessage::notification(ServerNotification::CustomNotification(nothing))
}

#[cfg(test)]
mod tests;
