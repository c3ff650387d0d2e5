//! Tests of the lists of servers and their changes.

use insta::assert_snapshot;
use planwright_core::{Tool, ToolName, Value};
use planwright_mcp::{ChangeCounts, UpstreamNotification, UpstreamState, UpstreamView, Upstreams};
use planwright_testkit::fake_server::Recorder;
use serde_json::json;
use tokio::sync::broadcast;

use super::support::{EVENT_TIMEOUT, REVISIONS, raw_call, ready, view_when};

/// Creates a script of a server with all capabilities and change notifications.
fn script(revision: &str) -> serde_json::Value {
    let changes = json!({"listChanged": true});
    json!({
        "revisions": [revision], "page_size": 2, "instructions": "Be gentle.",
        "capabilities": {"tools": changes, "prompts": changes, "resources": changes, "odd": {"deep": [1.5]}},
        "tools": [
            {"name": "a", "odd": {"deep": [1.0, null]}, "_meta": {"x": 1}}, {"name": "b"}, {"name": "c"}
        ],
        "prompts": [{"name": "p", "arguments": [{"name": "x", "odd": 1}]}, {"name": "q"}, {"name": "r"}],
        "resources": [{"uri": "file:///a", "name": "a", "size": 3}, {"uri": "file:///b"}, {"uri": "file:///c"}],
        "resourceTemplates": [{"uriTemplate": "file:///{x}", "name": "t"}, {"uriTemplate": "u"}, {"uriTemplate": "v"}],
    })
}

fn json_lines(entries: &[Value]) -> String {
    let lines = entries.iter().map(Value::to_json);
    lines.collect::<Vec<_>>().join("\n")
}

/// Describes the snapshot of the only server.
fn describe(view: &UpstreamView) -> String {
    let server = &view.servers[0];
    let names = server.tools.iter().map(Tool::qualified_name);
    let names: Vec<String> = names.map(|name| name.to_string()).collect();
    format!(
        "{} {} {} {}\n{names:?}\n{}\n{}\n{}\n{}",
        server.info,
        server.capabilities,
        server.instructions,
        server.revision.as_deref().unwrap_or("none"),
        json_lines(&server.tool_entries),
        json_lines(&server.prompts),
        json_lines(&server.resources),
        json_lines(&server.resource_templates),
    )
}

#[tokio::test]
async fn lists_arrive_unchanged() {
    let mut seen = Vec::new();
    for revision in REVISIONS {
        let upstreams = ready(script(revision)).await;
        seen.push(describe(&upstreams.view()).replace(revision, "REVISION"));
        upstreams.shutdown().await;
    }
    assert_snapshot!(seen[0], @r#"
    {"name":"fake","version":"1"} {"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"listChanged":true},"odd":{"deep":[1.5]}} "Be gentle." REVISION
    ["fake.a", "fake.b", "fake.c"]
    {"name":"a","odd":{"deep":[1.0,null]},"_meta":{"x":1},"inputSchema":{"type":"object"}}
    {"name":"b","inputSchema":{"type":"object"}}
    {"name":"c","inputSchema":{"type":"object"}}
    {"name":"p","arguments":[{"name":"x","odd":1}]}
    {"name":"q"}
    {"name":"r"}
    {"uri":"file:///a","name":"a","size":3}
    {"uri":"file:///b"}
    {"uri":"file:///c"}
    {"uriTemplate":"file:///{x}","name":"t"}
    {"uriTemplate":"u"}
    {"uriTemplate":"v"}
    "#);
    assert_eq!(seen[0], seen[1]);
}

#[tokio::test]
async fn missing_lists_are_not_requested() {
    let upstreams = ready(json!({"tools": [{"name": "a"}], "prompts": [{"name": "p"}]})).await;
    let view = upstreams.view();
    assert_eq!(view.tools().count(), 1);
    assert_eq!(view.servers[0].prompts, []);
    assert_eq!(view.servers[0].resources, []);
    upstreams.shutdown().await;
}

/// Creates a tool that replaces a list and sends a change notification.
fn changing(name: &str, kind: &str, sets: serde_json::Value) -> serde_json::Value {
    let changed = json!({
        "jsonrpc": "2.0", "method": format!("notifications/{kind}/list_changed"),
        "params": {"_meta": {"io.modelcontextprotocol/subscriptionId": "$SUBSCRIPTION"}},
    });
    json!({"name": name, "does": {"sets": sets, "first": [changed]}})
}

#[tokio::test]
async fn lists_that_change_are_listed_again() {
    for revision in REVISIONS {
        let mut script = script(revision);
        script["tools"] = json!([
            changing("tools", "tools", json!({"tools": [{"name": "new"}]})),
            changing("prompts", "prompts", json!({"prompts": []})),
            changing(
                "resources",
                "resources",
                json!({"resources": [{"uri": "new"}], "resourceTemplates": []})
            ),
        ]);
        let upstreams = ready(script).await;
        let first = ChangeCounts {
            states: 3,
            tools: 1,
            prompts: 1,
            resources: 1,
        };
        let before = upstreams.view();
        assert_eq!(before.changes, first, "{revision}");

        raw_call(&upstreams, "prompts", None).await.unwrap();
        let view = view_when(&upstreams, |view| view.changes.prompts == 2).await;
        assert_eq!(view.servers[0].prompts, []);
        raw_call(&upstreams, "resources", None).await.unwrap();
        let view = view_when(&upstreams, |view| view.changes.resources == 2).await;
        let server = &view.servers[0];
        assert_eq!(json_lines(&server.resources), r#"{"uri":"new"}"#);
        assert_eq!(server.resource_templates, []);
        raw_call(&upstreams, "tools", None).await.unwrap();
        let view = view_when(&upstreams, |view| view.changes.tools == 2).await;
        let names: Vec<ToolName> = view.tools().map(Tool::qualified_name).collect();
        assert_eq!(names, ["fake.new"]);
        let expected = ChangeCounts {
            tools: 2,
            prompts: 2,
            resources: 2,
            ..first
        };
        assert_eq!(view.changes, expected, "{revision}");
        // An earlier view stays unchanged.
        assert_eq!(before.tools().count(), 3);
        upstreams.shutdown().await;
    }
}

#[tokio::test]
async fn a_subscription_that_ends_is_opened_again() {
    let cancelled = json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "$SUBSCRIPTION"}
    });
    let ends = [
        json!({"ends_subscription": true}),
        json!({"first": [cancelled]}),
    ];
    for mut end in ends {
        let mut script = script("2026-07-28");
        end["sets"] = json!({"prompts": []});
        script["tools"] = json!([{"name": "end", "does": end}]);
        let upstreams = ready(script).await;
        raw_call(&upstreams, "end", None).await.unwrap();
        // Changes between two sessions are noticed without notifications.
        let view = view_when(&upstreams, |view| view.changes.prompts == 2).await;
        assert_eq!(view.servers[0].prompts, []);
        upstreams.shutdown().await;
    }
}

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
