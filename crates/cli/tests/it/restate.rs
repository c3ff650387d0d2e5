//! Runs on a Restate server with `planwright worker`.
#![cfg(unix)]

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::ops::Range;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};

use planwright_testkit::fake_server;
use planwright_testkit::restate::RestateServer;
use serde_json::{Value, json};

use crate::effects::{chains, effects, script};
use crate::program::{
    approve, json_report, planwright, run_program, spawn_program, stderr, stdout, write_payment,
};

/// A worker process, which is killed when this is dropped.
pub(crate) struct WorkerProcess {
    child: Child,
    /// No longer read, but the worker must be able to write.
    _errors: BufReader<ChildStderr>,
}

impl WorkerProcess {
    /// Starts a worker, and waits until Restate knows it.
    pub(crate) fn start(folder: &Path, restate: &RestateServer, port: u16, more: &[&str]) -> Self {
        let mut child = planwright(folder)
            .args([
                "worker",
                "--listen",
                &port.to_string(),
                "--register",
                &restate.admin(),
            ])
            .args(more)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let errors = read_until(&mut child, "registered with Restate");
        Self {
            child,
            _errors: errors,
        }
    }
}

impl WorkerProcess {
    /// Asks the worker to end, and waits for its end.
    fn terminate(mut self) {
        let id = self.child.id().to_string();
        let signalled = Command::new("kill").args(["-TERM", &id]).status().unwrap();
        assert!(signalled.success());
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// Reads what a program prints until it contains `text`. The program can print as long as the reader exists.
#[track_caller]
fn read_until(program: &mut Child, text: &str) -> BufReader<ChildStderr> {
    let mut errors = BufReader::new(program.stderr.take().unwrap());
    let mut output = String::new();
    while !output.contains(text) {
        let read = errors.read_line(&mut output).unwrap();
        assert!(0 < read, "{output}");
    }
    errors
}

#[test]
fn a_run_is_submitted_decided_and_shown_as_any_other() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write_payment(folder);
    let restate = RestateServer::start().unwrap();
    let on = format!("restate={}", restate.ingress());
    let run = ["run", "plan.json", "--simulate", "tools.json", "--on", &on];
    // Without a worker, nothing can run.
    let refused = run_program(folder, &run);
    assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
    assert!(
        stderr(&refused).contains("planwright worker --register"),
        "{}",
        stderr(&refused)
    );
    let port = free_port();
    let worker = WorkerProcess::start(folder, &restate, port, &["--simulate", "tools.json"]);
    let mut running = spawn_program(folder, &[&run[..], &["--format", "json"]].concat());
    let _errors = read_until(&mut running, "`paid` waits");
    // Nothing but Restate may continue the run, with or without a worker.
    drop(worker);
    let resumed = run_program(folder, &["resume", "--simulate", "tools.json"]);
    assert_eq!(resumed.status.code(), Some(2), "{}", stderr(&resumed));
    assert!(
        stderr(&resumed).contains("is in progress on `restate="),
        "{}",
        stderr(&resumed)
    );
    let approved = approve(folder, "last", "paid", &[]);
    assert_eq!(approved.status.code(), Some(0), "{}", stderr(&approved));
    let _worker = WorkerProcess::start(folder, &restate, port, &["--simulate", "tools.json"]);
    let ended = running.wait_with_output().unwrap();
    let report = json_report(&ended);
    assert_eq!(ended.status.code(), Some(0), "{report:#}");
    assert_eq!(report["output"]["paid"]["amount"], 3, "{report:#}");
    let here = [
        "run",
        "plan.json",
        "--simulate",
        "tools.json",
        "--approve",
        "all",
    ];
    assert_eq!(run_program(folder, &here).status.code(), Some(0));
    for (command, expected) in [
        (&["replay", "@2"][..], "replays identically"),
        (&["logs", "@2"], "paid"),
        (&["show", "@2"], "paid"),
        (&["diff", "@2", "@1"], ""),
    ] {
        let output = run_program(folder, command);
        assert_eq!(
            output.status.code(),
            Some(0),
            "{command:?}: {}{}",
            stdout(&output),
            stderr(&output)
        );
        let text = stdout(&output) + &stderr(&output);
        assert!(text.contains(expected), "{command:?}: {text}");
    }
}

#[test]
fn what_does_not_run_on_restate_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let tools = json!({"tools": {"look": {"annotations": {"readOnlyHint": true}, "echo": true}}});
    fs::write(folder.join("tools.json"), tools.to_string()).unwrap();
    let check = |plan: Value, more: &[&str], expected: &str| {
        fs::write(folder.join("plan.json"), plan.to_string()).unwrap();
        let run = ["run", "plan.json", "--simulate", "tools.json"];
        let on = ["--on", "restate=http://127.0.0.1:1"];
        let output = planwright(folder)
            .args([&run[..], &on, more].concat())
            .env("NAME", "value")
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains(expected), "{}", stderr(&output));
    };
    let plain = json!({"steps": [{"id": "a", "tool": "look"}]});
    check(plain.clone(), &[], "Restate cannot be reached");
    check(plain.clone(), &["--no-store"], "cannot be used with");
    check(plain.clone(), &["--approve", "plan"], "`--approve plan`");
    let settings = folder.join(".config/planwright");
    fs::create_dir_all(&settings).unwrap();
    let rule = "[env]\nNAME = [\"simulated.look\"]\n";
    fs::write(settings.join("planwright.toml"), rule).unwrap();
    let secret = json!({"steps": [{"id": "a", "tool": "look", "args": {"key": "${env.NAME}"}}]});
    check(secret, &[], "env.NAME");
}

