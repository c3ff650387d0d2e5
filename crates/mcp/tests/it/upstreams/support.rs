//! Upstreams in one line, and waiting for what becomes of them.

use std::sync::Arc;
use std::time::Duration;

use planwright_core::Value;
use planwright_mcp::{
    Caller, ConnectOptions, ServerConfig, ServersConfig, UpstreamError, UpstreamState,
    UpstreamView, Upstreams,
};
use serde_json::json;

use crate::support::fake;

/// How long a test waits for what has to happen before it fails.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// The revisions that a server is tried with: one from before the newest, and the newest.
pub(super) const REVISIONS: [&str; 2] = ["2025-11-25", "2026-07-28"];

/// The servers, none of them started.
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

/// The servers, none of them started.
pub(super) fn upstreams(servers: impl IntoIterator<Item = ServerConfig>) -> Upstreams {
    upstreams_with(servers, ConnectOptions::default())
}

/// One fake server `fake` that follows `script`, of a client that can do all there is; it is ready.
pub(super) async fn ready(script: serde_json::Value) -> Upstreams {
    let upstreams = upstreams([fake("fake", script)]);
    upstreams.start(&json!({"elicitation": {}, "sampling": {}, "roots": {}}).into());
    assert!(upstreams.settled(PATIENCE).await);
    let view = upstreams.view();
    let state = &view.server("fake").unwrap().state;
    assert!(matches!(state, UpstreamState::Ready), "{state:?}");
    upstreams
}

/// Waits until the view is `such`.
pub(super) async fn view_when(
    upstreams: &Upstreams,
    such: impl Fn(&UpstreamView) -> bool,
) -> Arc<UpstreamView> {
    let mut changes = upstreams.changes();
    let changed = changes.wait_for(|_| such(&upstreams.view()));
    let changed = tokio::time::timeout(PATIENCE, changed).await;
    assert!(changed.is_ok(), "waited in vain: {:?}", upstreams.view());
    upstreams.view()
}

/// The state of each server, in a line.
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

/// Calls `tool` of the server `fake` for `caller`, as a client's request that is handed on.
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

/// What came of a request, in a line.
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
