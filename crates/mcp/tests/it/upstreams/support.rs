//! Shared helpers for upstreams.

use std::sync::Arc;
use std::time::Duration;

use planwright_core::Value;
use planwright_mcp::{
    Caller, ConnectOptions, ServerConfig, ServersConfig, UpstreamError, UpstreamState,
    UpstreamView, Upstreams,
};
use serde_json::json;

use crate::support::fake;

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
pub(super) fn upstreams(servers: impl IntoIterator<Item = ServerConfig>) -> Upstreams {
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
pub(super) async fn view_when(
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
