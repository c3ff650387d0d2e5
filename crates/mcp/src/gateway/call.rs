//! A call in flight, with a channel to its client.

mod drive;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;
use planwright_core::{ServerName, Value};
use tokio::sync::oneshot;

use super::call_queue::{CallMessage, CallReceiver, CallSender, ClientQuestion, call_queue};
use super::client::GatewayClient;
use crate::session::caller::{Caller, UpstreamClient};
use crate::session::error::UpstreamError;

/// The sending end of the channel. Messages keep their order.
#[derive(Debug)]
pub(crate) struct CallChannel {
    messages: CallSender,
    client: Arc<str>,
    upstream_client: UpstreamClient,
    meta: Value,
}

impl CallChannel {
    /// Creates a channel to `client`, whose requests to servers have `meta` as their `_meta`.
    pub(crate) fn new(client: &GatewayClient, meta: Value) -> (Self, CallReceiver) {
        let (messages, receiver) = call_queue();
        let channel = Self {
            messages,
            client: client.id.as_str().into(),
            upstream_client: client.as_upstream(),
            meta,
        };
        (channel, receiver)
    }
}

impl Caller for CallChannel {
    fn notify(&self, method: &str, params: Value) {
        self.messages.send(CallMessage::Notification {
            method: method.to_owned(),
            params,
        });
    }

    fn ask(&self, method: &str, params: Value) -> BoxFuture<'static, Result<Value, UpstreamError>> {
        self.send(method, params, None)
    }

    fn ask_about(
        &self,
        subject: &str,
        method: &str,
        params: Value,
    ) -> BoxFuture<'static, Result<Value, UpstreamError>> {
        self.send(method, params, Some(subject.to_owned()))
    }

    fn bind(&self, work: &str) {
        self.messages.send(CallMessage::Bound(work.to_owned()));
    }

    fn meta(&self) -> Value {
        self.meta.clone()
    }

    fn upstream_client(&self) -> Option<UpstreamClient> {
        Some(self.upstream_client.clone())
    }

    fn client(&self) -> Option<Arc<str>> {
        Some(Arc::clone(&self.client))
    }
}

impl CallChannel {
    fn send(
        &self,
        method: &str,
        params: Value,
        subject: Option<String>,
    ) -> BoxFuture<'static, Result<Value, UpstreamError>> {
        let (answer, answered) = oneshot::channel();
        let question = ClientQuestion {
            method: method.to_owned(),
            params,
            subject,
            answer,
        };
        self.messages.send(CallMessage::Question(question));
        Box::pin(async move {
            answered.await.unwrap_or_else(|_| {
                let message = "the client has disconnected";
                Err(UpstreamError::new(UpstreamError::UNAVAILABLE, message))
            })
        })
    }
}

/// The request that a call answers, and that the state of a suspended call belongs to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RequestKey {
    pub(crate) method: &'static str,
    /// The name of the tool or prompt, or the URI of the resource.
    pub(crate) name: String,
    pub(crate) arguments: Value,
    /// The upstream server that answers the request; `None` if the host does.
    pub(crate) server: Option<ServerName>,
}

impl RequestKey {
    pub(crate) fn new(method: &'static str, name: &str, arguments: Option<&Value>) -> Self {
        Self {
            method,
            name: name.to_owned(),
            arguments: arguments.cloned().unwrap_or_else(Value::empty_object),
            server: None,
        }
    }

    pub(crate) fn at(self, server: &ServerName) -> Self {
        Self {
            server: Some(server.clone()),
            ..self
        }
    }

    /// Returns true if `other` repeats this request. It may omit the arguments, which are then those of the first
    /// request.
    pub(super) fn is_repeated_by(&self, other: &Self) -> bool {
        let leaves_out = other
            .arguments
            .as_object()
            .is_some_and(planwright_core::Object::is_empty);
        // A request about a resource does not name its server.
        let is_same_server = other.server.is_none() || self.server == other.server;
        self.method == other.method
            && self.name == other.name
            && is_same_server
            && (leaves_out || self.arguments == other.arguments)
    }
}

pub(crate) struct InFlightCall {
    future: BoxFuture<'static, Result<Value, UpstreamError>>,
    messages: CallReceiver,
    questions: BTreeMap<String, ClientQuestion>,
    question_count: u64,
    request: RequestKey,
    /// The name by which the host can continue the call in another process.
    work_name: Option<String>,
}

impl fmt::Debug for InFlightCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InFlightCall")
            .field("open", &self.questions.keys())
            .finish_non_exhaustive()
    }
}

impl InFlightCall {
    /// Creates a call that answers `request` and sends its messages to `messages`.
    pub(crate) fn new(
        request: RequestKey,
        future: BoxFuture<'static, Result<Value, UpstreamError>>,
        messages: CallReceiver,
    ) -> Self {
        Self {
            future,
            messages,
            questions: BTreeMap::new(),
            question_count: 0,
            request,
            work_name: None,
        }
    }

    /// Delivers the client's responses to the open questions.
    pub(crate) fn answer(&mut self, responses: Value) {
        for (key, response) in responses.as_object().into_iter().flatten() {
            if let Some(question) = self.questions.remove(&**key) {
                // The call may have stopped waiting for this answer.
                let _ = question.answer.send(Ok(response.clone()));
            }
        }
    }
}
