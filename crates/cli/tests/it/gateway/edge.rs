//! The gateway over HTTP, as a program: who is let in, how much is taken, who sees what, how it ends.

use std::process::Output;

use planwright_testkit::fake_server::{self, Recorder};
use planwright_testkit::http_wire::{HttpRequest, HttpResponse};
use planwright_testkit::listening::HttpServerProcess;
use serde_json::{Value, json};

use super::serve::Behind;
use crate::program::stderr;

const NEWEST: &str = "2026-07-28";

/// A gateway before a server that waits, and clients with a token each.
struct Scene {
    behind: Behind,
    listening: HttpServerProcess,
    recorder: Recorder,
    tokens: Vec<String>,
}

impl Scene {
    fn new(clients: &[&str], settings: &str) -> Self {
        let recorder = Recorder::new();
        let script = json!({
            "record": recorder.address(),
            "tools": [
                {"name": "echo", "annotations": {"readOnlyHint": true}},
                {"name": "wait", "annotations": {"readOnlyHint": true},
                 "does": {"wait_for_release": true, "structured": {"waited": true}}},
            ],
        });
        let script = script.to_string();
        let behind = Behind::new(&[("fake", fake_server::program(), &[&script])]);
        behind.set(settings);
        let tokens = clients.iter().map(|client| behind.token(client)).collect();
        let listening = behind.listening(&[]);
        Self {
            behind,
            listening,
            recorder,
            tokens,
        }
    }

    /// A request of the client with this number, or of one without a token.
    fn request(&self, client: usize, method: &str, params: Value) -> HttpRequest {
        let request = message(self.listening.url(), method, params);
        match self.tokens.get(client) {
            Some(token) => request.header("authorization", &format!("Bearer {token}")),
            None => request,
        }
    }

    /// Returns the response to the client with this number.
    fn ask(&self, client: usize, method: &str, params: Value) -> Value {
        self.request(client, method, params).send().answer()
    }

    fn call(&self, client: usize, tool: &str, arguments: Value) -> Value {
        let params = json!({"name": tool, "arguments": arguments});
        self.ask(client, "tools/call", params)["result"].take()
    }

    /// The gateway continues to serve later clients.
    #[track_caller]
    fn is_well(&self) {
        let listed = self.ask(0, "tools/list", json!({}));
        assert!(listed["result"]["tools"].is_array(), "{listed}");
    }
}

/// A request of the newest revision, which says by itself who sends it.
pub(super) fn message(url: &str, method: &str, mut params: Value) -> HttpRequest {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": NEWEST,
        "io.modelcontextprotocol/clientInfo": {"name": "edge", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities":
            {"extensions": {"io.modelcontextprotocol/tasks": {}}},
    });
    let about = ["name", "uri", "taskId"];
    let about = about.into_iter().find_map(|field| params[field].as_str());
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let request = HttpRequest::post(url, &body)
        .header("mcp-protocol-version", NEWEST)
        .header("mcp-method", method);
    match about {
        Some(about) => request.header("mcp-name", about),
        None => request,
    }
}

fn plan(tool: &str) -> Value {
    let steps = json!([{"id": "said", "tool": tool, "args": {"word": "hello"}}]);
    json!({"plan": {"steps": steps, "output": ["said"]}})
}

#[track_caller]
fn check(answer: HttpResponse, status: u16, text: &str) {
    assert_eq!(answer.status(), status);
    let body = answer.text();
    assert!(body.contains(text), "`{text}` in {body}");
}

#[test]
fn strangers_are_refused() {
    let settings = "[serve]\nhosts = ['plans.example.com']\norigins = ['https://chat.example.com']\nmax_body = '10kB'\n";
    let scene = Scene::new(&["ada"], settings);
    let wrong = format!("Bearer pwt_{}", "0".repeat(64));
    for (header, value, status, text) in [
        ("host", "evil.example.com", 403, "unknown host name"),
        ("host", "plans.example.com", 200, "execute_plan"),
        ("origin", "https://evil.example.com", 403, "may not send"),
        ("origin", "null", 403, "may not send"),
        ("origin", "https://chat.example.com", 200, "execute_plan"),
        ("authorization", "", 401, "a token is needed"),
        ("authorization", "Basic YTpi", 401, "a token is needed"),
        ("authorization", &wrong, 401, "the token is not valid"),
    ] {
        let request = scene.request(0, "tools/list", json!({}));
        check(request.header(header, value).send(), status, text);
    }
    let open = scene.request(1, "tools/list", json!({})).send();
    assert_eq!(open.header("www-authenticate"), Some("Bearer"));
    check(open, 401, "a token is needed");
    let large = json!({"name": "execute_plan", "arguments": {"plan": "x".repeat(10_000)}});
    let large = scene.request(0, "tools/call", large).send();
    check(large, 413, "more than 10000 bytes");
    // A client that only listens or ends its session needs a token, too.
    for request in [HttpRequest::get, HttpRequest::delete] {
        check(
            request(scene.listening.url()).send(),
            401,
            "a token is needed",
        );
    }
    scene.is_well();
}

