//! Tests of calls and their outcomes.

use std::time::Duration;

use futures::future::join_all;
use insta::assert_snapshot;
use planwright_engine::backend::{RetryAdvice, ToolBackend};
use planwright_mcp::ServerConfig;
use planwright_testkit::fake_server::Recorder;
use serde_json::json;

use crate::support::{call, connect, connect_fake, describe, fake, outcome_of, tool_call};

#[tokio::test]
async fn returns_results_unchanged() {
    let cases = [
        json!({}),
        json!({"text": "02134"}),
        json!({"text": "{\"b\": 1, \"a\": [1.50, 12345678901234567890]}"}),
        json!({"structured": {"z": null, "a": "ä"}}),
        json!({"structured": [1, 2]}),
        json!({"result": {"content": [], "structuredContent": null}}),
        json!({"result": {"content": [{"type": "text", "text": "see"}, {"type": "image", "data": "aGk=", "mimeType": "image/png"},
            {"type": "resource_link", "uri": "file:///a", "name": "a"}, {"type": "hologram", "depth": 3}]}}),
        json!({"result": {"content": [{"type": "text", "text": "x", "annotations": {"audience": ["martian"]}}]}}),
        json!({"result": {}}),
        json!({"raw": "{\"jsonrpc\":\"2.0\",\"id\":\"$ID\",\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"cut \\ud83d\"}]}}"}),
        json!({"first": ["debug: called", {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 1, "progress": 0.5}},
            {"jsonrpc": "2.0", "id": 999, "result": {}}], "text": "after noise"}),
    ];
    assert_snapshot!(join_all(cases.map(outcome_of)).await.join("\n"), @r#"
    {"x":1} text "{\"x\":1}"
    "02134"
    {"b":1,"a":[1.5,12345678901234567890]} text "{\"b\": 1, \"a\": [1.50, 12345678901234567890]}"
    {"z":null,"a":"ä"} text "{\"z\":null,\"a\":\"ä\"}"
    [1,2] text "[1,2]"
    null
    "see" and [{"type":"image","data":"aGk=","mimeType":"image/png"},{"type":"resource_link","uri":"file:///a","name":"a"},{"type":"hologram","depth":3}]
    "x"
    null
    "cut �"
    "after noise"
    "#);
}

