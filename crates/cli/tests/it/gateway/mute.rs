//! A server that never answers does not delay the clients of other servers.

use std::time::{Duration, Instant};

use planwright_testkit::fake_server;
use planwright_testkit::wire_client::WireClient;
use serde_json::{Value, json};

use super::serve::Behind;

/// The start timeout of the server: more than the requests take on a busy machine, and less than they
/// would if each waited for it.
const START_TIMEOUT: &str = "14s";

fn behind() -> Behind {
    let mute = json!({"hang": true}).to_string();
    let quick = json!({
        "tools": [{"name": "echo", "annotations": {"readOnlyHint": true}}],
        "resources": [{"uri": "x://y", "name": "y"}],
        "prompts": [{"name": "p"}],
        "capabilities": {"tools": {}, "resources": {}, "prompts": {}},
    });
    let quick = quick.to_string();
    let program = fake_server::program();
    Behind::reaching(&json!({
        "mute": {"command": program, "args": [mute], "startTimeout": START_TIMEOUT},
        "quick": {"command": program, "args": [quick]},
    }))
}

/// Sends `requests`, which are answered with what the ready server has. Then the other one is still starting, which the list says.
#[track_caller]
fn check(client: &mut WireClient, requests: &[(&str, Value, &str)], listed: &str) {
    for (method, params, expected) in requests {
        let answer = client.request(method, params.clone()).to_string();
        assert!(answer.contains(expected), "{method} {params}: {answer}");
    }
    let list = client.request("tools/list", json!({})).to_string();
    assert!(list.contains(listed), "{list}");
}

fn call(tool: &str, arguments: Value) -> Value {
    json!({"name": tool, "arguments": arguments})
}

const STARTING: &str = "the server `mute` is still starting";

#[test]
fn in_plain_mode() {
    let requests = [
        ("tools/list", json!({}), "echo"),
        ("tools/list", json!({}), "echo"),
        ("resources/list", json!({}), "x://y"),
        ("prompts/list", json!({}), r#""name":"p""#),
        ("tools/call", call("echo", json!({"a": 7})), r#"{\"a\":7}"#),
    ];
    for revision in ["2025-11-25", "2026-07-28"] {
        let behind = behind();
        let mut client = behind.client(&["--mode", "plain"], revision, &[]);
        check(&mut client, &requests, r#""planwright/starting":["mute"]"#);
    }
}

#[test]
fn in_search_mode() {
    let echo = json!({"tool": "echo", "arguments": {"a": 7}});
    let requests = [
        ("tools/list", json!({}), "echo"),
        (
            "tools/call",
            call("search_tools", json!({"query": "echo"})),
            STARTING,
        ),
        (
            "tools/call",
            call("call_tool", echo.clone()),
            r#"{\"a\":7}"#,
        ),
        ("tools/call", call("call_tool", echo), r#"{\"a\":7}"#),
    ];
    let behind = behind();
    let mut client = behind.client(&["--mode", "search"], "2025-11-25", &[]);
    check(&mut client, &requests, STARTING_LISTED);
}

const STARTING_LISTED: &str = "The server `mute` is still starting.";

#[test]
fn in_plan_mode() {
    let plan = json!({"plan": {"steps": [{"id": "a", "tool": "echo", "args": {"a": 7}}], "output": ["a"]}});
    let requests = [
        ("tools/list", json!({}), "echo"),
        (
            "tools/call",
            call("describe_tools", json!({"tools": ["echo"]})),
            "echo",
        ),
        (
            "tools/call",
            call("describe_tools", json!({"tools": ["nil"]})),
            STARTING,
        ),
        (
            "tools/call",
            call("execute_plan", plan),
            r#""status":"succeeded""#,
        ),
    ];
    let behind = behind();
    let mut client = behind.client(&[], "2025-11-25", &[]);
    check(&mut client, &requests, STARTING_LISTED);
}

/// A client that is notified of late servers waits a second, not the five seconds of others, even if its first list directly
/// follows the handshake.
#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the test measures how long a client waits"
)]
fn the_first_list_does_not_wait_long() {
    for mode in ["plain", "search", "plan"] {
        let behind = behind();
        let mut client = behind.client(&["--mode", mode], "2025-11-25", &[]);
        let begin = Instant::now();
        let list = client.request("tools/list", json!({})).to_string();
        assert!(list.contains("echo"), "{mode}: {list}");
        let waited = begin.elapsed();
        assert!(waited < Duration::from_secs(4), "{mode}: {waited:?}");
    }
}

/// A tool that no server has may still appear; the refusal says so.
#[test]
fn the_error_for_an_unknown_name_names_the_server() {
    let behind = behind();
    let mut client = behind.client(&["--mode", "plain"], "2025-11-25", &[]);
    let refused = client.request("tools/call", call("nil", json!({})));
    assert_eq!(
        refused["error"]["message"],
        format!("unknown tool `nil`; {STARTING}")
    );
}
