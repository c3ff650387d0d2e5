//! `ask` is ended while the model writes, or while what it wrote runs.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use super::ChatContext;
use super::streamed::{desk, endless, plan, runs, told, tools, unsound, written};
use crate::program::planwright;

/// Begins to ask; what the program prints can be read while it goes on.
fn ask(desk: &ChatContext) -> Child {
    planwright(desk.path())
        .args(["ask", "tell", "--format", "events"])
        .args(["--simulate", "tools.json", "--model", "replay:answers.json"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn interrupt(child: &Child) {
    let sent = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(sent.unwrap().success());
}

/// Acts on the program after it has reported this event of the step.
fn when(child: &mut Child, event: &str, step: &str, act: impl Fn(&mut Child)) {
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let happened = lines.by_ref().map_while(Result::ok).any(|line| {
        let told: Value = serde_json::from_str(&line).unwrap();
        told["event"] == event && told["step"] == step
    });
    assert!(happened, "`{step}` never was {event}");
    act(child);
    assert!(lines.all(|line| line.is_ok()));
}

/// How it ended, and what it said.
fn end(mut child: Child) -> (Option<i32>, String) {
    let mut talk = String::new();
    std::io::Read::read_to_string(&mut child.stderr.take().unwrap(), &mut talk).unwrap();
    (child.wait().unwrap().code(), talk)
}

#[test]
fn a_plan_that_is_still_being_written_is_left() {
    let desk = desk(&json!({"echo": true}));
    written(&desk, &[endless()]);
    let mut child = ask(&desk);
    when(&mut child, "step_ended", "c", |child| interrupt(child));
    let (exit, talk) = end(child);
    assert_eq!(exit, Some(130), "{talk}");
    assert!(
        talk.contains("what was called merely reads, and nothing is stored of it"),
        "{talk}"
    );
    assert_eq!(runs(&desk), [] as [Value; 0]);
}

#[test]
fn a_run_is_left_whose_plan_is_written_anew() {
    let desk = desk(&json!({"echo": true}));
    written(&desk, &[unsound(), endless()]);
    let mut child = ask(&desk);
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
    let turned = said
        .by_ref()
        .map_while(Result::ok)
        .any(|line| line.contains("the plan turned out otherwise than it began"));
    assert!(turned);
    interrupt(&child);
    let rest: Vec<String> = said.map_while(Result::ok).collect();
    assert!(
        rest.iter()
            .any(|line| line.contains("the run cannot go on")),
        "{rest:?}"
    );
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let run = runs(&desk)[0]["id"].as_str().unwrap().to_owned();
    let (_, talk) = told(&desk, &["resume", &run], 2);
    assert!(talk.contains("its plan was never whole"), "{talk}");
}

#[test]
fn a_run_whose_plan_is_there_goes_on_later() {
    for (is_killed, status) in [(false, Some(130)), (true, None)] {
        let desk = desk(&json!({"sleep_ms": 3_600_000, "echo": true}));
        written(&desk, &[plan()]);
        let mut child = ask(&desk);
        when(&mut child, "attempt_started", "tell", |child| {
            if is_killed {
                child.kill().unwrap();
            } else {
                interrupt(child);
            }
        });
        let (exit, talk) = end(child);
        assert_eq!(exit, status, "{talk}");
        if status.is_some() {
            assert!(talk.contains("go on with `planwright resume"), "{talk}");
        }
        let run = runs(&desk)[0]["id"].as_str().unwrap().to_owned();
        tools(&desk, &json!({"echo": true}));
        let resume = ["resume", &run, "--retry", "tell", "--format", "json"];
        let (data, _) = told(&desk, &resume, 0);
        let report: Value = serde_json::from_str(&data).unwrap();
        assert_eq!(report["status"], "succeeded");
        told(&desk, &["replay", &run], 0);
    }
}
