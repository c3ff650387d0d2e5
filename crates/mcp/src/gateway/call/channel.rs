//! The channel from a call in flight to its client.

use std::sync::Arc;

use futures::future::BoxFuture;
use planwright_core::Value;
use tokio::sync::{mpsc, oneshot};

use crate::gateway::client::GatewayClient;
use crate::session::caller::{Caller, UpstreamClient, UpstreamError};

/// A message of a call to its client.
#[derive(Debug)]
pub(crate) enum CallMessage {
    Notification {
        method: String,
        params: Value,
    },
    Question(ClientQuestion),
    /// The name of the work from [`Caller::bind`], by which the host can continue the call in another process.
    Bound(String),
}

/// A question to a client, and the channel of its answer.
#[derive(Debug)]
pub(crate) struct ClientQuestion {
    pub(crate) method: String,
    pub(crate) params: Value,
    /// The subject of the question, by which another process recognises it.
    pub(crate) subject: Option<String>,
    pub(crate) answer: oneshot::Sender<Result<Value, UpstreamError>>,
}

/// The sending end of the channel. Messages keep their order.
#[derive(Debug)]
pub(crate) struct CallChannel {
    messages: mpsc::UnboundedSender<CallMessage>,
    client: Arc<str>,
    upstream_client: UpstreamClient,
    meta: Value,
}

impl CallChannel {
    /// Creates a channel to `client`. `meta` is the `_meta` of requests that are made for it.
    pub(crate) fn new(
        client: &GatewayClient,
        meta: Value,
    ) -> (Self, mpsc::UnboundedReceiver<CallMessage>) {
        let (messages, receiver) = mpsc::unbounded_channel();
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
        // The receiver is gone if the call is cancelled.
        let _ = self.messages.send(CallMessage::Notification {
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
        let _ = self.messages.send(CallMessage::Bound(work.to_owned()));
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
        let sent = self.messages.send(CallMessage::Question(question));
        Box::pin(async move {
            let disconnected = || {
                UpstreamError::new(
                    UpstreamError::UNAVAILABLE,
                    "the client that was to be asked is gone",
                )
            };
            sent.map_err(|_| disconnected())?;
            answered.await.unwrap_or_else(|_| Err(disconnected()))
        })
    }
}
