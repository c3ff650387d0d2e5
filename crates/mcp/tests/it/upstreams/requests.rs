//! Tests that requests and notifications of servers reach only their client, and the responses the server.

use std::sync::Arc;
use std::time::Duration;

use insta::assert_snapshot;
use planwright_engine::backend::ToolBackend;
use planwright_mcp::{Caller, ServerConfig, UpstreamError, Upstreams};
use planwright_testkit::fake_server::Recorder;
use serde_json::json;

use super::support::{Client, EVENT_TIMEOUT, REVISIONS, line, raw, raw_call, ready, upstreams};
use crate::support::{describe, fake, tool_call};

fn question() -> serde_json::Value {
    json!({"method": "elicitation/create", "params": {
        "message": "Sure?", "odd": [1.0], "requestedSchema": {"type": "object", "properties": {}}}})
}

fn yes() -> Arc<Client> {
    Client::new(
        None,
        Some(Ok(
            json!({"action": "accept", "content": {"x": 1.0}, "odd": null}),
        )),
    )
}

fn refusing() -> Arc<Client> {
    let error = UpstreamError {
        code: -1,
        message: "no client is here".to_owned(),
        data: Some(json!({"x": [1]}).into()),
    };
    Client::new(None, Some(Err(error)))
}

fn caller(client: &Arc<Client>) -> Arc<dyn Caller> {
    Arc::clone(client) as Arc<dyn Caller>
}

/// Returns the response to a tool that sends this request while it is called for `client`, and the requests of the
/// client.
async fn check(asks: serde_json::Value, client: &Arc<Client>) -> String {
    let upstreams = ready(json!({
        "revisions": ["2025-11-25"], "tools": [{"name": "tool", "does": {"ask": asks}}]
    }))
    .await;
    let result = raw_call(&upstreams, "tool", Some(caller(client)))
        .await
        .unwrap();
    upstreams.shutdown().await;
    let answer = result.get("structuredContent").unwrap();
    format!("{answer}\n{}", client.lines().join("\n"))
}

