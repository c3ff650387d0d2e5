//! `planwright ui`: the tools with which the page runs plans, resumes runs and undoes what they did.
#![cfg(unix)]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};

use planwright_testkit::fake_server;
use planwright_testkit::http_wire::{HttpRequest, HttpResponse};
use serde_json::{Value, json};

use crate::program::{planwright, run_program, stderr, stdout};

/// A page that the program serves, with a session.
struct ServedPage {
    process: Child,
    origin: String,
    cookie: String,
    key: String,
}

impl ServedPage {
    fn start(folder: &Path, arguments: &[&str]) -> Self {
        let scripts = folder.join("scripts");
        fs::create_dir_all(&scripts).unwrap();
        let mut process = planwright(folder)
            .env("TMPDIR", scripts)
            .args(["ui", "--no-open"])
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut lines = BufReader::new(process.stdout.take().unwrap());
        lines.read_line(&mut line).unwrap();
        let (origin, token) = line.trim().split_once("/#token=").unwrap();
        let mut page = Self {
            process,
            origin: origin.to_owned(),
            cookie: String::new(),
            key: String::new(),
        };
        let response = page.write("session", &json!({"token": token})).send();
        let cookie = response.header("set-cookie").unwrap();
        cookie
            .split(';')
            .next()
            .unwrap()
            .clone_into(&mut page.cookie);
        let body: Value = serde_json::from_str(&response.text()).unwrap();
        body["key"].as_str().unwrap().clone_into(&mut page.key);
        page
    }

    fn write(&self, path: &str, body: &Value) -> HttpRequest {
        let request = HttpRequest::post(&format!("{}/api/{path}", self.origin), body);
        self.signed(request.header("origin", &self.origin))
    }

    fn signed(&self, request: HttpRequest) -> HttpRequest {
        request
            .header("cookie", &self.cookie)
            .header("planwright-session", &self.key)
    }

    fn get(&self, path: &str) -> HttpResponse {
        let request = HttpRequest::get(&format!("{}/api/{path}", self.origin));
        self.signed(request).send()
    }

    fn read(&self, path: &str) -> Value {
        serde_json::from_str(&self.get(path).text()).unwrap()
    }

    fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        let response = self.write(path, body).send();
        let status = response.status();
        (status, serde_json::from_str(&response.text()).unwrap())
    }

    /// Waits until a row of the list of runs is as wanted, and returns it.
    fn row(&self, is_wanted: impl Fn(&Value) -> bool) -> Value {
        let mut stream = self.get("events");
        loop {
            let event = stream.message().expect("the stream lasts");
            let mut rows = event["changed"].as_array().into_iter().flatten();
            if let Some(row) = rows.find(|row| is_wanted(row)) {
                return row.clone();
            }
        }
    }

    /// Runs a plan to its first question, cancels it, and returns its id.
    fn cancelled(&self, plan: &str, mode: &str) -> String {
        let (status, started) = self.post("plan/run", &json!({"text": plan, "mode": mode}));
        assert_eq!(status, 200, "{started}");
        let run = started["run"].as_str().unwrap().to_owned();
        self.row(|row| row["id"] == *run && row["waiting"] == 1);
        assert_eq!(self.post(&format!("runs/{run}/cancel"), &json!({})).0, 200);
        self.row(|row| row["id"] == *run && row["status"] == "cancelled");
        // The process lets go of the run after its end.
        while self.post(&format!("runs/{run}/cancel"), &json!({})).0 != 409 {}
        run
    }

    /// Approves the open call of a run, and waits for its end.
    fn approve(&self, run: &str) {
        self.row(|row| row["id"] == *run && row["waiting"] == 1);
        let inbox = self.read("inbox");
        let mut questions = inbox["questions"].as_array().unwrap().iter();
        let question = questions.find(|question| question["run"] == *run).unwrap();
        let call = json!({"at": question["at"], "digest": question["digest"]});
        let body = json!({"run": run, "decisions": [call], "decision": "approve"});
        assert_eq!(self.post("decisions", &body).0, 200);
        self.row(|row| row["id"] == *run && row["status"] == "succeeded");
    }
}

