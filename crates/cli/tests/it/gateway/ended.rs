//! The end of sessions, connections, requests and clients: nothing is called after it.

use std::path::PathBuf;

use planwright_testkit::fake_server::{self, Recorder};
use planwright_testkit::http_wire::HttpRequest;
use planwright_testkit::listening::HttpServerProcess;
use planwright_testkit::wire_client::WireClient;
use serde_json::{Value, json};

use super::serve::Behind;

/// A server with a tool that blocks until the test releases it, and one that records its calls.
struct Scene {
    behind: Behind,
    recorder: Recorder,
    trace: PathBuf,
}

impl Scene {
    fn new(settings: &str) -> Self {
        let behind = Behind::new(&[]);
        behind.set(settings);
        let trace = behind.folder().join("trace");
        let recorder = Recorder::new();
        let safe = json!({"destructiveHint": false});
        let script = json!({"record": recorder.address(), "tools": [
            {"name": "wait", "annotations": safe, "does": {"wait_for_release": true, "structured": {}}},
            {"name": "leave_trace", "annotations": safe, "does": {"appends": trace}},
            {"name": "ask", "annotations": {"destructiveHint": true}, "does": {"appends": trace}},
        ]});
        let script = script.to_string();
        behind.servers(&[("fake", fake_server::program(), &[&script])]);
        Self {
            behind,
            recorder,
            trace,
        }
    }

    /// A plan whose second step must not be called.
    fn plan() -> Value {
        json!({"name": "execute_plan", "arguments": {"plan": {"steps": [
            {"id": "first", "tool": "wait", "args": {}},
            {"id": "second", "tool": "leave_trace", "args": {}, "after": ["first"]},
        ]}}})
    }

    /// Waits until the in-flight step is cancelled, lets it continue nevertheless, and waits until the run has ended without a further
    /// call.
    #[track_caller]
    fn is_cancelled(&self) {
        self.recorder.message("notifications/cancelled");
        self.recorder.release();
        let status = || {
            let runs = self.behind.run(&["runs", "--format", "json"]);
            let runs: Value = serde_json::from_str(&runs).expect("runs are JSON");
            runs["runs"][0]["status"]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        };
        let ended = (0..1000)
            .map(|_| status())
            .find(|status| status != "running");
        assert_eq!(ended.as_deref(), Some("cancelled"));
        assert!(!self.trace.exists());
    }

    /// Starts the plan and waits until its first call is in flight.
    fn begin(&self, client: &mut WireClient) -> u64 {
        let id = client.send("tools/call", Self::plan());
        self.recorder.message("tools/call");
        id
    }
}

fn session(listening: &HttpServerProcess, revision: &'static str) -> WireClient {
    WireClient::reach(listening.url(), revision, &[])
}

#[test]
fn a_session_that_is_deleted_calls_nothing_more() {
    for revision in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        let scene = Scene::new("");
        let listening = scene.behind.listening(&[]);
        let mut client = session(&listening, revision);
        scene.begin(&mut client);
        let deleted = HttpRequest::delete(listening.url())
            .header("mcp-session-id", client.session().expect("a session"))
            .header("mcp-protocol-version", revision)
            .send();
        assert_eq!(deleted.status(), 202);
        scene.is_cancelled();
    }
}

#[test]
fn a_call_of_a_tool_ends_with_its_session() {
    let scene = Scene::new("");
    let listening = scene.behind.listening(&["--mode", "plain"]);
    let mut client = session(&listening, "2025-11-25");
    client.send("tools/call", json!({"name": "wait", "arguments": {}}));
    scene.recorder.message("tools/call");
    let deleted = HttpRequest::delete(listening.url())
        .header("mcp-session-id", client.session().expect("a session"))
        .send();
    assert_eq!(deleted.status(), 202);
    scene.recorder.message("notifications/cancelled");
}

#[test]
fn the_end_of_the_input_calls_nothing_more() {
    for revision in ["2025-11-25", "2026-07-28"] {
        let scene = Scene::new("");
        let mut client = scene.behind.client(&[], revision, &[]);
        scene.begin(&mut client);
        client.close_input();
        scene.is_cancelled();
    }
}

#[test]
fn a_request_that_is_cancelled_calls_nothing_more() {
    for revision in ["2025-11-25", "2026-07-28"] {
        let scene = Scene::new("");
        let mut client = scene.behind.client(&[], revision, &[]);
        let id = scene.begin(&mut client);
        client.notify("notifications/cancelled", json!({"requestId": id}));
        scene.is_cancelled();
    }
}