#[tokio::test]
async fn requests_and_responses_are_passed_unchanged() {
    assert_snapshot!(check(question(), &yes()).await, @r#"
    {"result":{"action":"accept","content":{"x":1.0},"odd":null}}
    elicitation/create? {"message":"Sure?","odd":[1.0],"requestedSchema":{"type":"object","properties":{}}}
    "#);
    assert_snapshot!(check(question(), &refusing()).await, @r#"
    {"error":{"code":-1,"message":"no client is here","data":{"x":[1]}}}
    elicitation/create? {"message":"Sure?","odd":[1.0],"requestedSchema":{"type":"object","properties":{}}}
    "#);
    let sampling =
        json!({"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 1}});
    assert_snapshot!(check(sampling, &yes()).await, @r#"
    {"result":{"action":"accept","content":{"x":1.0},"odd":null}}
    sampling/createMessage? {"messages":[],"maxTokens":1}
    "#);
    assert_snapshot!(check(json!({"method": "roots/list"}), &yes()).await, @r#"
    {"result":{"action":"accept","content":{"x":1.0},"odd":null}}
    roots/list? null
    "#);
    assert_snapshot!(check(json!({"method": "ping"}), &yes()).await, @r#"{"result":{}}"#);
    assert_snapshot!(check(json!({"method": "made/up"}), &yes()).await, @r#"{"error":{"code":-32601,"message":"made/up"}}"#);
}

#[tokio::test]
async fn a_client_gets_only_declared_requests() {
    let script = json!({"revisions": ["2025-11-25"], "tools": [{"name": "tool", "does": {"ask": question()}}]});
    let upstreams = upstreams([fake("fake", script)]);
    upstreams.start(&json!({"sampling": {}}).into());
    let client = yes();
    let result = raw_call(&upstreams, "tool", Some(caller(&client)))
        .await
        .unwrap();
    assert_snapshot!(result.get("structuredContent").unwrap(), @r#"{"result":{"action":"cancel"}}"#);
    assert_eq!(client.lines(), [""; 0]);
    upstreams.shutdown().await;
}

#[tokio::test]
async fn a_request_without_a_client_is_cancelled() {
    let upstreams = ready(json!({
        "revisions": ["2025-11-25"], "tools": [{"name": "tool", "does": {"ask": question()}}]
    }))
    .await;
    let result = raw_call(&upstreams, "tool", None).await.unwrap();
    assert_snapshot!(result.get("structuredContent").unwrap(), @r#"{"result":{"action":"cancel"}}"#);
    upstreams.shutdown().await;
}

#[tokio::test]
async fn a_request_with_several_possible_clients_is_refused() {
    let recorder = Recorder::new();
    let upstreams = ready(json!({
        "revisions": ["2025-11-25"], "record": recorder.address(),
        "tools": [
            {"name": "held", "does": {"wait_for_release": true}}, {"name": "ask", "does": {"ask": question()}}
        ]
    }))
    .await;
    let other = Client::listening();
    let waiting = (upstreams.clone(), Arc::clone(&other));
    let held = tokio::spawn(async move { raw_call(&waiting.0, "held", Some(waiting.1)).await });
    let recorder = tokio::task::spawn_blocking(move || {
        recorder.message("tools/call");
        recorder
    });
    let recorder = recorder.await.unwrap();
    let client = yes();
    let result = raw_call(&upstreams, "ask", Some(caller(&client)))
        .await
        .unwrap();
    assert_snapshot!(result.get("structuredContent").unwrap(), @r#"{"error":{"code":-32603,"message":"requests of several clients are in flight, so the client for `elicitation/create` is unknown"}}"#);
    recorder.release();
    held.await.unwrap().unwrap();
    assert_eq!([client.lines(), other.lines()], [[""; 0], [""; 0]]);
    upstreams.shutdown().await;
}

#[tokio::test]
async fn a_cancelled_request_is_withdrawn_from_the_client() {
    let mut asked = question();
    asked["jsonrpc"] = "2.0".into();
    asked["id"] = 31.into();
    let withdrawn =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 31}});
    let upstreams = ready(json!({
        "revisions": ["2025-11-25"],
        "tools": [{"name": "tool", "does": {"first": [asked, withdrawn], "text": "done"}}]
    }))
    .await;
    let client = Client::listening();
    let withdrawal = client.withdrawal();
    raw_call(&upstreams, "tool", Some(caller(&client)))
        .await
        .unwrap();
    assert_eq!(client.lines().len(), 1);
    // The sender is dropped with the request.
    let dropped = tokio::time::timeout(EVENT_TIMEOUT, withdrawal).await;
    assert!(dropped.expect("it is withdrawn").is_err());
    upstreams.shutdown().await;
}

/// Returns the outcome of a plan's call for `client` whose first result requests `questions`, and the requests of the
/// client.
async fn check_plan(questions: serde_json::Value, client: Option<&Arc<Client>>) -> String {
    let upstreams = ready(json!({
        "tools": [{"name": "tool", "does": {"input_required": questions}}]
    }))
    .await;
    let backends = upstreams.backends(client.map(caller));
    let outcome = backends.call(tool_call("fake", "tool", json!({}))).await;
    upstreams.shutdown().await;
    let asked = client.map(|client| client.lines().join("\n"));
    format!("{}\n{}", describe(outcome), asked.unwrap_or_default())
}

#[tokio::test]
async fn calls_of_plans_ask_their_client() {
    let questions = json!({"q": question(), "r": {"method": "roots/list"}});
    assert_snapshot!(check_plan(questions.clone(), Some(&yes())).await, @r#"
    {"q":{"action":"accept","content":{"x":1.0},"odd":null},"r":{"action":"accept","content":{"x":1.0},"odd":null}} text "{\"q\":{\"action\":\"accept\",\"content\":{\"x\":1.0},\"odd\":null},\"r\":{\"action\":\"accept\",\"content\":{\"x\":1.0},\"odd\":null}}"
    elicitation/create? {"message":"Sure?","odd":[1.0],"requestedSchema":{"type":"object","properties":{}}}
    roots/list? null
    "#);
    assert_snapshot!(check_plan(questions.clone(), None).await, @"tool: the tool asks for `roots/list`, which is not offered");
    assert_snapshot!(check_plan(json!({"q": question()}), None).await, @r#"{"q":{"action":"cancel"}} text "{\"q\":{\"action\":\"cancel\"}}""#);
    assert_snapshot!(check_plan(json!({"q": question()}), Some(&refusing())).await, @r#"
    {"q":{"action":"cancel"}} text "{\"q\":{\"action\":\"cancel\"}}"
    elicitation/create? {"message":"Sure?","odd":[1.0],"requestedSchema":{"type":"object","properties":{}}}
    "#);
    assert_snapshot!(check_plan(json!({"q": {"method": "made/up"}}), Some(&yes())).await, @"tool: the tool asks for `made/up`, which is not offered");
}

#[tokio::test]
async fn calls_of_plans_ask_their_client_on_older_sessions_too() {
    let upstreams = ready(json!({
        "revisions": ["2025-06-18"], "tools": [{"name": "tool", "does": {"ask": question()}}]
    }))
    .await;
    let client = yes();
    let backends = upstreams.backends(Some(caller(&client)));
    let outcome = backends.call(tool_call("fake", "tool", json!({}))).await;
    assert_snapshot!(describe(outcome), @r#"{"result":{"action":"accept","content":{"x":1.0},"odd":null}} text "{\"result\":{\"action\":\"accept\",\"content\":{\"x\":1.0},\"odd\":null}}""#);
    assert_eq!(client.lines().len(), 1);
    upstreams.shutdown().await;
}

#[tokio::test]
async fn passed_requests_get_the_input_request_itself() {
    let mut seen = Vec::new();
    for revision in REVISIONS {
        let upstreams = ready(json!({
            "revisions": [revision], "tools": [{"name": "tool", "does": {"input_required": {"q": question()}}}]
        }))
        .await;
        let client = yes();
        let outcome = raw_call(&upstreams, "tool", Some(caller(&client))).await;
        seen.push(line(outcome));
        assert_eq!(client.lines(), [""; 0]);
        upstreams.shutdown().await;
    }
    assert_snapshot!(seen[0], @r#"{"resultType":"input_required","inputRequests":{"q":{"method":"elicitation/create","params":{"message":"Sure?","odd":[1.0],"requestedSchema":{"type":"object","properties":{}}}}},"requestState":"round two"}"#);
    assert_eq!(seen[0], seen[1]);
}

#[tokio::test]
async fn an_open_question_stops_the_clock_of_the_call() {
    // The server allows the call less time than the person takes to answer.
    let limit = Duration::from_millis(300);
    for revision in REVISIONS {
        let asks = if revision == REVISIONS[0] {
            json!({"ask": question()})
        } else {
            json!({"input_required": {"sure": question()}})
        };
        let server = ServerConfig {
            timeout: Some(limit),
            ..fake(
                "fake",
                json!({"revisions": [revision], "tools": [{"name": "tool", "does": asks}]}),
            )
        };
        let upstreams = upstreams([server]);
        upstreams.start(&json!({"elicitation": {}}).into());
        assert!(upstreams.settled(EVENT_TIMEOUT).await);
        let client = Client::answering_after(3 * limit, json!({"action": "accept"}));
        let backends = upstreams.backends(Some(caller(&client)));
        let outcome = backends.call(tool_call("fake", "tool", json!({}))).await;
        assert!(outcome.is_ok(), "{revision}: {}", describe(outcome));
        upstreams.shutdown().await;
    }
}

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
async fn check_notifications(names: &[Option<&str>]) -> String {
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
    assert_snapshot!(check_notifications(&[None]).await, @r#"notifications/message {"level":"info","data":"secret"}, notifications/made_up null"#);
    assert_snapshot!(check_notifications(&[]).await, @r#"
    fake: notifications/message {"level":"info","data":"secret"}
    fake: notifications/made_up null
    "#);
    assert_snapshot!(check_notifications(&[None, None]).await, @"");
    assert_snapshot!(check_notifications(&[Some("a"), Some("b")]).await, @"");
    // Two requests of one client: the latest gets the notification.
    assert_snapshot!(check_notifications(&[Some("a"), Some("a")]).await, @r#"notifications/message {"level":"info","data":"secret"}, notifications/made_up null"#);
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
