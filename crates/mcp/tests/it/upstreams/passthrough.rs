//! Tests that requests and responses are passed through unchanged.

use futures::future::join_all;
use insta::assert_snapshot;
use planwright_core::Value;
use planwright_testkit::fake_server::Recorder;
use serde_json::json;

use super::support::Client;
use super::support::{REVISIONS, line, raw, raw_call, ready, upstreams};
use crate::support::fake;

#[tokio::test]
async fn responses_arrive_unchanged() {
    let cases = [
        json!({"result": {"content": [], "structuredContent": {"z": 1, "a": [1.0, 1e3, 12_345_678_901_234_567_890_u64, null]}}}),
        json!({"result": {"content": [{"type": "hologram", "depth": 3.50, "_meta": {"x": [{}]}}], "isError": true, "odd": {}}}),
        json!({"result": {"content": [{"type": "text", "text": "a", "annotations": {"audience": ["martian"]}}], "structuredContent": null}}),
        json!({"result": {"_meta": {"io.modelcontextprotocol/serverInfo": {"name": "x"}}, "resultType": "made_up"}}),
        json!({"result": 5}),
        json!({"input_required": {"q": {"method": "elicitation/create", "params": {"message": "Sure?"}}}}),
        json!({"error": {"code": -32602, "message": "no `x`", "data": {"field": ["x"]}}}),
        json!({"error": {"code": -32042, "message": "", "data": null}}),
        json!({"error": {"code": 9_000_000_000_i64, "message": "far"}}),
        json!({"raw": "{\"id\":$ID,\"result\":{\"x\":NaN}}"}),
        json!({"exit": 7}),
    ];
    let mut seen = Vec::new();
    for revision in REVISIONS {
        let outcomes = cases.clone().map(async |does| {
            let tools = json!([{"name": "tool", "does": does}]);
            let upstreams = ready(json!({"revisions": [revision], "tools": tools})).await;
            let client = Client::listening();
            let outcome = raw_call(&upstreams, "tool", Some(client)).await;
            upstreams.shutdown().await;
            line(outcome)
        });
        let lines = join_all(outcomes).await.join("\n");
        // The server sets the fields that the latest revision requires in results.
        seen.push(lines.replace(r#","resultType":"complete""#, ""));
    }
    assert_snapshot!(seen[0], @r#"
    {"content":[],"structuredContent":{"z":1,"a":[1.0,1000.0,12345678901234567890,null]}}
    {"content":[{"type":"hologram","depth":3.5,"_meta":{"x":[{}]}}],"isError":true,"odd":{}}
    {"content":[{"type":"text","text":"a","annotations":{"audience":["martian"]}}],"structuredContent":null}
    {"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"x"}},"resultType":"made_up"}
    5
    {"resultType":"input_required","inputRequests":{"q":{"method":"elicitation/create","params":{"message":"Sure?"}}},"requestState":"round two"}
    -32602: no `x` {"field":["x"]}
    -32042:  null
    9000000000: far
    -32603: the answer of the server `fake` cannot be read: expected value {"outcome":"unknown"}
    -32603: the server `fake` did not answer: it stopped (exit status: 7) {"outcome":"unknown"}
    "#);
    assert_eq!(seen[0], seen[1]);
}

#[tokio::test]
async fn requests_arrive_unchanged() {
    let recorder = Recorder::new();
    let upstreams = ready(json!({
        "revisions": ["2025-11-25"], "record": recorder.address(),
        "answers": {"made/up": {"odd": [1.0]}, "logging/setLevel": {}},
    }))
    .await;
    let params = json!({"x": {"deep": [1.0, null]}, "_meta": {"y": 1}});
    let outcome = raw(&upstreams, "made/up", params.clone(), None).await;
    assert_snapshot!(line(outcome), @r#"{"odd":[1.0]}"#);
    let outcome = raw(
        &upstreams,
        "logging/setLevel",
        json!({"level": "debug"}),
        None,
    )
    .await;
    assert_snapshot!(line(outcome), @"{}");
    let outcome = raw(&upstreams, "not/there", json!({}), None).await;
    assert_snapshot!(line(outcome), @"-32601: Method not found");
    let expected = json!({"_meta": {"z": 2}, "list": []});
    upstreams
        .notify(
            "fake",
            "notifications/roots/list_changed",
            expected.clone().into(),
        )
        .await;
    upstreams.shutdown().await;
    tokio::task::spawn_blocking(move || {
        assert_eq!(recorder.message("made/up")["params"], params);
        let notification = recorder.message("notifications/roots/list_changed");
        assert_eq!(notification["params"], expected);
        assert!(notification.get("id").is_none());
    })
    .await
    .unwrap();
}

/// Returns the `_meta` of a call as a server of `revision` gets it, with and without a client.
async fn metas(revision: &str) -> String {
    let recorder = Recorder::new();
    let script = json!({
        "revisions": [revision], "record": recorder.address(), "tools": [{"name": "echo"}]
    });
    let upstreams = upstreams([fake("fake", script)]);
    upstreams.start(&json!({"elicitation": {"url": {}}, "odd": {"x": 1}}).into());
    let params = json!({"name": "echo", "_meta": {
        "traceparent": "old", "mine": [1], "progressToken": "t",
        "io.modelcontextprotocol/protocolVersion": "1999-01-01",
    }});
    let client = Client::listening();
    raw(&upstreams, "tools/call", params.clone(), Some(client))
        .await
        .unwrap();
    raw(&upstreams, "tools/call", params, None).await.unwrap();
    upstreams.shutdown().await;
    let calls = tokio::task::spawn_blocking(move || {
        [(); 2].map(|()| recorder.message("tools/call")["params"]["_meta"].clone())
    });
    let calls = calls.await.unwrap();
    let lines = calls.map(|meta| Value::from(meta).to_json());
    lines
        .join("\n")
        .replace(env!("CARGO_PKG_VERSION"), "VERSION")
}

#[tokio::test]
async fn sends_the_client_identity() {
    assert_snapshot!(metas("2025-11-25").await, @r#"
    {"traceparent":"00-1-2-01","mine":[1],"progressToken":"request-1"}
    {"traceparent":"old","mine":[1]}
    "#);
    assert_snapshot!(metas("2026-07-28").await, @r#"
    {"traceparent":"00-1-2-01","mine":[1],"io.modelcontextprotocol/protocolVersion":"2026-07-28","progressToken":"request-0","io.modelcontextprotocol/clientInfo":{"name":"planwright","version":"VERSION"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"url":{}},"odd":{"x":1}}}
    {"traceparent":"old","mine":[1],"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"planwright","version":"VERSION"},"io.modelcontextprotocol/clientCapabilities":{}}
    "#);
}

#[tokio::test]
async fn servers_learn_the_client_capabilities() {
    let capabilities = json!({"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {"listChanged": true}});
    for revision in REVISIONS {
        let recorder = Recorder::new();
        let script = json!({"revisions": [revision], "record": recorder.address()});
        let upstreams = upstreams([fake("fake", script)]);
        upstreams.start(&capabilities.clone().into());
        // Only the first client counts.
        upstreams.start(&json!({}).into());
        assert!(upstreams.settled(super::support::EVENT_TIMEOUT).await);
        upstreams.shutdown().await;
        let expected = capabilities.clone();
        tokio::task::spawn_blocking(move || {
            let declared = match revision {
                "2025-11-25" => recorder.message("initialize")["params"]["capabilities"].clone(),
                _ => recorder.message("server/discover")["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"].clone(),
            };
            assert_eq!(declared, expected, "{revision}");
        })
        .await
        .unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn dropping_a_request_cancels_it() {
    for revision in REVISIONS {
        let recorder = Recorder::new();
        let upstreams = ready(json!({
            "revisions": [revision], "record": recorder.address(),
            "tools": [{"name": "stuck", "does": {"never": true}}, {"name": "echo"}]
        }))
        .await;
        let waiting = upstreams.clone();
        let stuck = tokio::spawn(async move { raw_call(&waiting, "stuck", None).await });
        let request = tokio::task::block_in_place(|| recorder.message("tools/call"));
        stuck.abort();
        assert!(stuck.await.unwrap_err().is_cancelled());
        let cancelled = tokio::task::block_in_place(|| recorder.message("notifications/cancelled"));
        assert_eq!(
            cancelled["params"]["requestId"], request["id"],
            "{revision}"
        );
        raw_call(&upstreams, "echo", None).await.unwrap();
        upstreams.shutdown().await;
    }
}