#[test]
fn a_run_is_cancelled_while_no_worker_is_alive() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write_payment(folder);
    let restate = RestateServer::start().unwrap();
    let port = free_port();
    let start_worker = || {
        let tools = ["--simulate", "tools.json"];
        WorkerProcess::start(folder, &restate, port, &tools)
    };
    let worker = start_worker();
    let on = format!("restate={}", restate.ingress());
    let run = ["run", "plan.json", "--simulate", "tools.json", "--on", &on];
    let mut running = spawn_program(folder, &[&run[..], &["--format", "json"]].concat());
    let _errors = read_until(&mut running, "`paid` waits");
    drop(worker);
    // Both are stored; the request to cancel the run comes first.
    let cancelled = run_program(folder, &["cancel", "last"]);
    assert_eq!(cancelled.status.code(), Some(0), "{}", stderr(&cancelled));
    assert!(
        stderr(&cancelled).contains("the next one cancels it without a further call"),
        "{}",
        stderr(&cancelled)
    );
    let approved = approve(folder, "last", "paid", &[]);
    assert_eq!(approved.status.code(), Some(0), "{}", stderr(&approved));
    let _worker = start_worker();
    let ended = running.wait_with_output().unwrap();
    let report = json_report(&ended);
    assert_eq!(report["status"], "cancelled", "{report:#}");
    // The call was approved, and ended before it reached its tool.
    assert_eq!(report["steps"][1]["status"], "cancelled", "{report:#}");
    assert!(report["steps"][1]["output"].is_null(), "{report:#}");
}

#[test]
fn a_worker_that_ends_lets_its_calls_end_and_begins_no_other() {
    const STEPS: usize = 90;
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let config = json!({"mcpServers": {"fake": {
        "command": fake_server::program(), "args": [script(folder).to_string()], "trusted": true
    }}});
    fs::write(folder.join("servers.json"), config.to_string()).unwrap();
    let restate = RestateServer::start().unwrap();
    let (port, tools) = (free_port(), ["--servers", "servers.json"]);
    let on = format!("restate={}", restate.ingress());
    // Three chains, whose calls go to the service, and one, whose calls the run makes itself.
    for (number, steps) in [chains(0..STEPS), alone(STEPS..STEPS + STEPS / 3)]
        .into_iter()
        .enumerate()
    {
        fs::write(
            folder.join("plan.json"),
            json!({"steps": steps}).to_string(),
        )
        .unwrap();
        let before = effects(folder).len();
        let worker = WorkerProcess::start(folder, &restate, port, &tools);
        let run = ["run", "plan.json", "--servers", "servers.json", "--on", &on];
        let mut running = spawn_program(folder, &[&run[..], &["--format", "json"]].concat());
        let _errors = read_until(&mut running, "on Restate");
        while effects(folder).len() < before + STEPS / 6 {
            std::thread::yield_now();
        }
        worker.terminate();
        let made = effects(folder).len();
        assert!(made < before + steps.len(), "{made} calls in plan {number}");
        let _worker = WorkerProcess::start(folder, &restate, port, &tools);
        let ended = running.wait_with_output().unwrap();
        let report = json_report(&ended);
        assert_eq!(report["status"], "succeeded", "{report:#}");
        let steps_of_report = report["steps"].as_array().unwrap().iter();
        // A step in doubt would succeed with its replacement, and its error.
        let failed: Vec<_> = steps_of_report
            .filter(|step| !step["error"].is_null())
            .collect();
        assert!(failed.is_empty(), "{failed:#?}");
        assert_eq!(effects(folder).len(), before + steps.len());
    }
    let repeated: Vec<_> = effects(folder)
        .into_iter()
        .filter(|(_, count)| *count > 1)
        .collect();
    assert!(repeated.is_empty(), "{repeated:?}");
}

/// A chain of calls that must not be made twice.
fn alone(steps: Range<usize>) -> Vec<Value> {
    let first = steps.start;
    let steps = steps.map(|step| {
        let mut args = json!({"n": step});
        if first < step {
            args["before"] = json!(format!("${{s{}.n}}", step - 1));
        }
        json!({"id": format!("s{step}"), "tool": "pay", "args": args, "on_error": {"output": {"n": step}}})
    });
    steps.collect()
}
