//! Ctrl-C ends a run cleanly, and its servers with it.
#![cfg(unix)]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use planwright_testkit::fake_server;
use serde_json::{Value, json};

use crate::program::planwright;

#[test]
fn a_person_who_starts_the_gateway_learns_what_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let terminal = nix::pty::openpty(None, None).unwrap();
    let mut child = planwright(folder.path())
        .arg("serve")
        .stdin(Stdio::from(terminal.slave))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    // Before that it says that there are no tools.
    while !line.contains("MCP on") && stderr.read_line(&mut line).unwrap() > 0 {}
    assert_eq!(
        line.lines().last().unwrap_or_default().to_owned() + "\n",
        "speaking MCP on standard input and output, and waiting for a client; `planwright wrap` adds it to one, Ctrl-C ends it\n"
    );
    let interrupted = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(interrupted.unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stdout.is_empty());
    drop(terminal.master);
}

#[test]
fn an_interrupt_keeps_what_there_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let script = json!({"tools": [
        {"name": "quick", "inputSchema": {"type": "object"}, "does": {"text": "done"}},
        {"name": "never", "inputSchema": {"type": "object"}, "does": {"never": true}}
    ]});
    let config = json!({"mcpServers": {"fake": {"command": fake_server::program(), "args": [script.to_string()]}}});
    fs::write(path.join("servers.json"), config.to_string()).unwrap();
    let plan = json!({"name": "p", "steps": [
        {"id": "a", "tool": "quick"}, {"id": "b", "tool": "never", "after": ["a"]}, {"id": "c", "tool": "quick", "after": ["b"]}
    ]});
    fs::write(path.join("plan.json"), plan.to_string()).unwrap();
    let mut child = planwright(path)
        .args([
            "run",
            "plan.json",
            "--servers",
            "servers.json",
            "--format",
            "events",
        ])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut ends = Vec::new();
    let mut run = None;
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let event: Value = serde_json::from_str(&line.unwrap()).unwrap();
        if event["event"] == "attempt_started" && event["step"] == "b" {
            let interrupted = Command::new("kill")
                .args(["-INT", &child.id().to_string()])
                .status();
            assert!(interrupted.unwrap().success());
        }
        if event["event"] == "run_started" {
            run = event["run"].as_str().map(str::to_owned);
        }
        if event["event"] == "step_ended" {
            ends.push((event["step"].clone(), event["status"].clone()));
        }
    }
    let mut log = String::new();
    std::io::Read::read_to_string(&mut child.stderr.take().unwrap(), &mut log).unwrap();
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(130), "{log}");
    assert_eq!(
        ends,
        [
            (json!("a"), json!("succeeded")),
            (json!("c"), json!("not_run")),
            (json!("b"), json!("cancelled")),
        ]
    );

    // `b` was in flight, so its outcome is unknown.
    let run = run.unwrap();
    let resume = |more: &[&str]| {
        let output = planwright(path)
            .args(["resume", &run, "--format", "json"])
            .args(more)
            .output()
            .unwrap();
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let statuses: Vec<Value> = report["steps"]
            .as_array()
            .unwrap()
            .iter()
            .map(|step| step["status"].clone())
            .collect();
        (output.status.code(), statuses)
    };
    let (code, statuses) = resume(&[]);
    assert_eq!(code, Some(4));
    assert_eq!(
        statuses,
        [json!("succeeded"), json!("unknown"), json!("not_run")]
    );
    let (code, statuses) = resume(&["--set", "b=done"]);
    assert_eq!(code, Some(0));
    assert_eq!(statuses, vec![json!("succeeded"); 3]);
}

/// A computation cannot be interrupted; the program ends all the same.
#[test]
fn a_check_that_takes_very_long_can_be_interrupted() {
    let folder = tempfile::tempdir().unwrap();
    let pattern = r"\\\\w\\\\W\\\\w\\\\W";
    let step = |number: usize| {
        format!(r#"{{"id": "s{number}", "value": "${{matches('a{number}', '{pattern}')}}"}}"#)
    };
    let steps: Vec<String> = (0..20_000).map(step).collect();
    let plan = format!(r#"{{"steps": [{}]}}"#, steps.join(","));
    let mut child = planwright(folder.path())
        .args(["check", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // Once it reads more than fits into a pipe, it listens for signals.
    let mut input = child.stdin.take().unwrap();
    input.write_all(plan.as_bytes()).unwrap();
    drop(input);
    let interrupted = Command::new("kill")
        .args(["-TERM", &child.id().to_string()])
        .status();
    assert!(interrupted.unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
}
