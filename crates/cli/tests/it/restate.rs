//! Runs on a Restate server with `planwright worker`.
#![cfg(unix)]

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, ChildStderr, Stdio};
use std::time::{Duration, Instant};

use planwright_store::Store;
use planwright_testkit::chance::Chance;
use planwright_testkit::fake_server;
use planwright_testkit::restate::RestateServer;
use serde_json::{Value, json};

use crate::effects::{chains, effects, script, succeeded, tool_of};
use crate::program::{
    approve, json_report, planwright, run_program, spawn_program, stderr, stdout, write_payment,
};

/// The number of kills of the worker or of the Restate server.
const KILLS: u64 = 16;

/// A worker process, which is killed when this is dropped.
struct WorkerProcess {
    child: Child,
    /// No longer read, but the worker must be able to write.
    _errors: BufReader<ChildStderr>,
}

impl WorkerProcess {
    /// Starts a worker, and waits until Restate knows it.
    fn start(folder: &Path, restate: &RestateServer, port: u16, tools: &[&str]) -> Self {
        let mut child = planwright(folder)
            .args([
                "worker",
                "--listen",
                &port.to_string(),
                "--register",
                &restate.admin(),
            ])
            .args(tools)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut errors = BufReader::new(child.stderr.take().unwrap());
        let mut output = String::new();
        while !output.contains("registered with Restate") {
            let read = errors.read_line(&mut output).unwrap();
            assert!(0 < read, "{output}");
        }
        Self {
            child,
            _errors: errors,
        }
    }
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
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
    let mut errors = BufReader::new(running.stderr.take().unwrap());
    let mut output = String::new();
    while !output.contains("`paid` waits") {
        let read = errors.read_line(&mut output).unwrap();
        assert!(0 < read, "{output}");
    }
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
fn nothing_is_lost_and_nothing_happens_twice() {
    const STEPS: usize = 90;
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let script = script(folder);
    let config = json!({"mcpServers": {"fake": {
        "command": fake_server::program(), "args": [script.to_string()], "trusted": true
    }}});
    fs::write(folder.join("servers.json"), config.to_string()).unwrap();
    let steps = chains(0..STEPS);
    fs::write(
        folder.join("plan.json"),
        json!({"steps": steps}).to_string(),
    )
    .unwrap();
    let mut restate = RestateServer::start().unwrap();
    let (port, tools) = (free_port(), ["--servers", "servers.json"]);
    let mut worker = Some(WorkerProcess::start(folder, &restate, port, &tools));
    let on = format!("restate={}", restate.ingress());
    let running = spawn_program(
        folder,
        &[
            "run",
            "plan.json",
            "--servers",
            "servers.json",
            "--on",
            &on,
            "--format",
            "json",
        ],
    );
    let path = folder.join(".local/share/planwright/planwright.db");
    let mut chance = Chance::new(7);
    #[expect(
        clippy::disallowed_methods,
        reason = "a test waits for another process"
    )]
    let begun = Instant::now();
    let store = loop {
        if let Ok(store) = Store::open(&path)
            && let Ok(runs) = store.runs(&planwright_store::RunFilter::default())
            && let Some(run) = runs.first()
        {
            break (store, run.id.clone());
        }
        assert!(
            begun.elapsed() < Duration::from_secs(30),
            "the run does not begin"
        );
        std::thread::yield_now();
    };
    let (store, run) = store;
    let mut completed: HashMap<u64, usize> = HashMap::new();
    for kill in 0..KILLS {
        // The moments of the kills are what is random here.
        std::thread::sleep(Duration::from_millis(20 + chance.below(400)));
        if kill % 4 == 3 {
            restate.kill();
            restate.start_again().unwrap();
        } else {
            drop(worker.take());
            let counts = effects(folder);
            for step in succeeded(&store, run.as_str()) {
                completed
                    .entry(step)
                    .or_insert_with(|| counts.get(&step).copied().unwrap_or(0));
            }
            worker = Some(WorkerProcess::start(folder, &restate, port, &tools));
        }
    }
    let ended = running.wait_with_output().unwrap();
    let report = json_report(&ended);
    let counts = effects(folder);
    for (step, before) in completed {
        let now = counts.get(&step).copied().unwrap_or(0);
        assert_eq!(now, before, "completed step {step}");
    }
    for (step, reported) in report["steps"].as_array().unwrap().iter().enumerate() {
        let count = counts.get(&(step as u64)).copied().unwrap_or(0);
        let is_pay = tool_of(step) == "pay";
        assert!(!is_pay || count <= 1, "step {step} has paid {count} times");
        if reported["status"] == "succeeded" && reported["error"].is_null() {
            assert!(1 <= count, "step {step} has no effect: {reported}");
        } else {
            assert!(is_pay, "{reported}");
        }
    }
}
