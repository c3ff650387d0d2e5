//! Tests of HTTP sessions, and of the choice of those that end at the limits.

use std::collections::HashMap;

use futures::{FutureExt, Stream, StreamExt};
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::common::server_side_http::ServerSseMessage;
use rmcp::transport::streamable_http_server::session::{SessionId, SessionManager};
use serde_json::{Value, json};

use super::{
    GatewaySessions, MAX_SESSIONS, MAX_SESSIONS_PER_CLIENT, RawSessionTransport, SessionRequest,
    SessionUsage,
};
use crate::gateway::client::ClientId;

async fn session() -> (GatewaySessions, SessionId, RawSessionTransport) {
    let sessions = GatewaySessions::default();
    let (id, mut transport) = sessions.create_session().await.unwrap();
    let opening = client_message(json!({"id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }}));
    let response = json!({"id": 0, "result": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "serverInfo": {"name": "test", "version": "1"},
    }});
    let (opened, ()) = tokio::join!(sessions.initialize_session(&id, opening), async {
        transport.receive().await.unwrap();
        send(&mut transport, response).await;
    });
    opened.unwrap();
    (sessions, id, transport)
}

fn client_message(mut message: Value) -> ClientJsonRpcMessage {
    message["jsonrpc"] = "2.0".into();
    serde_json::from_value(message).unwrap()
}

/// Sends a message of the server, and waits until it has become an event.
async fn send(transport: &mut RawSessionTransport, mut message: Value) {
    message["jsonrpc"] = "2.0".into();
    let message: ServerJsonRpcMessage = serde_json::from_value(message).unwrap();
    transport.send(message).await.unwrap();
}

fn call() -> ClientJsonRpcMessage {
    client_message(json!({"id": 7, "method": "tools/call", "params": {
        "name": "wait", "_meta": {"progressToken": "p"},
    }}))
}

fn progress() -> Value {
    let params = json!({"progressToken": "p", "progress": 1});
    json!({"method": "notifications/progress", "params": params})
}

async fn ids(events: impl Stream<Item = ServerSseMessage>) -> Vec<String> {
    events.map(|event| event.event_id.unwrap()).collect().await
}

#[tokio::test]
async fn streams_of_requests_are_read_after_their_end() {
    let (sessions, id, mut transport) = session().await;
    for resumed_before in [false, true] {
        let events = sessions.create_stream(&id, call()).await.unwrap();
        transport.receive().await.unwrap();
        let mut events = Box::pin(events);
        let first = events.next().await.unwrap().event_id.unwrap();
        let (_, stream) = first.split_once('/').unwrap();
        let mut broken = None;
        if resumed_before {
            broken = Some(sessions.resume(&id, first.clone()).await.unwrap());
            assert!(events.next().await.is_none());
        }
        drop((events, broken));
        send(&mut transport, progress()).await;
        send(&mut transport, json!({"id": 7, "result": {}})).await;
        for (last, expected) in [(0, vec![1, 2]), (1, vec![2]), (2, vec![])] {
            let resumed = sessions.resume(&id, format!("{last}/{stream}"));
            let expected: Vec<_> = expected
                .iter()
                .map(|index| format!("{index}/{stream}"))
                .collect();
            assert_eq!(ids(resumed.await.unwrap()).await, expected);
        }
    }
}

#[tokio::test]
async fn a_resumed_listening_stream_does_not_repeat_events() {
    let (sessions, id, mut transport) = session().await;
    let changed = || json!({"method": "notifications/tools/list_changed"});
    let events = sessions.create_standalone_stream(&id).await.unwrap();
    send(&mut transport, changed()).await;
    send(&mut transport, changed()).await;
    assert_eq!(ids(events.take(2)).await, ["0", "1"]);
    for (last, expected) in [("0", vec!["0", "1"]), ("1", vec![])] {
        let events = sessions.resume(&id, last.to_owned()).await.unwrap();
        let ready = ids(events.take(expected.len() + 1)).now_or_never();
        assert!(ready.is_none());
        let events = sessions.resume(&id, last.to_owned()).await.unwrap();
        assert_eq!(ids(events.take(expected.len())).await, expected);
    }
    let mut events = Box::pin(sessions.resume(&id, "1".to_owned()).await.unwrap());
    send(&mut transport, changed()).await;
    assert_eq!(events.next().await.unwrap().event_id.unwrap(), "2");
}

#[test]
fn the_longest_idle_session_ends() {
    let (usage, ada) = (SessionUsage::default(), ClientId::new("ada"));
    let mut owners = HashMap::new();
    let name = |number: usize| format!("{number}").into();
    for number in 0..MAX_SESSIONS_PER_CLIENT {
        let (opening, idle) = usage.open(&ada, &owners).expect("there is room");
        assert!(idle.is_none(), "{number}");
        drop(opening);
        owners.insert(name(number), ada.clone());
        drop(usage.begin(name(number), SessionRequest::Call));
    }
    let call = usage.begin(name(0), SessionRequest::Call);
    let _stream = usage.begin(name(1), SessionRequest::Stream);
    let idle = |client: &ClientId| usage.open(client, &owners).and_then(|(_, idle)| idle);
    assert_eq!(idle(&ada), Some(name(2)));
    drop(usage.begin(name(2), SessionRequest::Call));
    assert_eq!(idle(&ada), Some(name(3)));
    drop(call);
    assert_eq!(idle(&ClientId::new("bob")), None);
    let mut calls = Vec::new();
    for number in 0..MAX_SESSIONS_PER_CLIENT {
        calls.push(usage.begin(name(number), SessionRequest::Call));
    }
    assert!(usage.open(&ada, &owners).is_none());
    drop(calls);
    // Sessions that are being opened count as well.
    let client = |number: usize| ClientId::new(format!("client {number}"));
    let all: Vec<_> = (0..MAX_SESSIONS - MAX_SESSIONS_PER_CLIENT)
        .map(|number| usage.open(&client(number), &owners).unwrap().0)
        .collect();
    assert!(idle(&client(0)).is_some());
    drop(all);
    assert_eq!(idle(&client(0)), None);
}
