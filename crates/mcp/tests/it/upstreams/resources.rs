//! Tests of resource subscriptions in all revisions.

use insta::assert_snapshot;
use planwright_mcp::{UpstreamNotification, UpstreamState, Upstreams};
use planwright_testkit::fake_server::Recorder;
use serde_json::json;
use tokio::sync::broadcast;

use super::support::{EVENT_TIMEOUT, raw_call, ready, view_when};

async fn subscribable(revision: &str, recorder: &Recorder) -> Upstreams {
    let updated = json!({
        "jsonrpc": "2.0", "method": "notifications/resources/updated",
        "params": {"uri": "file:///a", "_meta": {"io.modelcontextprotocol/subscriptionId": "$SUBSCRIPTION"}},
    });
    ready(json!({
        "revisions": [revision], "record": recorder.address(),
        "capabilities": {"tools": {}, "resources": {"subscribe": true}},
        "answers": {"resources/subscribe": {}, "resources/unsubscribe": {}},
        "tools": [{"name": "update", "does": {"first": [updated]}}, {"name": "die", "does": {"exit": 1}}, {"name": "echo"}],
    }))
    .await
}

async fn next(notifications: &mut broadcast::Receiver<UpstreamNotification>) -> String {
    let notification = tokio::time::timeout(EVENT_TIMEOUT, notifications.recv()).await;
    let notification = notification.expect("a notification arrives").unwrap();
    format!(
        "{} {} {}",
        notification.server, notification.method, notification.params
    )
}

/// Waits for the next subscription request and returns its filter.
fn asked(recorder: &Recorder, method: &str) -> String {
    recorder.message(method)["params"]["notifications"].to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn earlier_sessions_are_subscribed_once() {
    let recorder = Recorder::new();
    let upstreams = subscribable("2025-11-25", &recorder).await;
    let mut notifications = upstreams.notifications();
    let first = upstreams.subscribe("fake", "file:///a").await.unwrap();
    let second = upstreams.subscribe("fake", "file:///a").await.unwrap();
    raw_call(&upstreams, "update", None).await.unwrap();
    assert_snapshot!(next(&mut notifications).await, @r#"fake notifications/resources/updated {"uri":"file:///a"}"#);
    drop(first);
    drop(second);
    tokio::task::block_in_place(|| {
        let message = recorder.message("resources/unsubscribe");
        assert_eq!(message["params"]["uri"], "file:///a");
    });
    upstreams.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_earlier_session_is_subscribed_again() {
    let recorder = Recorder::new();
    let upstreams = subscribable("2025-11-25", &recorder).await;
    let _first = upstreams.subscribe("fake", "file:///a").await.unwrap();
    let _second = upstreams.subscribe("fake", "file:///a").await.unwrap();
    raw_call(&upstreams, "die", None).await.unwrap_err();
    let before = tokio::task::block_in_place(|| recorder.methods_until_end());
    raw_call(&upstreams, "echo", None).await.unwrap();
    view_when(&upstreams, |view| {
        matches!(view.servers[0].state, UpstreamState::Ready)
    })
    .await;
    upstreams.shutdown().await;
    let after = tokio::task::block_in_place(|| recorder.methods_until_end());
    for methods in [before, after] {
        let subscriptions = methods
            .iter()
            .filter(|method| *method == "resources/subscribe");
        assert_eq!(subscriptions.count(), 1, "{methods:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_of_the_latest_revision_renew_subscriptions() {
    let recorder = Recorder::new();
    let upstreams = subscribable("2026-07-28", &recorder).await;
    let mut notifications = upstreams.notifications();
    let first = upstreams.subscribe("fake", "file:///a").await.unwrap();
    let listened = tokio::task::block_in_place(|| asked(&recorder, "subscriptions/listen"));
    assert_snapshot!(listened, @r#"{"resourceSubscriptions":["file:///a"]}"#);
    raw_call(&upstreams, "update", None).await.unwrap();
    assert_snapshot!(next(&mut notifications).await, @r#"fake notifications/resources/updated {"uri":"file:///a"}"#);
    let second = upstreams.subscribe("fake", "file:///b").await.unwrap();
    let listened = tokio::task::block_in_place(|| asked(&recorder, "subscriptions/listen"));
    assert_snapshot!(listened, @r#"{"resourceSubscriptions":["file:///a","file:///b"]}"#);
    // The previous subscription ends then.
    tokio::task::block_in_place(|| recorder.message("notifications/cancelled"));
    drop(first);
    let listened = tokio::task::block_in_place(|| asked(&recorder, "subscriptions/listen"));
    assert_snapshot!(listened, @r#"{"resourceSubscriptions":["file:///b"]}"#);
    drop(second);
    tokio::task::block_in_place(|| recorder.message("notifications/cancelled"));
    upstreams.shutdown().await;
}

#[tokio::test]
async fn a_refusal_is_reported() {
    let upstreams = ready(json!({"revisions": ["2025-11-25"]})).await;
    let error = upstreams.subscribe("fake", "file:///a").await.unwrap_err();
    assert_snapshot!(error, @"Method not found");
    upstreams.shutdown().await;
}
