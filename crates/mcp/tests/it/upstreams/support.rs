//! Shared helpers for upstreams, and a client that records its requests and notifications.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use planwright_core::Value;
use planwright_mcp::{
    Caller, ConnectOptions, ServerConfig, ServersConfig, UpstreamError, UpstreamState,
    UpstreamView, Upstreams,
};
use serde_json::json;
use tokio::sync::watch;

use crate::support::fake;

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

/// The timeout of events in tests.
pub(super) const EVENT_TIMEOUT: Duration = Duration::from_secs(30);

/// The tested revisions: an earlier one and the latest.
pub(super) const REVISIONS: [&str; 2] = ["2025-11-25", "2026-07-28"];

/// Creates upstreams without starting them.
pub(super) fn upstreams_with(
    servers: impl IntoIterator<Item = ServerConfig>,
    options: ConnectOptions,
) -> Upstreams {
    let config = ServersConfig {
        servers: servers.into_iter().collect(),
        ..ServersConfig::default()
    };
    Upstreams::new(config, options)
}

/// Creates upstreams without starting them.
pub(crate) fn upstreams(servers: impl IntoIterator<Item = ServerConfig>) -> Upstreams {
    upstreams_with(servers, ConnectOptions::default())
}

/// Creates one fake server `fake` that follows `script`, for a client with all capabilities, and waits until it is
/// ready.
pub(super) async fn ready(script: serde_json::Value) -> Upstreams {
    let upstreams = upstreams([fake("fake", script)]);
    upstreams.start(&json!({"elicitation": {}, "sampling": {}, "roots": {}}).into());
    assert!(upstreams.settled(EVENT_TIMEOUT).await);
    let view = upstreams.view();
    let state = &view.server("fake").unwrap().state;
    assert!(matches!(state, UpstreamState::Ready), "{state:?}");
    upstreams
}

/// Waits until the view is `such`.
pub(crate) async fn view_when(
    upstreams: &Upstreams,
    such: impl Fn(&UpstreamView) -> bool,
) -> Arc<UpstreamView> {
    let mut changes = upstreams.changes();
    let changed = changes.wait_for(|_| such(&upstreams.view()));
    let changed = tokio::time::timeout(EVENT_TIMEOUT, changed).await;
    assert!(changed.is_ok(), "waited in vain: {:?}", upstreams.view());
    upstreams.view()
}

/// Describes the state of each server in one line.
pub(super) fn states(upstreams: &Upstreams) -> String {
    let view = upstreams.view();
    let states = view.servers.iter().map(|server| {
        let state = match &server.state {
            UpstreamState::Idle => "idle".to_owned(),
            UpstreamState::Starting => "starting".to_owned(),
            UpstreamState::Ready => "ready".to_owned(),
            UpstreamState::Failed(failure) => format!("failed ({failure})"),
        };
        format!("{} {state}", server.name)
    });
    states.collect::<Vec<_>>().join(", ")
}

/// Calls `tool` of the server `fake` for `caller` by a passed-through request.
pub(super) async fn raw_call(
    upstreams: &Upstreams,
    tool: &str,
    caller: Option<Arc<dyn Caller>>,
) -> Result<Value, UpstreamError> {
    let params = json!({"name": tool, "arguments": {}});
    raw(upstreams, "tools/call", params, caller).await
}

/// Sends a request to the server `fake`.
pub(super) async fn raw(
    upstreams: &Upstreams,
    method: &str,
    params: serde_json::Value,
    caller: Option<Arc<dyn Caller>>,
) -> Result<Value, UpstreamError> {
    upstreams
        .request("fake", method, params.into(), caller)
        .await
}

/// Describes the outcome of a request in one line.
pub(super) fn line(outcome: Result<Value, UpstreamError>) -> String {
    match outcome {
        Ok(result) => result.to_json(),
        Err(error) => {
            let data = error.data.map(|data| format!(" {data}"));
            format!(
                "{}: {}{}",
                error.code,
                error.message,
                data.unwrap_or_default()
            )
        }
    }
}