impl Drop for ServedPage {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A folder with a server whose tool `pay` writes each call into a file.
struct Scene(tempfile::TempDir);

impl Scene {
    fn new() -> Self {
        let scene = Self(tempfile::tempdir().unwrap());
        scene.add_servers("prod.json", "calls");
        scene
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn add_servers(&self, file: &str, calls: &str) {
        let calls = self.path().join(calls);
        let script = json!({"tools": [{
            "name": "pay", "inputSchema": {"type": "object"}, "does": {"appends": calls}
        }]});
        let server = json!({"command": fake_server::program(), "args": [script.to_string()]});
        let config = json!({"mcpServers": {"bank": server}});
        fs::write(self.path().join(file), config.to_string()).unwrap();
    }

    fn calls(&self, file: &str) -> usize {
        let text = fs::read_to_string(self.path().join(file));
        text.unwrap_or_default().lines().count()
    }
}

/// A run whose process is killed while its only call is made.
#[test]
fn the_death_of_a_process_is_shown() {
    let scene = Scene::new();
    let folder = scene.path();
    let script = json!({"tools": [{"name": "slow", "inputSchema": {"type": "object"}, "does": {"never": true}}]});
    let server = json!({"command": fake_server::program(), "args": [script.to_string()]});
    let config = json!({"mcpServers": {"bank": server}});
    fs::write(folder.join("slow.json"), config.to_string()).unwrap();
    let plan = json!({"steps": [{"id": "slow", "tool": "bank.slow", "args": {}}]});
    fs::write(folder.join("plan.json"), plan.to_string()).unwrap();
    let mut run = planwright(folder)
        .args([
            "run",
            "plan.json",
            "--servers",
            "slow.json",
            "--format",
            "events",
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut events = BufReader::new(run.stdout.take().unwrap()).lines();
    let mut id = String::new();
    for line in &mut events {
        let event: Value = serde_json::from_str(&line.unwrap()).unwrap();
        if let Some(run) = event["run"].as_str() {
            run.clone_into(&mut id);
        }
        if event["event"] == "attempt_started" {
            break;
        }
    }
    // The page opens while the call is made, and nothing is stored after that.
    let page = ServedPage::start(folder, &["--servers", "prod.json"]);
    let mut stream = page.get(&format!("events?run={id}"));
    let mut next = |status: &str| loop {
        let event = stream.message().expect("the stream lasts");
        if event["run"]["status"] == status {
            return event["states"]["slow"]["status"].clone();
        }
    };
    assert_eq!(next("running"), "running");
    run.kill().unwrap();
    run.wait().unwrap();
    assert_eq!(next("interrupted"), "unknown");
    let state = page.read(&format!("runs/{id}"));
    assert_eq!(state["states"]["slow"]["status"], "unknown");
    // A page that read the run before is corrected by the first event.
    let seq = &state["seq"];
    let mut later = page.get(&format!("events?run={id}&after={seq}"));
    loop {
        let event = later.message().expect("the stream lasts");
        if event.get("seq").is_some() {
            assert_eq!(event["states"]["slow"]["status"], "unknown");
            break;
        }
    }
}

const PAY: &str = r#"{"steps": [{"id": "pay", "tool": "bank.pay", "args": {}, "approval": true}]}"#;

#[test]
fn a_simulated_run_calls_no_tool_when_it_is_resumed() {
    let scene = Scene::new();
    let page = ServedPage::start(scene.path(), &["--servers", "prod.json"]);
    let run = page.cancelled(PAY, "simulated");
    let (status, resumed) = page.post(&format!("runs/{run}/resume"), &json!({}));
    assert_eq!(status, 200, "{resumed}");
    page.approve(&run);
    assert_eq!(scene.calls("calls"), 0);
    // A real run calls the tool.
    let run = page.cancelled(PAY, "real");
    assert_eq!(page.post(&format!("runs/{run}/resume"), &json!({})).0, 200);
    page.approve(&run);
    assert_eq!(scene.calls("calls"), 1);
}

#[test]
fn a_simulated_run_of_an_earlier_page_is_not_resumed() {
    let scene = Scene::new();
    let page = ServedPage::start(scene.path(), &["--servers", "prod.json"]);
    let run = page.cancelled(PAY, "simulated");
    // Its end removes its scripts.
    drop(page);
    fs::remove_dir_all(scene.path().join("scripts")).unwrap();
    let page = ServedPage::start(scene.path(), &["--servers", "prod.json"]);
    let (status, refused) = page.post(&format!("runs/{run}/resume"), &json!({}));
    assert_eq!(status, 409, "{refused}");
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(message.contains("simulated tools"), "{message}");
    // An import changes nothing about that.
    let exported = run_program(scene.path(), &["export", &run, "--output", "run.json"]);
    assert!(exported.status.success(), "{}", stderr(&exported));
    let other = ["--store", "other.db"];
    let imported = run_program(
        scene.path(),
        &[&["import", "run.json"], &other[..]].concat(),
    );
    assert!(imported.status.success(), "{}", stderr(&imported));
    let page = ServedPage::start(
        scene.path(),
        &[&["--servers", "prod.json"], &other[..]].concat(),
    );
    let (status, refused) = page.post(&format!("runs/{run}/resume"), &json!({}));
    assert_eq!(status, 409, "{refused}");
    assert_eq!(scene.calls("calls"), 0);
}

#[test]
fn a_stored_run_is_resumed_with_its_own_tools() {
    let scene = Scene::new();
    scene.add_servers("own.json", "own_calls");
    fs::write(scene.path().join("plan.json"), PAY).unwrap();
    let ran = run_program(
        scene.path(),
        &[
            "run",
            "plan.json",
            "--servers",
            "own.json",
            "--format",
            "json",
        ],
    );
    let report: Value = serde_json::from_str(&stdout(&ran)).unwrap();
    let run = report["run"].as_str().unwrap();
    let page = ServedPage::start(scene.path(), &["--servers", "prod.json"]);
    assert_eq!(page.post(&format!("runs/{run}/resume"), &json!({})).0, 200);
    page.approve(run);
    assert_eq!((scene.calls("calls"), scene.calls("own_calls")), (0, 1));
}

const UNDOABLE: &str = r#"{"tools": {
    "create": {"annotations": {"destructiveHint": false}, "returns": {"id": "e-1"}},
    "delete": {"annotations": {"destructiveHint": false}, "returns": "deleted"},
    "send": {"annotations": {"destructiveHint": false}, "returns": "sent"},
    "wait": {"annotations": {"destructiveHint": false}, "sleep_ms": 600000, "returns": "over"}
}}"#;

/// A folder with tools that a configuration undoes, and a plan of calls one after the other.
fn undoable(tools: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("tools.json", UNDOABLE);
    let config = "[tools.undo]\n\"simulated.create\" = \"delete(id=${output.id})\"\n";
    write("planwright.toml", config);
    let steps = tools.iter().enumerate().map(|(index, tool)| {
        let after = index.checked_sub(1).map(|before| format!("s{before}"));
        json!({"id": format!("s{index}"), "tool": tool, "after": Vec::from_iter(after)})
    });
    let plan = json!({"steps": steps.collect::<Vec<_>>()});
    write("plan.json", &plan.to_string());
    folder
}

const RUN: [&str; 4] = ["run", "plan.json", "--simulate", "tools.json"];

#[test]
fn a_revert_makes_the_calls_that_were_shown() {
    let folder = undoable(&["send", "create"]);
    let ran = run_program(folder.path(), &[&RUN[..], &["--format", "json"]].concat());
    let report: Value = serde_json::from_str(&stdout(&ran)).unwrap();
    let run = report["run"].as_str().unwrap();
    let page = ServedPage::start(folder.path(), &["--simulate", "tools.json"]);
    assert_eq!(page.read(&format!("runs/{run}"))["can_revert"], true);
    let propose = |run: &str| page.post(&format!("runs/{run}/revert/proposal"), &json!({}));
    let begin = |digest: &Value| {
        let consent = json!({"digest": digest});
        page.post(&format!("runs/{run}/revert"), &consent)
    };
    let (status, shown) = propose(run);
    assert_eq!(status, 200, "{shown}");
    let undo = json!({"step": "undo_s1", "call": "s1", "called": "simulated.create", "tool": "delete", "args": {"id": "e-1"}});
    assert_eq!(shown["undos"], json!([undo]));
    let left = json!([{"call": "s0", "tool": "simulated.send", "reason": null}]);
    assert_eq!(shown["unreverted"], left);
    // Nothing begins without consent to exactly that.
    let (status, refused) = begin(&json!("0"));
    assert_eq!(status, 409, "{refused}");
    let runs = page.read("runs");
    assert_eq!(runs["runs"].as_array().map(Vec::len), Some(1), "{runs}");
    let (status, begun) = begin(&shown["digest"]);
    assert_eq!(status, 200, "{begun}");
    let revert = begun["run"].as_str().unwrap();
    page.row(|row| row["id"] == *revert && row["status"] == "succeeded");
    // What was shown before is done, so the same consent begins nothing.
    while page.read(&format!("runs/{revert}"))["run"]["pid"] != Value::Null {}
    let (status, refused) = begin(&shown["digest"]);
    assert_eq!(status, 409, "{refused}");
    let (_, again) = propose(run);
    assert_eq!(again["undone_before"], 1);
    assert_eq!(again["undos"], json!([]));
    let (status, nothing) = begin(&again["digest"]);
    assert_eq!(status, 409, "{nothing}");
    assert_eq!(page.read(&format!("runs/{revert}"))["can_revert"], false);
    assert_eq!(propose(revert).0, 409);
}

#[test]
fn a_run_whose_process_died_can_be_reverted() {
    let folder = undoable(&["create", "wait"]);
    let page = ServedPage::start(folder.path(), &["--simulate", "tools.json"]);
    let mut process = planwright(folder.path())
        .args(RUN)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let row = page.row(|row| row["steps_ended"] == 1);
    let run = row["id"].as_str().unwrap();
    assert_eq!(page.read(&format!("runs/{run}"))["can_revert"], false);
    process.kill().unwrap();
    process.wait().unwrap();
    page.row(|row| row["id"] == *run && row["status"] == "interrupted");
    assert_eq!(page.read(&format!("runs/{run}"))["can_revert"], true);
    let (status, shown) = page.post(&format!("runs/{run}/revert/proposal"), &json!({}));
    assert_eq!(status, 200, "{shown}");
    assert_eq!(shown["undos"][0]["call"], "s0");
    let doubtful = json!([{"call": "s1", "tool": "simulated.wait", "undone_by": null}]);
    assert_eq!(shown["in_doubt"], doubtful);
}

#[test]
fn a_run_that_waits_is_not_reverted() {
    let scene = Scene::new();
    let page = ServedPage::start(scene.path(), &["--servers", "prod.json"]);
    fs::write(scene.path().join("plan.json"), PAY).unwrap();
    let ran = run_program(
        scene.path(),
        &[
            "run",
            "plan.json",
            "--servers",
            "prod.json",
            "--format",
            "json",
        ],
    );
    let report: Value = serde_json::from_str(&stdout(&ran)).unwrap();
    assert_eq!(report["status"], "waiting");
    let run = report["run"].as_str().unwrap();
    assert_eq!(page.read(&format!("runs/{run}"))["can_revert"], false);
    let proposed = page.post(&format!("runs/{run}/revert/proposal"), &json!({}));
    assert_eq!(proposed.0, 409, "{}", proposed.1);
}
