//! Handles the requests and notifications that a server sends.
//!
//! Design: [A question of a server is refused while several clients share the connection](https://github.com/planwright/planwright/blob/main/docs/design/transports.md#a-question-of-a-server-is-refused-while-several-clients-share-the-connection).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use planwright_core::{Object, ServerName, Value};
use rmcp::model::{
    ClientJsonRpcMessage, ClientResult, CustomResult, ErrorCode, ErrorData, RequestId,
};
use tokio::task::AbortHandle;

use super::caller::ListKind;
use super::envelope::canonical_id;
use super::error::UpstreamError;
use super::in_flight::{InFlight, RequestOwner, progress_of, request_of_token};
use super::open_session::ServerObserver;
use super::router::{RequestError, ResponseRouter, ServerMessageHandler};
use crate::object::{with, without};
use crate::transport::connection::WeakSender;
use crate::upstream::UnansweredQuestions;

/// The field of notifications that names their subscription.
const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

/// Routes server-initiated requests and notifications to the right client, or to the observer of the server.
///
/// Over pipes, messages of a server do not name the request that they relate to (except progress, which has a token). So while
/// requests of several clients are in flight on the connection, such requests are refused and such notifications dropped: a
/// client never sees a message that may belong to another.
#[derive(Debug)]
pub(crate) struct ServerRequestHandler {
    pub(crate) in_flight: InFlight,
    server: ServerName,
    unanswered: UnansweredQuestions,
    capabilities: Value,
    observer: Option<Weak<dyn ServerObserver>>,
    sender: OnceLock<WeakSender>,
    // The router with the subscription requests that the server may end, on stateless sessions.
    subscriptions: Option<Weak<ResponseRouter>>,
    // The tasks that answer pending requests of the server. Held for single accesses only.
    pending: Mutex<HashMap<RequestId, AbortHandle>>,
}

impl ServerRequestHandler {
    /// Creates a handler for a server that was connected to with these `capabilities`. Questions that cannot be answered are added to
    /// `unanswered`.
    pub(crate) fn new(
        server: ServerName,
        unanswered: UnansweredQuestions,
        capabilities: Value,
        observer: Option<Weak<dyn ServerObserver>>,
        subscriptions: Option<Weak<ResponseRouter>>,
    ) -> Self {
        Self {
            in_flight: InFlight::default(),
            server,
            unanswered,
            capabilities,
            observer,
            sender: OnceLock::new(),
            subscriptions,
            pending: Mutex::default(),
        }
    }

    /// Returns the capabilities that were declared to the server.
    pub(crate) fn capabilities(&self) -> &Value {
        &self.capabilities
    }

    pub(crate) fn set_sender(&self, sender: WeakSender) {
        // Each handler has one connection, so this is called once.
        let _ = self.sender.set(sender);
    }

    /// Returns true if the declared capabilities include requests of `method`.
    pub(crate) fn supports(&self, method: &str) -> bool {
        let capability = match method {
            "elicitation/create" => "elicitation",
            "sampling/createMessage" => "sampling",
            "roots/list" => "roots",
            _ => return false,
        };
        let declared = self.capabilities.get(capability);
        declared.is_some_and(|declared| !declared.is_null())
    }

    fn answer(&self, id: RequestId, answer: Result<Value, UpstreamError>) {
        self.pending().remove(&canonical_id(id.clone()));
        if let Some(sender) = self.sender.get() {
            sender.send(match answer {
                Ok(result) => {
                    let result = ClientResult::CustomResult(CustomResult::new(result.into()));
                    ClientJsonRpcMessage::response(result, id)
                }
                Err(error) => ClientJsonRpcMessage::error(error_data(error), Some(id)),
            });
        }
    }

    /// Handles a cancellation: of a pending request, or of a subscription on stateless sessions, in which servers send
    /// no requests.
    fn on_cancelled(&self, id: &RequestId) {
        match &self.subscriptions {
            None => {
                let ask = self.pending().remove(id);
                if let Some(ask) = ask {
                    ask.abort();
                }
            }
            Some(router) => {
                let reason = "the server ended it".to_owned();
                if let Some(router) = router.upgrade() {
                    router.fail(id, RequestError::Lost(Some(reason)));
                }
            }
        }
    }

    /// Returns the response to a request that no client can answer.
    fn default_response(&self, method: &str, params: &Value) -> Result<Value, UpstreamError> {
        match method {
            "elicitation/create" => Ok(self.cancel_elicitation(params)),
            "roots/list" => Ok(Value::object([("roots", Value::list([]))])),
            _ => Err(UpstreamError::new(UpstreamError::UNKNOWN_METHOD, method)),
        }
    }

