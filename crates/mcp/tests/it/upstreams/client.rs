//! A client that records its requests and notifications.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use planwright_core::Value;
use planwright_mcp::{Caller, UpstreamError};
use serde_json::json;
use tokio::sync::watch;

/// The timeout of events in tests.
const EVENT_TIMEOUT: Duration = Duration::from_secs(30);

/// A client that records its requests and notifications, one line each.
#[derive(Debug)]
pub(super) struct Client {
    name: Option<Arc<str>>,
    meta: Value,
    answer: Option<Result<Value, UpstreamError>>,
    /// The time that a person takes to answer.
    takes: Duration,
    lines: watch::Sender<Vec<String>>,
    // Dropped when an unanswered request is cancelled.
    withdrawn: Arc<Mutex<Option<tokio::sync::oneshot::Sender<()>>>>,
}

impl Client {
    /// Creates a client with an identity, if it has a `name`, that answers every request with `answer`, or never.
    pub(super) fn new(
        name: Option<&str>,
        answer: Option<Result<serde_json::Value, UpstreamError>>,
    ) -> Arc<Self> {
        Arc::new(Self {
            name: name.map(Arc::from),
            meta: json!({"traceparent": "00-1-2-01"}).into(),
            answer: answer.map(|answer| answer.map(Value::from)),
            takes: Duration::ZERO,
            lines: watch::Sender::default(),
            withdrawn: Arc::default(),
        })
    }

    /// Creates a client that answers every request with `answer` after the time that it `takes`.
    pub(super) fn answering_after(takes: Duration, answer: serde_json::Value) -> Arc<Self> {
        let client = Self::new(None, Some(Ok(answer)));
        let client = Arc::into_inner(client).expect("the client is new");
        Arc::new(Self { takes, ..client })
    }

    /// Creates a client that only gets notifications.
    pub(super) fn listening() -> Arc<Self> {
        Self::new(None, None)
    }

    /// Returns the recorded lines.
    pub(super) fn lines(&self) -> Vec<String> {
        self.lines.borrow().clone()
    }

    /// Waits until `count` lines are recorded.
    pub(super) async fn has(&self, count: usize) -> Vec<String> {
        let mut lines = self.lines.subscribe();
        let lines = lines.wait_for(|lines| lines.len() >= count);
        let lines = tokio::time::timeout(EVENT_TIMEOUT, lines).await;
        lines.expect("the client hears of it").unwrap().clone()
    }

    /// Returns a receiver that ends when an unanswered request is cancelled.
    pub(super) fn withdrawal(&self) -> tokio::sync::oneshot::Receiver<()> {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        *self.withdrawn.lock().unwrap() = Some(sender);
        receiver
    }

    fn take_down(&self, line: String) {
        self.lines.send_modify(|lines| lines.push(line));
    }
}

impl Caller for Client {
    fn notify(&self, method: &str, params: Value) {
        self.take_down(format!("{method} {params}"));
    }

    fn ask(&self, method: &str, params: Value) -> BoxFuture<'static, Result<Value, UpstreamError>> {
        self.take_down(format!("{method}? {params}"));
        let answer = self.answer.clone();
        let withdrawn = self.withdrawn.lock().unwrap().take();
        let takes = self.takes;
        Box::pin(async move {
            tokio::time::sleep(takes).await;
            match answer {
                Some(answer) => answer,
                None => {
                    // Dropped with this future.
                    let _withdrawn = withdrawn;
                    std::future::pending().await
                }
            }
        })
    }

    fn meta(&self) -> Value {
        self.meta.clone()
    }

    fn client(&self) -> Option<Arc<str>> {
        self.name.clone()
    }
}
