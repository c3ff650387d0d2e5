//! Tests of responses over HTTP, and of a real server.

use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::future::join_all;
use insta::assert_snapshot;
use planwright_mcp::{ConnectOptions, HttpConfig, ServerConfig};
use planwright_testkit::real_servers::program;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use super::scripted::{Answer, PAUSE, Request, Scripted};
use crate::support::{call, connect, connect_with, describe};
use crate::upstreams::support::{upstreams, view_when};

const KEY: (&str, &str) = ("Authorization", "Bearer tok-987654");

/// Returns the failure of a server that gives this response to every request.
async fn refused(answer: fn() -> Answer, headers: &[(&str, &str)]) -> String {
    let server = Scripted::start(move |_| Some(answer())).await;
    let connections = connect([server.config(headers)]).await;
    let [failure] = connections.failures() else {
        panic!("it is there");
    };
    let lines = format!("{failure:?}");
    assert!(
        !lines.contains("987654") && !lines.contains("k-123456"),
        "{lines}"
    );
    format!("{}\n  {}", failure.message, failure.help)
}

/// Returns the outcome of a call with this response.
async fn called(answer: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> String {
    let server =
        Scripted::start(move |request| (request.what() == "tools/call").then(|| answer(request)))
            .await;
    let options = ConnectOptions {
        message_limit: 2000,
        ..ConnectOptions::default()
    };
    let connections = connect_with([server.config(&[])], options).await;
    assert_eq!(connections.failures(), []);
    let outcome = call(&connections, "far", "echo", json!({})).await;
    connections.shutdown().await;
    describe(outcome)
}

#[tokio::test]
async fn a_refusal_says_what_to_do() {
    let page = || {
        Answer(
            "200 OK",
            &[("content-type", "text/html")],
            "<html>".to_owned(),
        )
    };
    let locked = || {
        Answer(
            "401 Unauthorized",
            &[("www-authenticate", "Bearer realm=\"x\"")],
            String::new(),
        )
    };
    let gone = || Answer("404 Not Found", &[], "no".to_owned());
    let elsewhere = || {
        Answer(
            "307 Temporary Redirect",
            &[("location", "http://example.invalid/mcp")],
            String::new(),
        )
    };
    let broken = || Answer("502 Bad Gateway", &[], "tok-987654".to_owned());
    let error = || {
        Answer(
            "400 Bad Request",
            &[("content-type", "application/json")],
            json!({"error": {"code": -32600, "message": "go away"}, "id": null}).to_string(),
        )
    };
    let lines = [
        refused(page, &[]).await,
        refused(locked, &[]).await,
        refused(locked, &[KEY]).await,
        refused(gone, &[]).await,
        refused(elsewhere, &[KEY]).await,
        refused(broken, &[KEY]).await,
        refused(error, &[]).await,
    ];
    assert_snapshot!(lines.join("\n"), @"
    the server `far` did not start: its answer cannot be read: it is neither JSON nor a stream of events
      check that its `url` is the address of its MCP endpoint
    the server `far` did not start: it requires a login (HTTP 401)
      run `planwright login far`, or put a key for it into its `headers`
    the server `far` did not start: it answered with HTTP 401 Unauthorized
      check that its `headers` contain a valid key
    the server `far` did not start: it answered with HTTP 404 Not Found
      check that its `url` is the address of its MCP endpoint
    the server `far` did not start: it answered with HTTP 307 Temporary Redirect
      write the address that it redirects to as `url`
    the server `far` did not start: it answered with HTTP 502 Bad Gateway
      read the log of the server
    the server `far` did not start: it rejected the handshake: go away
      check that its `url` is the address of its MCP endpoint
    ");
}

#[tokio::test]
async fn an_answer_may_be_lost() {
    const EVENTS: &[(&str, &str)] = &[("content-type", "text/event-stream")];
    let lines = [
        called(|request| {
            let Answer(_, _, message) = request.result(json!({"content": [], "structuredContent": {"odd": [1.50, null]}}));
            Answer("200 OK", EVENTS, format!(": hello\n\nevent: ping\ndata: 1\n\ndata: {message}\n\n"))
        })
        .await,
        called(|_| Answer("200 OK", EVENTS, "data: {}\n\n".to_owned())).await,
        called(|_| Answer("200 OK", EVENTS, format!("data: {}\n\n", "x".repeat(3000)))).await,
        called(|request| request.result(json!({"content": [{"type": "text", "text": "x".repeat(3000)}]}))).await,
        called(|_| Answer("200 OK", &[("content-type", "application/json")], "nonsense".to_owned())).await,
        called(|_| Answer("500 Internal Server Error", &[], String::new())).await,
        called(|_| Answer("429 Too Many Requests", &[], String::new())).await,
        called(|_| {
            let error = json!({"jsonrpc": "2.0", "id": "server-error", "error": {"code": -32602, "message": "no such tool", "data": [1]}});
            Answer("400 Bad Request", &[], error.to_string())
        })
        .await,
    ];
    assert_snapshot!(lines.join("\n"), @r#"
    {"odd":[1.5,null]}
    unavailable: the server `far` did not answer: the connection was lost before the answer came (unknown)
    unavailable: the server `far` did not answer: it sent a message that is longer than the limit (unknown)
    unavailable: the server `far` did not answer: it sent a message that is longer than the limit (unknown)
    unavailable: the server `far` did not answer: its answer cannot be read: it is not a message of MCP (unknown)
    unavailable: the server `far` did not answer: it answered with HTTP 500 Internal Server Error (unknown)
    unavailable: the server `far` was not reached: it answered with HTTP 429 Too Many Requests (retry)
    arguments: no such tool {"code":-32602,"data":[1]}
    "#);
}

#[tokio::test]
async fn a_status_says_whether_a_call_may_have_been_carried_out() {
    const NONE: &[(&str, &str)] = &[];
    const LATER: &[(&str, &str)] = &[("retry-after", "0")];
    let cases = [
        ("204 No Content", NONE),
        ("205 Reset Content", NONE),
        ("302 Found", NONE),
        ("303 See Other", NONE),
        ("308 Permanent Redirect", NONE),
        ("400 Bad Request", NONE),
        ("401 Unauthorized", NONE),
        ("403 Forbidden", NONE),
        ("405 Method Not Allowed", NONE),
        ("408 Request Timeout", NONE),
        ("409 Conflict", NONE),
        ("410 Gone", NONE),
        ("413 Content Too Large", NONE),
        ("418 I'm a teapot", NONE),
        ("422 Unprocessable Entity", NONE),
        ("425 Too Early", NONE),
        ("429 Too Many Requests", LATER),
        ("499 Client Closed Request", NONE),
        ("500 Internal Server Error", NONE),
        ("502 Bad Gateway", NONE),
        ("503 Service Unavailable", NONE),
        ("503 Service Unavailable", LATER),
        ("504 Gateway Timeout", NONE),
    ];
    let mut lines = Vec::new();
    for (status, headers) in cases {
        lines.push(called(move |_| Answer(status, headers, String::new())).await);
    }
    assert_snapshot!(lines.join("\n"), @"
    unavailable: the server `far` did not answer: its answer cannot be read: it is neither JSON nor a stream of events (unknown)
    unavailable: the server `far` did not answer: its answer cannot be read: it is neither JSON nor a stream of events (unknown)
    unavailable: the server `far` did not answer: it answered with HTTP 302 Found (unknown)
    unavailable: the server `far` did not answer: it answered with HTTP 303 See Other (unknown)
    unavailable: the server `far` was not reached: it answered with HTTP 308 Permanent Redirect (retry)
    unavailable: the server `far` was not reached: it answered with HTTP 400 Bad Request (retry)
    unavailable: the server `far` was not reached: it requires a login (HTTP 401) (retry)
    unavailable: the server `far` was not reached: it answered with HTTP 403 Forbidden (retry)
    unavailable: the server `far` was not reached: it answered with HTTP 405 Method Not Allowed (retry)
    unavailable: the server `far` did not answer: it answered with HTTP 408 Request Timeout (unknown)
    unavailable: the server `far` did not answer: it answered with HTTP 409 Conflict (unknown)
    unavailable: the server `far` did not answer: it answered with HTTP 410 Gone (unknown)
    unavailable: the server `far` was not reached: it answered with HTTP 413 Payload Too Large (retry)
    unavailable: the server `far` did not answer: it answered with HTTP 418 I'm a teapot (unknown)
    unavailable: the server `far` was not reached: it answered with HTTP 422 Unprocessable Entity (retry)
    unavailable: the server `far` did not answer: it answered with HTTP 425 Too Early (unknown)
    unavailable: the server `far` was not reached: it answered with HTTP 429 Too Many Requests (retry)
    unavailable: the server `far` did not answer: it answered with HTTP 499 <unknown status code> (unknown)
    unavailable: the server `far` did not answer: it answered with HTTP 500 Internal Server Error (unknown)
    unavailable: the server `far` did not answer: it answered with HTTP 502 Bad Gateway (unknown)
    unavailable: the server `far` did not answer: it answered with HTTP 503 Service Unavailable (unknown)
    unavailable: the server `far` was not reached: it answered with HTTP 503 Service Unavailable (retry)
    unavailable: the server `far` did not answer: it answered with HTTP 504 Gateway Timeout (unknown)
    ");
}

#[tokio::test]
async fn an_error_of_mcp_counts_for_more_than_most_statuses() {
    let error = |status: &'static str, named: bool, code: i64| {
        called(move |request| {
            let id = if named {
                request.body["id"].clone()
            } else {
                Value::Null
            };
            let error =
                json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": "words"}});
            Answer(status, &[], error.to_string())
        })
    };
    let lines = [
        error("400 Bad Request", false, -32600).await,
        error("400 Bad Request", true, -32001).await,
        error("409 Conflict", true, -32603).await,
        error("409 Conflict", false, -32603).await,
        error("500 Internal Server Error", true, -32603).await,
        error("500 Internal Server Error", false, -32603).await,
        error("500 Internal Server Error", true, -32001).await,
        error("504 Gateway Timeout", true, -32603).await,
    ];
    assert_snapshot!(lines.join("\n"), @r#"
    tool: words {"code":-32600}
    unavailable: the server `far` was not reached: it answered with HTTP 400 Bad Request: words (retry)
    tool: words {"code":-32603}
    unavailable: the server `far` did not answer: it answered with HTTP 409 Conflict: words (unknown)
    tool: words {"code":-32603}
    unavailable: the server `far` did not answer: it answered with HTTP 500 Internal Server Error: words (unknown)
    tool: words {"code":-32001} (unknown)
    unavailable: the server `far` did not answer: it answered with HTTP 504 Gateway Timeout: words (unknown)
    "#);
}

#[tokio::test]
async fn an_unreadable_answer_over_http_leaves_the_outcome_unknown() {
    const JSON: &[(&str, &str)] = &[("content-type", "application/json")];
    const EVENTS: &[(&str, &str)] = &[("content-type", "text/event-stream")];
    const PAGE: &[(&str, &str)] = &[("content-type", "text/html")];
    const LONG: &[(&str, &str)] = &[
        ("content-type", "application/json"),
        ("content-length", "500"),
    ];
    let body = |headers: &'static [(&str, &str)], text: &'static str| {
        called(move |request| {
            let text = text.replace("$ID", &request.body["id"].to_string());
            Answer("200 OK", headers, text)
        })
    };
    let lines = [
        body(
            JSON,
            r#"{"jsonrpc":"2.0","id":$ID,"result":{"structuredContent":NaN}}"#,
        )
        .await,
        body(
            EVENTS,
            "data: {\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{\"x\":NaN}}\n\n",
        )
        .await,
        body(
            EVENTS,
            "data: {\"jsonrpc\":\"2.0\",\"result\":{\"x\":NaN}}\n\n",
        )
        .await,
        body(JSON, r#"{"jsonrpc":"2.0","id":$ID,"result":[]}"#).await,
        body(JSON, r#"{"jsonrpc":"2.0","id":$ID,"result":{"content":["#).await,
        body(JSON, r#"{"jsonrpc":"2.0","id":9999,"result":{}}"#).await,
        body(
            JSON,
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}"#,
        )
        .await,
        body(
            JSON,
            r#"{"jsonrpc":"2.0","method":"notifications/message","params":{}}"#,
        )
        .await,
        body(JSON, "").await,
        body(LONG, r#"{"jsonrpc":"2.0","id":$ID,"result":{}}"#).await,
        body(PAGE, r#"{"jsonrpc":"2.0","id":$ID,"result":{}}"#).await,
        body(&[], r#"{"jsonrpc":"2.0","id":$ID,"result":{}}"#).await,
    ];
    assert_snapshot!(lines.join("\n"), @"
    unavailable: the answer of the server `far` cannot be read: expected value (unknown)
    unavailable: the answer of the server `far` cannot be read: expected value (unknown)
    unavailable: the answer of the server `far` cannot be read: expected value (unknown)
    unavailable: the server `far` answered with a list instead of the result of a tool (unknown)
    unavailable: the answer of the server `far` cannot be read: EOF while parsing a list (unknown)
    unavailable: the server `far` did not answer: its answer cannot be read: it does not answer the request (unknown)
    unavailable: the server `far` did not answer: its answer cannot be read: it does not answer the request (unknown)
    unavailable: the server `far` did not answer: its answer cannot be read: it does not answer the request (unknown)
    unavailable: the server `far` did not answer: its answer cannot be read: it is not a message of MCP (unknown)
    unavailable: the server `far` did not answer: the connection to it was lost: end of file before message length reached (unknown)
    unavailable: the server `far` did not answer: its answer cannot be read: it is neither JSON nor a stream of events (unknown)
    unavailable: the server `far` did not answer: its answer cannot be read: it is neither JSON nor a stream of events (unknown)
    ");
}

/// The reference server of the conformance suite streams lines of JSON under the content type of a single message.
#[tokio::test]
async fn a_json_answer_may_have_a_message_on_each_line() {
    const NOTICE: &str = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{}}"#;
    let lines = |text: &'static str| {
        called(move |request| {
            let content = json!([{"type": "text", "text": "done"}]);
            let Answer(status, headers, message) = request.result(json!({"content": content}));
            let text = text.replace("$NOTICE", NOTICE).replace("$RESULT", &message);
            Answer(status, headers, text)
        })
    };
    let lines = [
        lines("$RESULT\n").await,
        lines("$NOTICE\n$RESULT").await,
        lines("\n$NOTICE\r\n$NOTICE\r\n$RESULT\r\n").await,
        lines("$RESULT\n$NOTICE\nnonsense").await,
        lines("$RESULT nonsense").await,
        lines("nonsense\n$RESULT").await,
        lines("$NOTICE\n").await,
        lines("$NOTICE\n{\"id\":9999,\"result\":{}}\n").await,
    ];
    assert_snapshot!(lines.join("\n"), @r#"
    "done"
    "done"
    "done"
    "done"
    unavailable: the answer of the server `far` cannot be read: trailing characters (unknown)
    unavailable: the server `far` did not answer: its answer cannot be read: it is not a message of MCP (unknown)
    unavailable: the server `far` did not answer: the connection was lost before the answer came (unknown)
    unavailable: the server `far` did not answer: the connection was lost before the answer came (unknown)
    "#);
}

#[tokio::test]
async fn messages_on_lines_arrive_before_the_body_ends() {
    let acknowledged = notification("subscriptions/acknowledged");
    let changed = notification("tools/list_changed");
    let body = format!("{acknowledged}\n{PAUSE}{changed}\n{PAUSE}");
    let server = Scripted::start(move |request| match request.what() {
        "server/discover" => Some(request.result(json!({
            "resultType": "complete",
            "supportedVersions": ["2026-07-28"],
            "capabilities": {"tools": {"listChanged": true}},
            "ttlMs": 0,
            "cacheScope": "private",
        }))),
        "subscriptions/listen" => Some(Answer(
            "200 OK",
            &[("content-type", "application/json")],
            body.clone(),
        )),
        _ => None,
    })
    .await;
    let upstreams = upstreams([server.config(&[])]);
    upstreams.start(&json!({}).into());
    view_when(&upstreams, |view| view.changes.tools == 1).await;
    server.resume();
    view_when(&upstreams, |view| view.changes.tools == 2).await;
    let asked = server.asked();
    upstreams.shutdown().await;
    // The body has not ended, so this is the first subscription.
    let subscriptions = asked.iter().filter(|what| *what == "subscriptions/listen");
    assert_eq!(subscriptions.count(), 1);
}

fn notification(name: &str) -> Value {
    json!({"jsonrpc": "2.0", "method": format!("notifications/{name}"), "params": {}})
}

#[tokio::test]
async fn a_dropped_session_is_reopened() {
    let is_forgotten = Arc::new(AtomicBool::new(true));
    let server = Scripted::start(move |request| {
        let is_call = request.what() == "tools/call";
        (is_call && is_forgotten.swap(false, Ordering::Relaxed))
            .then(|| Answer("404 Not Found", &[], String::new()))
    })
    .await;
    let connections = connect([server.config(&[KEY])]).await;
    let outcome = call(&connections, "far", "echo", json!({})).await;
    connections.shutdown().await;
    assert_snapshot!(describe(outcome), @r#""done""#);
    let mut asked = server.asked();
    // The stream of server-initiated messages is requested at an unspecified time.
    asked.retain(|what| what != "GET");
    assert_snapshot!(asked.join("\n"), @"
    server/discover
    initialize
    notifications/initialized
    tools/list
    tools/call
    initialize
    notifications/initialized
    tools/call
    DELETE
    ");
    let requests = server.requests.lock().unwrap();
    let keys = requests
        .iter()
        .map(|request| request.headers.get("authorization"));
    assert!(
        keys.into_iter()
            .all(|key| key.map(String::as_str) == Some(KEY.1))
    );
    let end = requests.iter().find(|request| request.method == "DELETE");
    let headers = &end.unwrap().headers;
    assert_eq!(headers["mcp-session-id"], "first");
    assert_eq!(headers["mcp-protocol-version"], "2025-11-25");
}

/// Starts the reference server on a free port. Returns it and its address.
async fn everything() -> (Child, String) {
    // Another process could take the port before the server does, but this has not happened.
    let port = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    };
    let mut server = Command::new(program("mcp-server-everything"))
        .arg("streamableHttp")
        .env("PORT", port.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(server.stderr.take().unwrap()).lines();
    while let Some(line) = lines.next_line().await.unwrap() {
        if line.contains("listening on port") {
            break;
        }
    }
    tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
    (server, format!("http://127.0.0.1:{port}/mcp"))
}

fn at(url: &str) -> ServerConfig {
    let http = HttpConfig {
        url: url.to_owned(),
        ..HttpConfig::default()
    };
    ServerConfig::http("everything", http)
}

#[tokio::test]
async fn everything_works_over_http() {
    let (_server, url) = everything().await;
    let connections = connect([at(&url)]).await;
    assert_eq!(connections.failures(), []);
    let calls = [
        ("echo", json!({"message": "02134"})),
        ("get-sum", json!({"a": 1.5, "b": 2})),
        ("get-sum", json!({"a": 1, "b": "x"})),
        ("get-annotated-message", json!({"messageType": "error"})),
        (
            "trigger-long-running-operation",
            json!({"duration": 0.2, "steps": 2}),
        ),
    ];
    let outcomes = calls.map(|(tool, args)| call(&connections, "everything", tool, args));
    let lines: Vec<String> = join_all(outcomes).await.into_iter().map(describe).collect();
    assert_snapshot!(lines.join("\n"), @r#"
    "Echo: 02134"
    "The sum of 1.5 and 2 is 3.5."
    tool: MCP error -32602: Input validation error: Invalid arguments for tool get-sum: Invalid input: expected number, received string at b
    "Error: Operation failed"
    "Long running operation completed. Duration: 0.2 seconds, Steps: 2."
    "#);
    let many = (0..100).map(|number| {
        let args = json!({"message": number.to_string()});
        call(&connections, "everything", "echo", args)
    });
    for (number, outcome) in join_all(many).await.into_iter().enumerate() {
        assert_eq!(describe(outcome), format!("\"Echo: {number}\""));
    }
    connections.shutdown().await;
}

#[tokio::test]
async fn a_server_that_is_gone_says_so() {
    let (mut server, url) = everything().await;
    let options = ConnectOptions {
        restart_limit: 1,
        ..ConnectOptions::default()
    };
    let connections = connect_with([at(&url)], options).await;
    assert_eq!(connections.failures(), []);
    server.kill().await.unwrap();
    let outcome = call(&connections, "everything", "echo", json!({"message": "x"})).await;
    assert_snapshot!(describe(outcome), @"unavailable: the server `everything` was not reached: it cannot be reached: Connection refused (os error 111) (retry)");
}
