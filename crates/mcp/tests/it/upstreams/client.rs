//! A client for whom requests are made, which takes everything down.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use planwright_core::Value;
use planwright_mcp::{Caller, UpstreamError};
use serde_json::json;
use tokio::sync::watch;

/// How long a test waits for what has to happen before it fails.
const PATIENCE: Duration = Duration::from_secs(30);

/// What a client was told and asked, one line each.
#[derive(Debug)]
pub(super) struct Client {
    name: Option<Arc<str>>,
    meta: Value,
    answer: Option<Result<Value, UpstreamError>>,
    /// The time that a person takes to answer.
    takes: Duration,
    lines: watch::Sender<Vec<String>>,
    // It goes when a question that is never answered is withdrawn.
    withdrawn: Arc<Mutex<Option<tokio::sync::oneshot::Sender<()>>>>,
}

impl Client {
    /// One that says who it is, if it has a `name`, and answers every question with `answer`; without one, never.
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

    /// A client that answers every question with `answer` after the time that it `takes`.
    pub(super) fn answering_after(takes: Duration, answer: serde_json::Value) -> Arc<Self> {
        let client = Self::new(None, Some(Ok(answer)));
        let client = Arc::into_inner(client).expect("the client is new");
        Arc::new(Self { takes, ..client })
    }

    /// One that is only told things.
    pub(super) fn listening() -> Arc<Self> {
        Self::new(None, None)
    }

    /// What it was told and asked so far.
    pub(super) fn lines(&self) -> Vec<String> {
        self.lines.borrow().clone()
    }

    /// Waits until it was told or asked `count` things.
    pub(super) async fn has(&self, count: usize) -> Vec<String> {
        let mut lines = self.lines.subscribe();
        let lines = lines.wait_for(|lines| lines.len() >= count);
        let lines = tokio::time::timeout(PATIENCE, lines).await;
        lines.expect("the client hears of it").unwrap().clone()
    }

    /// Tells when a question that it does not answer is withdrawn.
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