#[tokio::test]
async fn distinguishes_failures() {
    let cases = [
        json!({"result": {"isError": true, "content": [{"type": "text", "text": "no such file"}]}}),
        json!({"result": {"isError": true, "content": [], "structuredContent": {"code": "declined", "message": "Declined."}}}),
        json!({"error": {"code": -32602, "message": "`x` must be a string", "data": {"field": "x"}}}),
        json!({"error": {"code": -32603, "message": "boom"}}),
        json!({"error": {"code": -32050, "message": "quota"}}),
        json!({"error": {"code": -32000, "message": "no such row"}}),
    ];
    assert_snapshot!(join_all(cases.map(outcome_of)).await.join("\n"), @r#"
    tool: no such file
    tool: Declined. {"code":"declined","message":"Declined."}
    arguments: `x` must be a string {"code":-32602,"data":{"field":"x"}}
    tool: boom {"code":-32603}
    tool: quota {"code":-32050}
    tool: no such row {"code":-32000}
    "#);
}

#[tokio::test]
async fn an_answer_that_cannot_be_read_leaves_the_outcome_unknown() {
    let deep = format!("{}1{}", "[".repeat(300), "]".repeat(300));
    let raw =
        |result: &str| json!({"raw": format!(r#"{{"jsonrpc":"2.0","id":$ID,"result":{result}}}"#)});
    let structured = |value: &str| raw(&format!(r#"{{"structuredContent":{value}}}"#));
    let cases = [
        structured("NaN"),
        structured("[-Infinity]"),
        structured("1e400"),
        structured(&deep),
        structured("\"cut off"),
        structured("\"a \"quote\" {\""),
        json!({"raw": r#"{"jsonrpc":"2.0","result":{"structuredContent":NaN}}"#}),
        json!({"raw": r#"{"jsonrpc":"2.0","id":$ID}"#}),
        json!({"raw": r#"{"jsonrpc":"2.0","id":$ID,"result":{},"error":{"code":1,"message":"no"}}"#}),
        json!({"raw": r#"[{"jsonrpc":"2.0","id":$ID,"result":{}}]"#}),
        json!({"result": 5}),
        json!({"result": []}),
        raw("null"),
        json!({"result": {"isError": "true", "content": []}}),
        json!({"result": {"resultType": "task", "task": {}}}),
        json!({"result": {"resultType": 1}}),
        json!({"error": {"code": -32001, "message": "Request timed out"}}),
        json!({"error": {"code": -32800, "message": "cancelled"}}),
        json!({"error": {"code": -32000, "message": "MCP error -32000: Connection closed"}}),
        json!({"error": {"code": 504, "message": "upstream"}}),
        json!({"error": {"code": -32603, "message": "it did not answer", "data": {"outcome": "unknown"}}}),
        json!({"exit": 7}),
    ];
    assert_snapshot!(join_all(cases.map(outcome_of)).await.join("\n"), @r#"
    unavailable: the answer of the server `fake` cannot be read: expected value (unknown)
    unavailable: the answer of the server `fake` cannot be read: invalid number (unknown)
    unavailable: the answer of the server `fake` cannot be read: number out of range (unknown)
    unavailable: the answer of the server `fake` cannot be read: recursion limit exceeded (unknown)
    unavailable: the answer of the server `fake` cannot be read: EOF while parsing a string (unknown)
    unavailable: the answer of the server `fake` cannot be read: expected `,` or `}` (unknown)
    unavailable: the answer of the server `fake` cannot be read: expected value (unknown)
    unavailable: the answer of the server `fake` cannot be read: it has neither a result nor an error (unknown)
    unavailable: the answer of the server `fake` cannot be read: it has both a result and an error (unknown)
    unavailable: the answer of the server `fake` cannot be read: invalid type: sequence, expected a JSON-RPC message (unknown)
    unavailable: the server `fake` answered with a number instead of the result of a tool (unknown)
    unavailable: the server `fake` answered with a list instead of the result of a tool (unknown)
    unavailable: the server `fake` answered with a null instead of the result of a tool (unknown)
    unavailable: the tool's result cannot be read: its `isError` is a text (unknown)
    unavailable: the server `fake` answered with a result of the kind `task`, which was not requested (unknown)
    unavailable: the server `fake` answered with a result of the kind `1`, which was not requested (unknown)
    tool: Request timed out {"code":-32001} (unknown)
    tool: cancelled {"code":-32800} (unknown)
    tool: MCP error -32000: Connection closed {"code":-32000} (unknown)
    tool: upstream {"code":504} (unknown)
    tool: it did not answer {"code":-32603,"data":{"outcome":"unknown"}} (unknown)
    unavailable: the server `fake` did not answer: it stopped (exit status: 7) (unknown)
    "#);
}

#[tokio::test]
async fn cancels_what_servers_ask_for() {
    let cases = [
        json!({"ask": {"method": "elicitation/create", "params": {"message": "Sure?", "requestedSchema": {"type": "object", "properties": {}}}}}),
        json!({"ask": {"method": "roots/list"}}),
        json!({"ask": {"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 1}}}),
        json!({"ask": {"method": "ping"}}),
        json!({"ask": {"method": "made/up"}}),
        json!({"input_required": {"q": {"method": "elicitation/create", "params": {"message": "Sure?", "requestedSchema": {"type": "object", "properties": {}}}}}}),
        json!({"input_required": {"q": {"method": "sampling/createMessage", "params": {}}}}),
        json!({"input_required": {}}),
    ];
    assert_snapshot!(join_all(cases.map(outcome_of)).await.join("\n"), @r#"
    {"result":{"action":"cancel"}} text "{\"result\":{\"action\":\"cancel\"}}"
    {"result":{"roots":[]}} text "{\"result\":{\"roots\":[]}}"
    {"error":{"code":-32601,"message":"sampling/createMessage"}} text "{\"error\":{\"code\":-32601,\"message\":\"sampling/createMessage\"}}"
    {"result":{}} text "{\"result\":{}}"
    {"error":{"code":-32601,"message":"made/up"}} text "{\"error\":{\"code\":-32601,\"message\":\"made/up\"}}"
    {"q":{"action":"cancel"}} text "{\"q\":{\"action\":\"cancel\"}}"
    tool: the tool asks for `sampling/createMessage`, which is not offered
    tool: the tool asked for more input 10 times (unknown)
    "#);
}

#[tokio::test]
async fn quotes_what_a_server_sent_in_place_of_an_answer() {
    let cases = [
        json!(["not json\u{202e} at all"]),
        json!([{"jsonrpc": "2.0", "id": 99999, "result": {}}]),
        json!(["x".repeat(1000)]),
        json!([]),
    ];
    let outcomes = join_all(cases.map(async |first| {
        let script = json!({"tools": [{"name": "stuck", "does": {"first": first, "never": true}}]});
        let mut config = fake("fake", script);
        config.timeout = Some(Duration::from_millis(300));
        let connections = connect([config]).await;
        describe(call(&connections, "fake", "stuck", json!({})).await)
    }));
    let exits = outcome_of(json!({"first": ["Traceback: no such table"], "exit": 7})).await;
    assert_snapshot!(format!("{}\n{exits}", outcomes.await.join("\n")), @r#"
    timeout: `stuck` took longer than 300ms: the server `fake` sent a line that is no message of MCP: `not json\u{202e} at all` (unknown)
    timeout: `stuck` took longer than 300ms: the server `fake` answered the request `99999`, which was never sent (unknown)
    timeout: `stuck` took longer than 300ms: the server `fake` sent a line that is no message of MCP: `xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…` (unknown)
    timeout: `stuck` took longer than 300ms (unknown)
    unavailable: the server `fake` did not answer: it stopped (exit status: 7); it sent a line that is no message of MCP: `Traceback: no such table` {"stderr":"[on stdout, not a message] Traceback: no such table"} (unknown)
    "#);
    let mut silent = fake("fake", json!({"stdout": "ready!", "hang": true}));
    silent.start_timeout = Some(Duration::from_millis(300));
    let connections = connect([silent]).await;
    assert_snapshot!(connections.failures()[0], @"the server `fake` did not start: it was not ready within 300ms; it sent a line that is no message of MCP: `ready!`");
}

#[tokio::test]
async fn carries_the_idempotency_key() {
    let recorder = Recorder::new();
    let connections =
        connect_fake(json!({"record": recorder.address(), "tools": [{"name": "echo"}]})).await;
    call(&connections, "fake", "echo", json!({"a": [1]}))
        .await
        .unwrap();
    let message = recorder.message("tools/call");
    assert_eq!(
        message["params"]["_meta"]["planwright/idempotency-key"],
        "key-1"
    );
    assert_eq!(message["params"]["arguments"], json!({"a": [1]}));
    let outcome = call(&connections, "fake", "echo", json!([1])).await;
    assert_snapshot!(describe(outcome), @"arguments: the arguments of `echo` must be an object, not a list");
}

#[tokio::test(flavor = "multi_thread")]
async fn dropping_a_call_cancels_it() {
    for revision in ["2026-07-28", "2025-11-25"] {
        let recorder = Recorder::new();
        let connections = connect_fake(json!({
            "revisions": [revision], "record": recorder.address(),
            "tools": [{"name": "stuck", "does": {"never": true}}, {"name": "echo"}]
        }))
        .await;
        let backends = connections.backends();
        let stuck =
            tokio::spawn(async move { backends.call(tool_call("fake", "stuck", json!({}))).await });
        let request = tokio::task::block_in_place(|| recorder.message("tools/call"));
        stuck.abort();
        assert!(stuck.await.unwrap_err().is_cancelled());
        let cancelled = tokio::task::block_in_place(|| recorder.message("notifications/cancelled"));
        assert_eq!(
            cancelled["params"]["requestId"], request["id"],
            "{revision}"
        );
        call(&connections, "fake", "echo", json!({})).await.unwrap();
        connections.shutdown().await;
    }
}

/// The script of a server whose tool `research` is called as a task only.
fn with_task(recorder: &Recorder, answers: serde_json::Value) -> serde_json::Value {
    json!({
        "revisions": ["2025-11-25"], "record": recorder.address(),
        "capabilities": {"tools": {}, "tasks": {"requests": {"tools": {"call": {}}}, "cancel": {}}},
        "tools": [{
            "name": "research", "execution": {"taskSupport": "required"},
            "does": {"result": {"task": {"taskId": "t1", "status": "working", "pollInterval": 1}}}
        }],
        "answers": answers
    })
}

#[tokio::test]
async fn a_tool_that_requires_a_task_is_called_as_one() {
    let recorder = Recorder::new();
    let script = with_task(
        &recorder,
        json!({
            "tasks/get": {"taskId": "t1", "status": "completed"},
            "tasks/result": {"content": [{"type": "text", "text": "found"}]}
        }),
    );
    let connections = connect_fake(script).await;
    let outcome = call(&connections, "fake", "research", json!({"topic": "x"})).await;
    assert_snapshot!(describe(outcome), @r#""found""#);
    let request = recorder.message("tools/call");
    assert_eq!(request["params"]["task"], json!({}));
    assert_eq!(request["params"]["arguments"], json!({"topic": "x"}));
    for method in ["tasks/get", "tasks/result"] {
        assert_eq!(recorder.message(method)["params"]["taskId"], "t1");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_fails_may_have_been_carried_out() {
    let recorder = Recorder::new();
    let connections = connect_fake(with_task(&recorder, json!({}))).await;
    let outcome = call(&connections, "fake", "research", json!({})).await;
    let error = outcome.unwrap_err();
    assert_eq!(error.retry, RetryAdvice::Uncertain);
    // The request for its status was refused, so it is cancelled.
    let cancelled = tokio::task::block_in_place(|| recorder.message("tasks/cancel"));
    assert_eq!(cancelled["params"]["taskId"], "t1");
}

#[tokio::test(flavor = "multi_thread")]
async fn dropping_a_call_cancels_its_task() {
    let recorder = Recorder::new();
    let working = json!({"taskId": "t1", "status": "working", "pollInterval": 1});
    let script = with_task(&recorder, json!({"tasks/get": working, "tasks/cancel": {}}));
    let connections = connect_fake(script).await;
    let backends = connections.backends();
    let research = tokio::spawn(async move {
        backends
            .call(tool_call("fake", "research", json!({})))
            .await
    });
    tokio::task::block_in_place(|| recorder.message("tasks/get"));
    research.abort();
    assert!(research.await.unwrap_err().is_cancelled());
    let cancelled = tokio::task::block_in_place(|| recorder.message("tasks/cancel"));
    assert_eq!(cancelled["params"]["taskId"], "t1");
}

#[tokio::test]
async fn a_server_may_have_a_timeout_of_its_own() {
    let recorder = Recorder::new();
    let script = json!({"record": recorder.address(), "tools": [{"name": "stuck", "does": {"never": true}}]});
    let config = ServerConfig {
        timeout: Some(Duration::from_millis(50)),
        ..fake("fake", script)
    };
    let connections = connect([config]).await;
    let outcome = call(&connections, "fake", "stuck", json!({})).await;
    assert_snapshot!(describe(outcome), @"timeout: `stuck` took longer than 50ms (unknown)");
    tokio::task::spawn_blocking(move || recorder.message("notifications/cancelled"))
        .await
        .unwrap();
}

#[tokio::test]
async fn calls_run_concurrently() {
    let recorder = Recorder::new();
    let connections = connect_fake(json!({
        "record": recorder.address(),
        "tools": [{"name": "held", "does": {"wait_for_release": true}}]
    }))
    .await;
    let backends = connections.backends();
    let calls =
        (0..50).map(|index| backends.call(tool_call("fake", "held", json!({"index": index}))));
    let release = tokio::task::spawn_blocking(move || {
        for _ in 0..50 {
            recorder.message("tools/call");
        }
        recorder.release();
    });
    let outcomes = join_all(calls).await;
    release.await.unwrap();
    for (index, outcome) in outcomes.into_iter().enumerate() {
        assert_eq!(
            outcome.unwrap().value.to_json(),
            format!(r#"{{"index":{index}}}"#)
        );
    }
}

#[tokio::test]
async fn large_results_arrive() {
    // Longer than the default message limit of `rmcp`.
    let length = 20 << 20;
    let connections =
        connect_fake(json!({"tools": [{"name": "big", "does": {"text_bytes": length}}]})).await;
    let output = call(&connections, "fake", "big", json!({})).await.unwrap();
    assert_eq!(output.value.as_text().map(str::len), Some(length));
}

#[tokio::test]
async fn a_server_that_died_is_started_again() {
    let recorder = Recorder::new();
    let connections = connect_fake(json!({
        "record": recorder.address(), "stderr": "up",
        "tools": [{"name": "die", "does": {"exit": 1}}, {"name": "echo"}]
    }))
    .await;
    let mut lines = Vec::new();
    for tool in ["die", "echo", "die", "die", "die", "die", "echo"] {
        lines.push(describe(call(&connections, "fake", tool, json!({})).await));
    }
    assert_snapshot!(lines.join("\n"), @r#"
    unavailable: the server `fake` did not answer: it stopped (exit status: 1) {"stderr":"up"} (unknown)
    {} text "{}"
    unavailable: the server `fake` did not answer: it stopped (exit status: 1) {"stderr":"up\nup"} (unknown)
    unavailable: the server `fake` did not answer: it stopped (exit status: 1) {"stderr":"up\nup\nup"} (unknown)
    unavailable: the server `fake` did not answer: it stopped (exit status: 1) {"stderr":"up\nup\nup\nup"} (unknown)
    unavailable: the server `fake` did not answer: it stopped (exit status: 1) {"stderr":"up\nup\nup\nup\nup"} (unknown)
    unavailable: the server `fake` was restarted 3 times without success {"stderr":"up\nup\nup\nup\nup"}
    "#);
}

#[tokio::test]
async fn all_calls_in_flight_learn_of_the_death() {
    let connections = connect_fake(json!({"tools": [
        {"name": "stuck", "does": {"never": true}}, {"name": "die", "does": {"delay_ms": 50, "exit": 1}}
    ]}))
    .await;
    let backends = connections.backends();
    let calls =
        ["stuck", "stuck", "die"].map(|tool| backends.call(tool_call("fake", tool, json!({}))));
    for outcome in join_all(calls).await {
        assert_eq!(
            describe(outcome),
            "unavailable: the server `fake` did not answer: it stopped (exit status: 1) (unknown)"
        );
    }
}

#[tokio::test]
async fn errors_show_the_last_words_without_secrets() {
    let script =
        json!({"stderr": "key is tok-987654", "tools": [{"name": "die", "does": {"exit": 1}}]});
    let config = ServerConfig {
        secrets: vec!["tok-987654".into()],
        ..fake("fake", script)
    };
    let connections = connect([config]).await;
    let outcome = call(&connections, "fake", "die", json!({})).await;
    assert_snapshot!(describe(outcome),
        @r#"unavailable: the server `fake` did not answer: it stopped (exit status: 1) {"stderr":"key is [redacted]"} (unknown)"#);
}

#[cfg(unix)]
#[tokio::test]
async fn a_server_that_stopped_listening_is_started_again() {
    // The server answers both requests of the start, and closes its input after the second.
    let shell = r#"
        echo up >&2
        read line
        echo '{"id":4000000001,"jsonrpc":"2.0","result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{},"ttlMs":0,"cacheScope":"private"}}'
        read line
        exec 0<&-
        echo '{"id":0,"jsonrpc":"2.0","result":{"resultType":"complete","tools":[{"name":"echo"}]}}'
        exec sleep 1000
    "#;
    let config = ServerConfig {
        start_timeout: Some(Duration::from_secs(1)),
        ..ServerConfig::new("deaf", "sh", ["-c", shell])
    };
    let connections = connect([config]).await;
    assert_eq!(connections.failures(), []);
    let outcome = call(&connections, "deaf", "echo", json!({})).await;
    assert_snapshot!(describe(outcome),
        @r#"unavailable: the server `deaf` did not answer: it closed the connection {"stderr":"up"} (unknown)"#);
    // The next call restarts the server without listing its tools, so the call is its second message.
    let outcome = call(&connections, "deaf", "echo", json!({})).await;
    assert_snapshot!(describe(outcome), @"null");
    assert_eq!(connections.stderr("deaf").as_deref(), Some("up\nup\n"));
}

#[tokio::test]
async fn no_number_of_a_result_is_rounded() {
    let raw = |number: &str| {
        let line = r#"{"jsonrpc": "2.0", "id": $ID, "result": {"content": [], "structuredContent": {"n": NUMBER, "t": "123456789012345678901"}}}"#;
        json!({"raw": line.replace("NUMBER", number)})
    };
    let connections = connect_fake(json!({"revisions": ["2025-11-25"], "tools": [
        {"name": "fits", "does": raw("18446744073709551615")},
        {"name": "large", "inputSchema": {"type": "object"}, "does": raw("123456789012345678901234567890")},
    ]}))
    .await;
    let fits = call(&connections, "fake", "fits", json!({})).await.unwrap();
    assert_eq!(
        fits.value.to_json(),
        r#"{"n":18446744073709551615,"t":"123456789012345678901"}"#
    );
    let outcome = call(&connections, "fake", "large", json!({})).await;
    assert_snapshot!(describe(outcome), @"unavailable: the answer of the server `fake` cannot be read: its number `123456789012345678901234567890` does not fit into 64 bits (unknown)");
}
