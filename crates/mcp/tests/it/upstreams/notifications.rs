//! Tests that notifications of servers reach only their client.

use std::sync::Arc;

use insta::assert_snapshot;
use planwright_engine::backend::ToolBackend;
use planwright_mcp::{Caller, Upstreams};
use planwright_testkit::fake_server::Recorder;
use serde_json::json;

use super::support::Client;
use super::support::{EVENT_TIMEOUT, REVISIONS, raw, raw_call, ready};
use crate::support::tool_call;

fn progress(progress: serde_json::Value) -> serde_json::Value {
    json!({"jsonrpc": "2.0", "method": "notifications/progress",
        "params": {"progressToken": "$TOKEN", "progress": progress, "total": 2, "odd": {}}})
}

fn message(text: &str) -> serde_json::Value {
    json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": text}})
}

async fn call_with_token(upstreams: &Upstreams, token: serde_json::Value, client: Arc<Client>) {
    let params = json!({"name": "tool", "_meta": {"progressToken": token}});
    raw(upstreams, "tools/call", params, Some(client))
        .await
        .unwrap();
}

#[tokio::test]
async fn progress_reaches_its_call() {
    let mut seen = Vec::new();
    for revision in REVISIONS {
        let does =
            json!({"wait_for_release": true, "first": [progress(json!(1)), progress(json!(1.50))]});
        let recorder = Recorder::new();
        let upstreams = ready(json!({
            "revisions": [revision], "record": recorder.address(), "tools": [{"name": "tool", "does": does}]
        }))
        .await;
        // Both clients use the same token.
        let clients = [Client::listening(), Client::listening()];
        let release = tokio::task::spawn_blocking(move || {
            let calls = [(); 2].map(|()| recorder.message("tools/call"));
            recorder.release();
            calls.map(|call| call["params"]["_meta"]["progressToken"].clone())
        });
        tokio::join!(
            call_with_token(&upstreams, json!("t"), Arc::clone(&clients[0])),
            call_with_token(&upstreams, json!("t"), Arc::clone(&clients[1])),
        );
        let tokens = release.await.unwrap();
        assert_ne!(tokens[0], tokens[1]);
        // The notifications arrive before the response.
        seen.extend(clients.map(|client| client.lines().join("\n")));
        upstreams.shutdown().await;
    }
    assert_snapshot!(seen[0], @r#"
    notifications/progress {"progressToken":"t","progress":1,"total":2,"odd":{}}
    notifications/progress {"progressToken":"t","progress":1.5,"total":2,"odd":{}}
    "#);
    assert!(seen.iter().all(|lines| *lines == seen[0]), "{seen:?}");
}

#[tokio::test]
async fn progress_without_a_token_is_dropped() {
    let does = json!({"first": [progress(json!(1)), {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": "request-0", "progress": 1}}]});
    let upstreams = ready(json!({"tools": [{"name": "tool", "does": does}]})).await;
    let client = Client::listening();
    raw_call(
        &upstreams,
        "tool",
        Some(Arc::clone(&client) as Arc<dyn Caller>),
    )
    .await
    .unwrap();
    assert_eq!(client.lines(), [""; 0]);
    upstreams.shutdown().await;
}

/// Returns the notifications of clients with these names while a call of each is in flight, and those of a receiver of
/// unrelated notifications.
async fn check(names: &[Option<&str>]) -> String {
    let recorder = Recorder::new();
    let upstreams = ready(json!({
        "record": recorder.address(),
        "tools": [
            {"name": "held", "does": {"wait_for_release": true}},
            {"name": "log", "does": {"first": [message("secret"), {"jsonrpc": "2.0", "method": "notifications/made_up"}]}}
        ]
    }))
    .await;
    let mut notifications = upstreams.notifications();
    let clients: Vec<Arc<Client>> = names.iter().map(|name| Client::new(*name, None)).collect();
    let held = clients.iter().map(|client| {
        let (upstreams, client) = (upstreams.clone(), Arc::clone(client));
        tokio::spawn(async move { raw_call(&upstreams, "held", Some(client)).await })
    });
    let held: Vec<_> = held.collect();
    let count = names.len();
    let recorder = tokio::task::spawn_blocking(move || {
        for _ in 0..count {
            recorder.message("tools/call");
        }
        recorder
    });
    let recorder = recorder.await.unwrap();
    raw_call(&upstreams, "log", None).await.unwrap();
    recorder.release();
    for call in held {
        call.await.unwrap().unwrap();
    }
    let mut lines = Vec::new();
    for client in clients {
        lines.push(client.lines().join(", "));
    }
    while let Ok(notification) = notifications.try_recv() {
        lines.push(format!(
            "{}: {} {}",
            notification.server, notification.method, notification.params
        ));
    }
    upstreams.shutdown().await;
    lines.join("\n")
}

#[tokio::test]
async fn messages_reach_their_only_possible_client() {
    assert_snapshot!(check(&[None]).await, @r#"notifications/message {"level":"info","data":"secret"}, notifications/made_up null"#);
    assert_snapshot!(check(&[]).await, @r#"
    fake: notifications/message {"level":"info","data":"secret"}
    fake: notifications/made_up null
    "#);
    assert_snapshot!(check(&[None, None]).await, @"");
    assert_snapshot!(check(&[Some("a"), Some("b")]).await, @"");
    // Two requests of one client: the latest gets the notification.
    assert_snapshot!(check(&[Some("a"), Some("a")]).await, @r#"notifications/message {"level":"info","data":"secret"}, notifications/made_up null"#);
}

#[tokio::test]
async fn messages_of_calls_in_a_plan_reach_its_client() {
    let upstreams =
        ready(json!({"tools": [{"name": "log", "does": {"first": [message("hi")]}}]})).await;
    let client = Client::listening();
    let backends = upstreams.backends(Some(Arc::clone(&client) as Arc<dyn Caller>));
    backends
        .call(tool_call("fake", "log", json!({})))
        .await
        .unwrap();
    let lines = tokio::time::timeout(EVENT_TIMEOUT, client.has(1))
        .await
        .unwrap();
    assert_snapshot!(lines.join("\n"), @r#"notifications/message {"level":"info","data":"hi"}"#);
    upstreams.shutdown().await;
}
