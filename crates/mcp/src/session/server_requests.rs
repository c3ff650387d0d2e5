//! Handles the requests and notifications that a server sends.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use planwright_core::{Object, Value};
use rmcp::model::{
    ClientJsonRpcMessage, ClientResult, CustomResult, ErrorCode, ErrorData, RequestId,
};
use tokio::task::AbortHandle;

use super::caller::UpstreamError;
use super::envelope::canonical;
use super::in_flight::{UnderWay, Whose};
use super::observer::{ListKind, Watcher};
use super::request as meta;
use super::request::SUBSCRIPTION_ID;
use super::router::{Listener, Mailbox, RequestError};
use crate::object::{with, without};
use crate::transport::connection::Sender;

/// Routes server-initiated requests and notifications to the right client, or to the observer of the server.
///
/// Over pipes, messages of a server do not name the request that they relate to (except progress, which has a token).
/// So while requests of several clients are in flight on the connection, such requests are refused and such
/// notifications dropped: a client never sees what may belong to another.
#[derive(Debug)]
pub(crate) struct Desk {
    pub(crate) under_way: UnderWay,
    capabilities: Value,
    watcher: Option<Weak<dyn Watcher>>,
    sender: OnceLock<Sender>,
    // The router with the subscription requests that the server may end, on stateless sessions.
    subscriptions: Option<Weak<Mailbox>>,
    // The tasks that answer pending requests of the server. Held for single accesses only.
    asks: Mutex<HashMap<RequestId, AbortHandle>>,
}

impl Desk {
    /// Creates a handler for a server that was connected to with these `capabilities`.
    pub(crate) fn new(
        capabilities: Value,
        watcher: Option<Weak<dyn Watcher>>,
        subscriptions: Option<Weak<Mailbox>>,
    ) -> Self {
        Self {
            under_way: UnderWay::default(),
            capabilities,
            watcher,
            sender: OnceLock::new(),
            subscriptions,
            asks: Mutex::default(),
        }
    }

    /// Returns the capabilities that were declared to the server.
    pub(crate) fn capabilities(&self) -> &Value {
        &self.capabilities
    }

    /// Sets the sender of responses.
    pub(crate) fn answer_through(&self, sender: Sender) {
        // Each handler has one connection, so this is called once.
        let _ = self.sender.set(sender);
    }

    /// Returns true if the declared capabilities include requests of `method`.
    pub(crate) fn can_be_asked(&self, method: &str) -> bool {
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
        self.asks().remove(&canonical(id.clone()));
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
    fn cancelled(&self, id: &RequestId) {
        match &self.subscriptions {
            None => {
                let ask = self.asks().remove(id);
                if let Some(ask) = ask {
                    ask.abort();
                }
            }
            Some(mailbox) => {
                let reason = "the server ended it".to_owned();
                if let Some(mailbox) = mailbox.upgrade() {
                    mailbox.fail(id, RequestError::Lost(Some(reason)));
                }
            }
        }
    }

    fn watcher(&self) -> Option<Arc<dyn Watcher>> {
        self.watcher.as_ref()?.upgrade()
    }

    /// Forwards a notification to the client that it belongs to.
    fn pass_on(&self, method: &str, params: Value, about: Option<&RequestId>) {
        match self.under_way.whose(about) {
            Whose::One(caller) => caller.notify(method, params),
            Whose::Nobody => self.publish(method, params),
            Whose::Several => {}
        }
    }

    fn publish(&self, method: &str, params: Value) {
        if let Some(watcher) = self.watcher() {
            watcher.told(method, params);
        }
    }

    fn asks(&self) -> MutexGuard<'_, HashMap<RequestId, AbortHandle>> {
        self.asks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug)]
pub(crate) struct Hearing(pub(crate) Arc<Desk>);

impl Listener for Hearing {
    fn asked(&self, id: RequestId, method: &str, params: Value, about: Option<&RequestId>) {
        let desk = &self.0;
        if method == "ping" {
            return desk.answer(id, Ok(Value::empty_object()));
        }
        if !desk.can_be_asked(method) {
            return desk.answer(id, unasked(method));
        }
        match desk.under_way.whose(about) {
            Whose::Nobody => desk.answer(id, unasked(method)),
            Whose::Several => {
                let message = format!(
                    "requests of several clients are under way, and nobody can tell which of them `{method}` is for"
                );
                desk.answer(
                    id,
                    Err(UpstreamError::new(UpstreamError::UNAVAILABLE, message)),
                );
            }
            Whose::One(caller) => {
                let answer = caller.ask(method, params);
                let pauses = desk.under_way.pause_clocks(about);
                let key = canonical(id.clone());
                // The lock is held until the task is in the table, because the task may finish and remove itself at
                // once.
                let mut asks = desk.asks();
                let desk = Arc::clone(desk);
                let task = tokio::spawn(async move {
                    let answer = answer.await;
                    drop(pauses);
                    desk.answer(id, answer);
                });
                asks.insert(key, task.abort_handle());
            }
        }
    }

    fn told(&self, method: &str, params: Value, about: Option<&RequestId>) {
        let desk = &self.0;
        match method {
            "notifications/progress" => {
                let id = params.get("progressToken").and_then(meta::request_of);
                if let Some(id) = id {
                    desk.under_way.restart_clock(id);
                }
                if let Some((caller, token)) = id.and_then(|id| desk.under_way.watcher(id)) {
                    caller.notify(method, with(&params, "progressToken", token));
                }
            }
            "notifications/cancelled" => {
                if let Some(id) = params.get("requestId").and_then(request_id) {
                    desk.cancelled(&id);
                }
            }
            "notifications/subscriptions/acknowledged" => {
                if let Some(watcher) = desk.watcher() {
                    watcher.subscribed();
                }
            }
            "notifications/resources/updated" => {
                desk.publish(method, without_subscription(&params));
            }
            _ => match (ListKind::changed_by(method), desk.watcher()) {
                (Some(kind), Some(watcher)) => watcher.list_changed(kind),
                (Some(_), None) => {}
                (None, _) => desk.pass_on(method, params, about),
            },
        }
    }

    fn ended(&self) {
        for (_, ask) in self.0.asks().drain() {
            ask.abort();
        }
        if let Some(watcher) = self.0.watcher() {
            watcher.ended();
        }
    }
}

/// Returns the response to a request that no client can answer.
fn unasked(method: &str) -> Result<Value, UpstreamError> {
    match method {
        "elicitation/create" => Ok(Value::object([("action", Value::from("decline"))])),
        "roots/list" => Ok(Value::object([("roots", Value::list([]))])),
        _ => Err(UpstreamError::new(UpstreamError::UNKNOWN_METHOD, method)),
    }
}

fn error_data(error: UpstreamError) -> ErrorData {
    let code = i32::try_from(error.code).map_or(ErrorCode::INTERNAL_ERROR, ErrorCode);
    ErrorData::new(code, error.message, error.data.map(Into::into))
}

fn request_id(id: &Value) -> Option<RequestId> {
    match id {
        Value::Number(number) => number.as_i64().map(RequestId::Number),
        Value::Text(text) => Some(canonical(RequestId::String(text.clone()))),
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
