//! The way back to a client while one of its calls is under way.

use std::sync::Arc;

use futures::future::BoxFuture;
use planwright_core::Value;
use tokio::sync::{mpsc, oneshot};

use super::client::Client;
use crate::client::{Caller, UpstreamClient, UpstreamError};

/// What a call has to say to its client before it is over.
#[derive(Debug)]
pub(super) enum Word {
    /// A notification.
    Note { method: String, params: Value },
    /// A question, and where its answer goes.
    Question(Question),
    /// The name under which the host can continue the call in another process.
    Bound(String),
}

/// Something that a client is asked.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) method: String,
    pub(super) params: Value,
    /// What the question is about, as another process recognises it.
    pub(super) subject: Option<String>,
    pub(super) answer: oneshot::Sender<Result<Value, UpstreamError>>,
}

/// The end of the line that calls hold. What they say arrives in the order in which it was said.
#[derive(Debug)]
pub(super) struct Line {
    words: mpsc::UnboundedSender<Word>,
    client: Arc<str>,
    abilities: UpstreamClient,
    meta: Value,
}

impl Line {
    /// A line to `client`, and where its words come out. `meta`: what goes into requests that are made for it.
    pub(super) fn new(client: &Client, meta: Value) -> (Self, mpsc::UnboundedReceiver<Word>) {
        let (words, heard) = mpsc::unbounded_channel();
        let line = Self {
            words,
            client: client.id.as_str().into(),
            abilities: client.as_upstream(),
            meta,
        };
        (line, heard)
    }
}

impl Caller for Line {
    fn notify(&self, method: &str, params: Value) {
        // A client that does not listen any more misses nothing that it wants.
        let _ = self.words.send(Word::Note {
            method: method.to_owned(),
            params,
        });
    }

    fn ask(&self, method: &str, params: Value) -> BoxFuture<'static, Result<Value, UpstreamError>> {
        self.put(method, params, None)
    }

    fn ask_about(
        &self,
        subject: &str,
        method: &str,
        params: Value,
    ) -> BoxFuture<'static, Result<Value, UpstreamError>> {
        self.put(method, params, Some(subject.to_owned()))
    }

    fn bind(&self, work: &str) {
        // As above.
        let _ = self.words.send(Word::Bound(work.to_owned()));
    }

    fn meta(&self) -> Value {
        self.meta.clone()
    }

    fn abilities(&self) -> Option<UpstreamClient> {
        Some(self.abilities.clone())
    }

    fn client(&self) -> Option<Arc<str>> {
        Some(Arc::clone(&self.client))
    }
}

impl Line {
    fn put(
        &self,
        method: &str,
        params: Value,
        subject: Option<String>,
    ) -> BoxFuture<'static, Result<Value, UpstreamError>> {
        let (answer, answered) = oneshot::channel();
        let question = Question {
            method: method.to_owned(),
            params,
            subject,
            answer,
        };
        let sent = self.words.send(Word::Question(question));
        Box::pin(async move {
            let gone = || {
                UpstreamError::new(
                    UpstreamError::UNAVAILABLE,
                    "the client that was to be asked is gone",
                )
            };
            sent.map_err(|_| gone())?;
            answered.await.unwrap_or_else(|_| Err(gone()))
        })
    }
}