#[test]
fn a_client_whose_token_is_taken_back_calls_nothing_more() {
    let scene = Scene::new("");
    let token = scene.behind.token("ada");
    let listening = scene.behind.listening(&[]);
    let request = super::edge::message(listening.url(), "tools/call", Scene::plan())
        .header("authorization", &format!("Bearer {token}"));
    let answer = std::thread::spawn(move || request.send().text());
    scene.recorder.message("tools/call");
    scene.behind.run(&["token", "revoke", "ada"]);
    scene.is_cancelled();
    answer.join().expect("the connection is closed");
}

#[test]
fn a_task_of_a_client_whose_token_is_taken_back_ends() {
    let scene = Scene::new("[serve]\ntask_after = '1ms'\n");
    let token = scene.behind.token("ada");
    let listening = scene.behind.listening(&[]);
    let handle = super::edge::message(listening.url(), "tools/call", Scene::plan())
        .header("authorization", &format!("Bearer {token}"))
        .send()
        .answer();
    assert_eq!(handle["result"]["resultType"], "task", "{handle}");
    scene.recorder.message("tools/call");
    scene.behind.run(&["token", "revoke", "ada"]);
    scene.is_cancelled();
}

#[test]
fn a_task_that_was_cancelled_in_between_does_not_go_on() {
    let scene = Scene::new("[serve]\ntask_after = '1ms'\n");
    let mut listening = scene.behind.listening(&[]);
    let ask = |listening: &HttpServerProcess, method: &str, params: Value| {
        super::edge::message(listening.url(), method, params)
            .send()
            .answer()
    };
    let handle = ask(&listening, "tools/call", Scene::plan());
    let task = json!({"taskId": handle["result"]["taskId"]});
    scene.recorder.message("tools/call");
    listening.kill();
    let listening = scene.behind.listening(&[]);
    let cancelled = ask(&listening, "tasks/cancel", task.clone());
    assert!(cancelled["error"].is_null(), "{cancelled}");
    let ended = ask(&listening, "tasks/get", task);
    assert_eq!(ended["result"]["status"], "cancelled", "{ended}");
    assert!(!scene.trace.exists());
}

#[test]
fn a_task_that_was_cancelled_while_its_server_was_away_does_not_go_on() {
    let scene = Scene::new("[serve]\ntask_after = '1ms'\n");
    let ask = |listening: &HttpServerProcess, method: &str, params: Value| {
        super::edge::message(listening.url(), method, params)
            .send()
            .answer()
    };
    let servers = scene.behind.folder().join("mcp.json");
    let with_server = std::fs::read(&servers).unwrap();
    let mut listening = scene.behind.listening(&[]);
    let handle = ask(&listening, "tools/call", Scene::plan());
    let task = json!({"taskId": handle["result"]["taskId"]});
    scene.recorder.message("tools/call");
    listening.kill();
    scene.behind.servers(&[]);
    let mut listening = scene.behind.listening(&[]);
    let cancelled = ask(&listening, "tasks/cancel", task.clone());
    assert!(cancelled["error"].is_null(), "{cancelled}");
    listening.kill();
    std::fs::write(&servers, with_server).unwrap();
    let listening = scene.behind.listening(&[]);
    let states = (0..1000).map(|_| ask(&listening, "tasks/get", task.clone()));
    let states = states.map(|state| state["result"]["status"].clone());
    let ended = states.into_iter().find(|state| state != "working");
    assert_eq!(ended.unwrap(), "cancelled");
    assert!(!scene.trace.exists());
}

#[test]
fn a_task_that_another_process_drives_is_cancelled_there() {
    let scene = Scene::new("[serve]\ntask_after = '1ms'\n");
    let driving = scene.behind.listening(&[]);
    let other = scene.behind.listening(&[]);
    let ask = |listening: &HttpServerProcess, method: &str, params: Value| {
        super::edge::message(listening.url(), method, params)
            .send()
            .answer()
    };
    let handle = ask(&driving, "tools/call", Scene::plan());
    let task = json!({"taskId": handle["result"]["taskId"]});
    scene.recorder.message("tools/call");
    let cancelled = ask(&other, "tasks/cancel", task.clone());
    assert!(cancelled["error"].is_null(), "{cancelled}");
    scene.is_cancelled();
    for listening in [&driving, &other] {
        let ended = ask(listening, "tasks/get", task.clone());
        assert_eq!(ended["result"]["status"], "cancelled", "{ended}");
    }
}