    /// Returns the response to an elicitation that reached no person. It is not `decline`, because no person has declined.
    pub(crate) fn cancel_elicitation(&self, params: &Value) -> Value {
        tracing::warn!("a server asked a question that no client can answer, so it was cancelled");
        self.unanswered.add(&self.server, params);
        Value::object([("action", Value::from("cancel"))])
    }

    fn observer(&self) -> Option<Arc<dyn ServerObserver>> {
        self.observer.as_ref()?.upgrade()
    }

    fn forward(&self, method: &str, params: Value, related: Option<&RequestId>) {
        match self.in_flight.owner(related) {
            RequestOwner::Client(caller) => caller.notify(method, params),
            RequestOwner::NoClient => self.publish(method, params),
            // A guess could show one client what belongs to another, and the owner of an ended request no longer listens.
            RequestOwner::Ambiguous | RequestOwner::Ended => {}
        }
    }

    fn publish(&self, method: &str, params: Value) {
        if let Some(observer) = self.observer() {
            observer.on_notification(method, params);
        }
    }

    fn pending(&self) -> MutexGuard<'_, HashMap<RequestId, AbortHandle>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ServerMessageHandler for ServerRequestHandler {
    fn on_request(
        self: Arc<Self>,
        id: RequestId,
        method: &str,
        params: Value,
        related: Option<&RequestId>,
    ) {
        if method == "ping" {
            return self.answer(id, Ok(Value::empty_object()));
        }
        if !self.supports(method) {
            return self.answer(id, self.default_response(method, &params));
        }
        match self.in_flight.owner(related) {
            RequestOwner::NoClient | RequestOwner::Ended => {
                self.answer(id, self.default_response(method, &params));
            }
            RequestOwner::Ambiguous => {
                let message = format!(
                    "requests of several clients are in flight, so the client for `{method}` is unknown"
                );
                self.answer(
                    id,
                    Err(UpstreamError::new(UpstreamError::UNAVAILABLE, message)),
                );
            }
            RequestOwner::Client(caller) => {
                let answer = caller.ask(method, params);
                let pauses = self.in_flight.pause_clocks(related);
                let key = canonical_id(id.clone());
                // The lock is held until the task is in the table, because the task may finish and remove itself at
                // once.
                let mut pending = self.pending();
                let handler = Arc::clone(&self);
                let task = tokio::spawn(async move {
                    let answer = answer.await;
                    drop(pauses);
                    handler.answer(id, answer);
                });
                pending.insert(key, task.abort_handle());
            }
        }
    }

    fn on_notification(&self, method: &str, params: Value, related: Option<&RequestId>) {
        match method {
            // Each request has its own token, so progress always has one owner.
            "notifications/progress" => {
                let id = params.get("progressToken").and_then(request_of_token);
                if let Some(id) = id {
                    self.in_flight.report_progress(id, progress_of(&params));
                }
                if let Some((caller, token)) =
                    id.and_then(|id| self.in_flight.progress_listener(id))
                {
                    caller.notify(method, with(&params, "progressToken", token));
                }
            }
            "notifications/cancelled" => {
                if let Some(id) = params.get("requestId").and_then(request_id) {
                    self.on_cancelled(&id);
                }
            }
            "notifications/subscriptions/acknowledged" => {
                if let Some(observer) = self.observer() {
                    observer.on_subscribed();
                }
            }
            "notifications/resources/updated" => {
                self.publish(method, without_subscription(&params));
            }
            _ => match (ListKind::from_notification(method), self.observer()) {
                (Some(kind), Some(observer)) => observer.on_list_changed(kind),
                (Some(_), None) => {}
                (None, _) => self.forward(method, params, related),
            },
        }
    }

    fn on_close(&self) {
        // Their responses could not be sent any more.
        for (_, ask) in self.pending().drain() {
            ask.abort();
        }
        if let Some(observer) = self.observer() {
            observer.on_disconnected();
        }
    }
}

fn error_data(error: UpstreamError) -> ErrorData {
    let code = i32::try_from(error.code).map_or(ErrorCode::INTERNAL_ERROR, ErrorCode);
    ErrorData::new(code, error.message, error.data.map(Into::into))
}

fn request_id(id: &Value) -> Option<RequestId> {
    match id {
        Value::Number(number) => number.as_i64().map(RequestId::Number),
        Value::Text(text) => Some(canonical_id(RequestId::String(text.clone()))),
        _ => None,
    }
}

/// Removes the subscription id, which only the server and this client share.
fn without_subscription(params: &Value) -> Value {
    match params.get("_meta") {
        None => params.clone(),
        Some(meta) => match without(meta, &[SUBSCRIPTION_ID]) {
            meta if meta.as_object().is_some_and(Object::is_empty) => without(params, &["_meta"]),
            meta => with(params, "_meta", meta),
        },
    }
}
