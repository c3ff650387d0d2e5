//! Tests that requests of servers reach their client, and the responses the server.

use std::sync::Arc;
use std::time::Duration;

use insta::assert_snapshot;
use planwright_engine::backend::ToolBackend;
use planwright_mcp::{Caller, ServerConfig, UpstreamError};
use planwright_testkit::fake_server::Recorder;
use serde_json::json;

use super::support::Client;
use super::support::{EVENT_TIMEOUT, REVISIONS, line, raw_call, ready, upstreams};
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
    assert_snapshot!(result.get("structuredContent").unwrap(), @r#"{"result":{"action":"decline"}}"#);
    assert_eq!(client.lines(), [""; 0]);
    upstreams.shutdown().await;
}

#[tokio::test]
async fn a_request_without_a_client_is_declined() {
    let upstreams = ready(json!({
        "revisions": ["2025-11-25"], "tools": [{"name": "tool", "does": {"ask": question()}}]
    }))
    .await;
    let result = raw_call(&upstreams, "tool", None).await.unwrap();
    assert_snapshot!(result.get("structuredContent").unwrap(), @r#"{"result":{"action":"decline"}}"#);
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
    assert_snapshot!(check_plan(json!({"q": question()}), None).await, @r#"{"q":{"action":"decline"}} text "{\"q\":{\"action\":\"decline\"}}""#);
    assert_snapshot!(check_plan(json!({"q": question()}), Some(&refusing())).await, @r#"
    {"q":{"action":"decline"}} text "{\"q\":{\"action\":\"decline\"}}"
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