#[test]
fn each_client_has_its_pace() {
    let scene = Scene::new(&["ada", "bob"], "[serve]\nrate = '3/h'\n");
    for _ in 0..3 {
        scene.is_well();
    }
    let refused = scene.request(0, "tools/list", json!({})).send();
    let wait = refused
        .header("retry-after")
        .and_then(|wait| wait.parse().ok());
    assert!(wait > Some(60_u32), "{refused:?}");
    check(refused, 429, "too many requests in a short time");
    let listed = scene.ask(1, "tools/list", json!({}));
    assert!(listed["result"]["tools"].is_array(), "{listed}");
}

#[test]
fn each_client_has_so_many_plans() {
    let scene = Scene::new(
        &["ada", "bob"],
        "[serve]\nmax_plans = 1\ntask_after = '1h'\n",
    );
    let wait = json!({"name": "execute_plan", "arguments": plan("wait")});
    let request = scene.request(0, "tools/call", wait);
    let waiting = std::thread::spawn(move || request.send().answer());
    scene.recorder.message("tools/call");
    let refused = scene.call(0, "execute_plan", plan("echo"));
    let text = refused["content"][0]["text"].as_str().unwrap_or_default();
    assert!(
        text.contains("this client has reached the maximum of plans in progress"),
        "{refused}"
    );
    let other = scene.call(1, "execute_plan", plan("echo"));
    assert_eq!(other["structuredContent"]["status"], "succeeded", "{other}");
    scene.recorder.release();
    let done = waiting.join().expect("it is answered");
    assert_eq!(
        done["result"]["structuredContent"]["status"], "succeeded",
        "{done}"
    );
}

#[test]
fn requests_under_way_are_counted() {
    let scene = Scene::new(
        &["ada", "bob"],
        "[serve]\nmax_requests = 1\ntask_after = '1h'\n",
    );
    let wait = json!({"name": "execute_plan", "arguments": plan("wait")});
    let request = scene.request(0, "tools/call", wait);
    let waiting = std::thread::spawn(move || request.send().answer());
    scene.recorder.message("tools/call");
    let refused = scene.request(0, "tools/list", json!({})).send();
    check(refused, 429, "too many requests in flight");
    let listed = scene.ask(1, "tools/list", json!({}));
    assert!(listed["result"]["tools"].is_array(), "{listed}");
    scene.recorder.release();
    let done = waiting.join().expect("it is answered");
    assert_eq!(
        done["result"]["structuredContent"]["status"], "succeeded",
        "{done}"
    );
}

#[test]
fn a_gateway_that_other_machines_reach_needs_tokens() {
    let behind = Behind::new(&[]);
    for address in ["0.0.0.0:0", "[::]:0"] {
        let output = behind.command(&["--listen", address]).output();
        let output: Output = output.expect("the program can be started");
        assert_eq!(output.status.code(), Some(2));
        let log = stderr(&output);
        assert!(log.contains("no client has a token"), "{log}");
        assert!(log.contains("planwright token create"), "{log}");
    }
    let token = behind.token("ada");
    let mut command = behind.command(&[]);
    command.args(["--listen", "0.0.0.0:0"]);
    let listening = HttpServerProcess::start(command);
    let url = listening.url().replace("0.0.0.0", "127.0.0.1");
    let ask = || message(&url, "tools/list", json!({}));
    check(ask().send(), 401, "a token is needed");
    let known = ask().header("authorization", &format!("Bearer {token}"));
    check(known.send(), 200, "execute_plan");
}

#[test]
fn the_health_of_a_gateway_is_asked_for_by_its_address() {
    let behind = Behind::new(&[]);
    let listening = behind.listening(&[]);
    let address = listening.url().replace("http://", "").replace("/mcp", "");
    assert_eq!(behind.run(&["health", &address]), "ok\n");
    drop(listening);
    let output = behind.command_of(&["health", &address]).output();
    let output = output.expect("the program can be started");
    assert_eq!(output.status.code(), Some(1));
    let log = stderr(&output);
    assert!(
        log.contains(&format!("`{address}` is not healthy")),
        "{log}"
    );
}

#[test]
fn a_token_that_is_taken_back_is_refused_at_once() {
    let scene = Scene::new(&["ada", "bob"], "");
    scene.is_well();
    scene.behind.run(&["token", "revoke", "ada"]);
    let refused = scene.request(0, "tools/list", json!({})).send();
    check(refused, 401, "the token is not valid");
    let listed = scene.ask(1, "tools/list", json!({}));
    assert!(listed["result"]["tools"].is_array(), "{listed}");
}

