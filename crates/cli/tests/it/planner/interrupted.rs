//! `ask` is ended while the model writes, or while what it wrote runs.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use super::ModelFixture;
use super::streamed::{endless, fixture, plan, run_program, runs, tools, unsound, written};
use crate::program::planwright;

/// Starts `ask`; its output can be read while it runs.
fn ask(fixture: &ModelFixture) -> Child {
    planwright(fixture.path())
        .args(["ask", "tell", "--format", "events", "--drain", "0s"])
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
        let printed: Value = serde_json::from_str(&line).unwrap();
        printed["event"] == event && printed["step"] == step
    });
    assert!(happened, "`{step}` never was {event}");
    act(child);
    assert!(lines.all(|line| line.is_ok()));
}

/// Waits for the end. Returns the exit status and the standard error.
fn end(mut child: Child) -> (Option<i32>, String) {
    let mut log = String::new();
    std::io::Read::read_to_string(&mut child.stderr.take().unwrap(), &mut log).unwrap();
    (child.wait().unwrap().code(), log)
}

#[test]
fn a_plan_that_is_still_being_written_is_left() {
    let fixture = fixture(&json!({"echo": true}));
    written(&fixture, &[endless()]);
    let mut child = ask(&fixture);
    when(&mut child, "step_ended", "c", |child| interrupt(child));
    let (exit, log) = end(child);
    assert_eq!(exit, Some(130), "{log}");
    assert!(
        log.contains("only read-only calls were made, and nothing was stored"),
        "{log}"
    );
    assert_eq!(runs(&fixture), [] as [Value; 0]);
}

#[test]
fn a_run_is_left_whose_plan_is_written_anew() {
    let fixture = fixture(&json!({"echo": true}));
    written(&fixture, &[unsound(), endless()]);
    let mut child = ask(&fixture);
    let mut stderr = BufReader::new(child.stderr.take().unwrap()).lines();
    let turned = stderr
        .by_ref()
        .map_while(Result::ok)
        .any(|line| line.contains("the finished plan differs from its beginning"));
    assert!(turned);
    interrupt(&child);
    let rest: Vec<String> = stderr.map_while(Result::ok).collect();
    assert!(
        rest.iter()
            .any(|line| line.contains("the run cannot be resumed")),
        "{rest:?}"
    );
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let run = runs(&fixture)[0]["id"].as_str().unwrap().to_owned();
    let (_, log) = run_program(&fixture, &["resume", &run], 2);
    assert!(log.contains("its plan was never complete"), "{log}");
}

#[test]
fn a_run_whose_plan_is_there_goes_on_later() {
    for (is_killed, status) in [(false, Some(130)), (true, None)] {
        let fixture = fixture(&json!({"sleep_ms": 3_600_000, "echo": true}));
        written(&fixture, &[plan()]);
        let mut child = ask(&fixture);
        when(&mut child, "attempt_started", "tell", |child| {
            if is_killed {
                child.kill().unwrap();
            } else {
                interrupt(child);
            }
        });
        let (exit, log) = end(child);
        assert_eq!(exit, status, "{log}");
        if status.is_some() {
            assert!(log.contains("resume with\n`planwright resume"), "{log}");
        }
        let run = runs(&fixture)[0]["id"].as_str().unwrap().to_owned();
        tools(&fixture, &json!({"echo": true}));
        let resume = ["resume", &run, "--retry", "tell", "--format", "json"];
        let (data, _) = run_program(&fixture, &resume, 0);
        let report: Value = serde_json::from_str(&data).unwrap();
        assert_eq!(report["status"], "succeeded");
        run_program(&fixture, &["replay", &run], 0);
    }
}
