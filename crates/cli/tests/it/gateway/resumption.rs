//! Streams of requests that break off, and that their clients resume with `Last-Event-ID`.

use planwright_testkit::fake_server::{self, Recorder};
use planwright_testkit::http_wire::{HttpRequest, HttpResponse};
use planwright_testkit::listening::HttpServerProcess;
use serde_json::{Value, json};

use super::serve::Behind;

const REVISIONS: [&str; 3] = ["2025-03-26", "2025-06-18", "2025-11-25"];

/// A gateway over HTTP before a server with a tool that ends when the test says so.
struct Scene {
    behind: Behind,
    listening: HttpServerProcess,
    recorder: Recorder,
    tokens: [String; 2],
}

impl Scene {
    fn new() -> Self {
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
        let tokens = ["ada", "bob"].map(|client| behind.token(client));
        let listening = behind.listening(&[]);
        Self {
            behind,
            listening,
            recorder,
            tokens,
        }
    }

    /// Waits until the run of the plan has ended.
    #[track_caller]
    fn run_ended(&self) {
        let status = || {
            let runs = self.behind.run(&["runs", "--format", "json"]);
            let runs: Value = serde_json::from_str(&runs).expect("runs are JSON");
            runs["runs"][0]["status"].clone()
        };
        let ended = (0..1000)
            .map(|_| status())
            .find(|status| *status != "running");
        assert_eq!(ended, Some(json!("succeeded")));
    }
}

/// A session of one of the clients.
struct Session<'a> {
    scene: &'a Scene,
    client: usize,
    revision: &'static str,
    id: String,
}

impl<'a> Session<'a> {
    fn new(scene: &'a Scene, client: usize, revision: &'static str) -> Self {
        let mut session = Self {
            scene,
            client,
            revision,
            id: String::new(),
        };
        let opening = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": revision,
            "capabilities": {},
            "clientInfo": {"name": "resumption", "version": "1"},
        }});
        let opened = session.post(&opening);
        let id = opened.header("mcp-session-id").expect("a session");
        id.clone_into(&mut session.id);
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(session.post(&ready).status(), 202);
        session
    }

    fn send(&self, request: HttpRequest) -> HttpResponse {
        let token = &self.scene.tokens[self.client];
        let request = request.header("authorization", &format!("Bearer {token}"));
        if self.id.is_empty() {
            return request.send();
        }
        request
            .header("mcp-session-id", &self.id)
            .header("mcp-protocol-version", self.revision)
            .send()
    }

    fn post(&self, message: &Value) -> HttpResponse {
        self.send(HttpRequest::post(self.scene.listening.url(), message))
    }

    /// Starts a plan whose first step is reported as progress and whose second step waits.
    fn start_plan(&self) -> HttpResponse {
        let plan = json!({"steps": [
            {"id": "said", "tool": "echo", "args": {"word": "hello"}},
            {"id": "waited", "tool": "wait", "args": {}, "after": ["said"]},
        ]});
        self.post(
            &json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {
                "name": "execute_plan",
                "arguments": {"plan": plan},
                "_meta": {"progressToken": "p"},
            }}),
        )
    }

    fn resume(&self, last_event: &str) -> HttpResponse {
        let request = HttpRequest::get(self.scene.listening.url());
        self.send(request.header("last-event-id", last_event))
    }
}

/// Reads until the first progress, and returns the id of its event.
#[track_caller]
fn first_progress(stream: &mut HttpResponse) -> String {
    let message = stream.message().expect("progress");
    assert_eq!(message["method"], "notifications/progress", "{message}");
    stream.last_event().expect("an id").to_owned()
}

#[test]
fn a_result_is_read_after_a_broken_connection() {
    for revision in REVISIONS {
        let scene = Scene::new();
        let session = Session::new(&scene, 0, revision);
        let mut stream = session.start_plan();
        let last = first_progress(&mut stream);
        drop(stream);
        scene.recorder.message("tools/call");
        scene.recorder.release();
        scene.run_ended();
        // Each time the same, since the first resumption may break off as well.
        for _ in 0..2 {
            let mut resumed = session.resume(&last);
            let answer = resumed.answer();
            assert_eq!(answer["id"], 7, "{answer}");
            let result = &answer["result"]["structuredContent"];
            assert_eq!(result["status"], "succeeded", "{answer}");
            assert_eq!(resumed.message(), None);
        }
    }
}

#[test]
fn an_open_stream_continues_in_the_connection_that_resumed_it_last() {
    for revision in REVISIONS {
        let scene = Scene::new();
        let session = Session::new(&scene, 0, revision);
        let mut stream = session.start_plan();
        let start = first_progress(&mut stream);
        let (index, of_stream) = start.split_once('/').expect("an index and a stream");
        assert_eq!(index, "1");
        let start = format!("0/{of_stream}");
        // From the start, while the connection before is still open: that one ends.
        let mut resumed = session.resume(&start);
        while stream.message().is_some() {}
        let last = first_progress(&mut resumed);
        assert_eq!(last, format!("1/{of_stream}"));
        scene.recorder.release();
        // No event comes twice: the ids are all different, and the result is the last.
        let mut indices = vec![1];
        let answer = loop {
            let message = resumed.message().expect("the result");
            let id = resumed.last_event().and_then(|id| id.split_once('/'));
            let (index, stream) = id.expect("an id");
            assert_eq!(stream, of_stream);
            indices.push(index.parse().expect("a number"));
            if message.get("method").is_none() {
                break message;
            }
        };
        assert_eq!(answer["id"], 7, "{answer}");
        assert!(indices.iter().copied().eq(1..=indices.len()), "{indices:?}");
        assert_eq!(resumed.message(), None);
        // After the result there is nothing more to read.
        let result = resumed.last_event().expect("an id");
        assert_eq!(session.resume(result).message(), None);
    }
}

#[test]
fn a_stream_is_resumed_only_in_its_session() {
    let scene = Scene::new();
    let session = Session::new(&scene, 0, "2025-11-25");
    let mut stream = session.start_plan();
    let last = first_progress(&mut stream);
    drop(stream);
    scene.recorder.release();
    scene.run_ended();
    let other = Session::new(&scene, 0, "2025-11-25");
    assert_eq!(other.resume(&last).message(), None);
    let mut stranger = Session::new(&scene, 1, "2025-11-25");
    assert_eq!(stranger.resume(&last).message(), None);
    stranger.id.clone_from(&session.id);
    assert_eq!(stranger.resume(&last).status(), 404);
    assert_eq!(session.resume(&last).answer()["id"], 7);
    let deleted = session.send(HttpRequest::delete(scene.listening.url()));
    assert_eq!(deleted.status(), 202);
    assert_eq!(session.resume(&last).status(), 404);
}