#[test]
fn one_client_sees_nothing_of_another() {
    let scene = Scene::new(&["ada", "bob"], "[serve]\ntask_after = '1ms'\n");
    let done = scene.call(0, "execute_plan", plan("echo"));
    let structured = &done["structuredContent"];
    let run = match structured["run"].as_str() {
        Some(run) => run.to_owned(),
        None => done["taskId"].as_str().expect("a run or a task").to_owned(),
    };
    let waits = scene.call(0, "execute_plan", plan("wait"));
    let task = waits["taskId"].as_str().expect("it is a task").to_owned();
    while scene.recorder.message("tools/call")["params"]["name"] != "wait" {}
    let ended = (0..1000).any(|_| {
        let task = scene.ask(0, "tasks/get", json!({"taskId": run}));
        task["result"]["status"] == "completed"
    });
    assert!(ended, "the plan never ends");

    let recalled = json!({"plan": {
        "steps": [{"id": "again", "tool": "echo", "args": {"word": format!("${{runs.{run}.said.word}}")}}],
        "output": ["again"],
    }});
    let call = |tool: &str, arguments: Value| json!({"name": tool, "arguments": arguments});
    let requests = [
        ("tools/call", call("get_run", json!({"run": run}))),
        (
            "resources/read",
            json!({"uri": format!("planwright://runs/{run}/output")}),
        ),
        (
            "resources/read",
            json!({"uri": format!("planwright://runs/{run}/steps/said")}),
        ),
        ("tasks/get", json!({"taskId": run})),
        ("tasks/get", json!({"taskId": task})),
        ("tools/call", call("check_plan", recalled)),
        ("tools/call", call("resume_plan", json!({"run": run}))),
        (
            "tasks/update",
            json!({"taskId": task, "inputResponses": {}}),
        ),
        ("tasks/cancel", json!({"taskId": task})),
    ];
    let fails = |answer: &Value| {
        let result = &answer["result"];
        answer["error"].is_object() || result["isError"] == true
    };
    for (method, params) in &requests {
        let others = scene.ask(1, method, params.clone());
        assert!(fails(&others), "{method} {params}: {others}");
        assert!(!others.to_string().contains("hello"), "{others}");
    }
    let others = scene.ask(1, "resources/list", json!({}));
    assert!(!others.to_string().contains(&run), "{others}");
    for (method, params) in &requests {
        let own = scene.ask(0, method, params.clone());
        assert!(!fails(&own), "{method} {params}: {own}");
    }
    // Giving it up has reached the tool; the other client's cancellation has not.
    let cancelled = scene.recorder.message("notifications/cancelled");
    assert!(cancelled["params"]["requestId"].is_u64(), "{cancelled}");
}

#[test]
fn a_session_is_of_the_client_that_opened_it() {
    let scene = Scene::new(&["ada", "bob"], "");
    let url = scene.listening.url();
    let by = |client: usize, request: HttpRequest| {
        request.header("authorization", &format!("Bearer {}", scene.tokens[client]))
    };
    let greeting = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "edge", "version": "1"},
    }});
    let greeted = by(0, HttpRequest::post(url, &greeting)).send();
    let session = greeted
        .header("mcp-session-id")
        .expect("a session")
        .to_owned();
    let within = |request: HttpRequest| request.header("mcp-session-id", &session);
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}});
    let post = |message: &Value| within(HttpRequest::post(url, message));
    assert_eq!(by(0, post(&ready)).send().status(), 202);
    for request in [
        post(&list),
        post(&ready),
        within(HttpRequest::get(url)),
        within(HttpRequest::delete(url)),
    ] {
        check(by(1, request).send(), 404, "Session not found");
    }
    let listed = by(0, post(&list)).send().answer();
    assert!(listed["result"]["tools"].is_array(), "{listed}");
    assert_eq!(by(0, within(HttpRequest::delete(url))).send().status(), 202);
    check(by(0, post(&list)).send(), 404, "Session not found");
}

#[cfg(unix)]
#[test]
fn a_run_in_progress_at_the_end_continues_in_the_next_process() {
    // An in-flight call is made again because its tool is idempotent. Asking repeatedly for the end of the run is allowed here.
    let settings =
        "[serve]\ntask_after = '1ms'\nrate = '1000000/s'\n[tools]\nidempotent = ['fake.wait']\n";
    let mut scene = Scene::new(&["ada"], settings);
    let handle = scene.call(0, "execute_plan", plan("wait"));
    let task = handle["taskId"].as_str().expect("it is a task").to_owned();
    scene.recorder.message("tools/call");
    let status = scene.listening.terminate();
    assert!(status.success(), "{status}");
    scene.recorder.ended();
    scene.listening = scene.behind.listening(&[]);
    let now = scene.ask(0, "tasks/get", json!({"taskId": task}));
    assert_eq!(now["result"]["status"], "working", "{now}");
    scene.recorder.message("tools/call");
    scene.recorder.release();
    let ended = (0..10_000).any(|_| {
        let now = scene.ask(0, "tasks/get", json!({"taskId": task}));
        now["result"]["status"] == "completed"
    });
    assert!(ended, "the task never ends");
    let done = scene.call(0, "get_run", json!({"run": task}));
    let structured = &done["structuredContent"];
    assert_eq!(structured["status"], "succeeded", "{done}");
    assert_eq!(structured["output"]["said"]["waited"], true, "{done}");
}
