//! Ctrl-C ends a run cleanly, and its servers with it.
#![cfg(unix)]

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use planwright_testkit::fake_server::Recorder;
use serde_json::{Value, json};

use crate::program::{planwright, spawn_run, stderr, write_served_plan};
use crate::prompts::{assert_screen, screens};
#[cfg(target_os = "linux")]
use crate::terminal::Terminal;

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
    let plan = json!({"name": "p", "steps": [
        {"id": "a", "tool": "quick"}, {"id": "b", "tool": "never", "after": ["a"]}, {"id": "c", "tool": "quick", "after": ["b"]}
    ]});
    write_served_plan(path, &script, &plan);
    let mut child = spawn_run(path, &["--drain", "0s"]);
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

/// Writes a plan of `steps`, and a server with the tools `quick`, `never`, and `slow`, which answers once `recorder` releases it. `never` and
/// `slow` report progress.
fn set_up(folder: &Path, steps: &Value, recorder: &Recorder) {
    let progress = json!({"jsonrpc": "2.0", "method": "notifications/progress", "params":
        {"progressToken": "$TOKEN", "progress": 2, "total": 5, "message": "reading the second of five very long pages of the report"}});
    let schema = json!({"type": "object"});
    let script = json!({"record": recorder.address(), "tools": [
        {"name": "quick", "inputSchema": schema, "does": {"text": "done"}},
        {"name": "never", "inputSchema": schema, "does": {"first": [progress], "never": true}},
        {"name": "slow", "inputSchema": schema, "does": {"wait_for_release": true, "first": [progress], "text": "done"}}
    ]});
    let plan = json!({"name": "p", "steps": steps});
    write_served_plan(folder, &script, &plan);
}

fn kill(signal: &str, child: &Child) {
    let sent = Command::new("kill")
        .args([signal, &child.id().to_string()])
        .status();
    assert!(sent.unwrap().success());
}

/// The end of an interrupted run.
struct Interrupted {
    run: String,
    status: Option<i32>,
    /// The steps with their final status.
    ends: Vec<String>,
    /// The events of the run itself.
    events: Vec<String>,
    log: String,
}

/// Reads the events of a run to its end, and acts on each.
fn watch(mut child: Child, mut act: impl FnMut(&Value, &Child)) -> Interrupted {
    let mut ended = Interrupted {
        run: String::new(),
        status: None,
        ends: Vec::new(),
        events: Vec::new(),
        log: String::new(),
    };
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let event: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let text = |name: &str| event[name].as_str().unwrap_or_default().to_owned();
        match event["event"].as_str().unwrap() {
            "run_started" => ended.run = text("run"),
            "step_ended" => ended
                .ends
                .push(format!("{} {}", text("step"), text("status"))),
            name if name.starts_with("run_") => ended.events.push(name.to_owned()),
            _ => {}
        }
        act(&event, &child);
    }
    std::io::Read::read_to_string(&mut child.stderr.take().unwrap(), &mut ended.log).unwrap();
    ended.status = child.wait().unwrap().code();
    ended
}

#[test]
fn the_first_interrupt_lets_calls_in_flight_end() {
    for signal in ["-INT", "-TERM"] {
        let (folder, recorder) = (tempfile::tempdir().unwrap(), Recorder::new());
        let path = folder.path();
        let steps = json!([
            {"id": "a", "tool": "slow"},
            {"id": "b", "tool": "quick", "after": ["a"]},
            {"id": "c", "tool": "quick", "after": ["b"]}
        ]);
        set_up(path, &steps, &recorder);
        let ended = watch(spawn_run(path, &[]), |event, child| {
            if event["event"] == "attempt_started" {
                kill(signal, child);
            } else if event["event"] == "run_draining" {
                recorder.release();
            }
        });
        let log = &ended.log;
        assert_eq!(ended.status, Some(130), "{log}");
        assert_eq!(ended.ends, ["b not_run", "c not_run", "a succeeded"]);
        assert_eq!(ended.events, ["run_draining", "run_ended"]);
        assert!(log.contains("interrupted: nothing new starts"), "{log}");
        let short = &ended.run[..8];
        let command = |arguments: &[&str]| {
            let output = planwright(path).args(arguments).output().unwrap();
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            (output.status.code(), text)
        };
        // Nothing is unknown, and nothing is called again.
        let (status, log) = command(&["resume", short]);
        assert_eq!(status, Some(0), "{log}");
        assert!(
            log.contains("✓ 3 steps in") && log.contains("(3 calls)"),
            "{log}"
        );
        assert_eq!(command(&["replay", short]).0, Some(0));
    }
}

#[test]
fn a_drained_run_without_further_steps_has_its_usual_end() {
    let (folder, recorder) = (tempfile::tempdir().unwrap(), Recorder::new());
    set_up(
        folder.path(),
        &json!([{"id": "a", "tool": "slow"}]),
        &recorder,
    );
    let ended = watch(spawn_run(folder.path(), &[]), |event, child| {
        if event["event"] == "attempt_started" {
            kill("-INT", child);
        } else if event["event"] == "run_draining" {
            recorder.release();
        }
    });
    assert_eq!(ended.status, Some(0), "{}", ended.log);
    assert_eq!(ended.ends, ["a succeeded"]);
}

#[test]
fn the_second_interrupt_or_the_limit_cancels() {
    let steps = json!([{"id": "a", "tool": "never"}, {"id": "b", "tool": "quick", "after": ["a"]}]);
    for (more, interrupts) in [(&[][..], 2), (&["--drain", "50ms"], 1)] {
        let (folder, recorder) = (tempfile::tempdir().unwrap(), Recorder::new());
        set_up(folder.path(), &steps, &recorder);
        let mut sent = 0;
        let mut reports = Vec::new();
        let ended = watch(spawn_run(folder.path(), more), |event, child| {
            if event["event"] == "call_progress" {
                reports.push(json!([event["step"], event["progress"], event["total"]]));
            }
            let is_due =
                ["call_progress", "run_draining"].contains(&event["event"].as_str().unwrap());
            if is_due && sent < interrupts {
                kill("-INT", child);
                sent += 1;
            }
        });
        let log = ended.log;
        assert_eq!((ended.status, sent), (Some(130), interrupts), "{log}");
        assert_eq!(ended.ends, ["b not_run", "a cancelled"]);
        assert_eq!(reports, [json!(["a", 2.0, 5.0])]);
    }
}

#[test]
fn a_terminal_shows_progress_and_the_stopping_of_a_run() {
    let (folder, recorder) = (tempfile::tempdir().unwrap(), Recorder::new());
    let path = folder.path();
    let steps = json!([
        {"id": "first", "tool": "quick"},
        {"id": "read_the_report", "tool": "never", "after": ["first"]},
        {"id": "send", "tool": "quick", "after": ["read_the_report"]},
        {"id": "file", "tool": "quick", "after": ["send"]}
    ]);
    set_up(path, &steps, &recorder);
    let exchange = [("40%", "\u{3}"), ("stopping:", "\u{3}")];
    for (name, size) in [("interrupted", (24, 80)), ("interrupted-narrow", (20, 60))] {
        let line = "run plan.json --servers servers.json";
        let screens = screens(path, line, &exchange, size);
        let [progress, stopping, end] = &screens[..] else {
            panic!("{screens:?}")
        };
        assert_screen(&format!("{name}-progress"), progress);
        assert_screen(&format!("{name}-stopping"), stopping);
        // On a narrow terminal, the id of the run may be on two lines.
        if size.1 == 80 {
            assert_screen(name, end);
        }
    }
}

/// A computation cannot be interrupted; the program ends all the same. Runs a command line of a shell on a terminal. A person presses
/// Ctrl-C as soon as the terminal shows `question`. Returns what it shows.
#[cfg(target_os = "linux")]
fn interrupted_at(folder: &Path, line: &str, question: &str) -> String {
    // The shell outlives the interruption of its program.
    let line = format!("trap : INT; {line}");
    let mut terminal = Terminal::start(folder, &line, &[]);
    let mut shown = String::new();
    let mut is_asked = false;
    loop {
        let bytes = terminal.shown();
        if bytes.is_empty() {
            break;
        }
        shown.push_str(&String::from_utf8_lossy(bytes));
        if !is_asked && shown.contains(question) {
            is_asked = true;
            terminal.press("\u{3}");
        }
    }
    terminal.exit();
    shown
}

#[cfg(target_os = "linux")]
#[test]
fn an_interrupted_passphrase_leaves_a_terminal_that_echoes() {
    let folder = tempfile::tempdir().unwrap();
    let program = env!("CARGO_BIN_EXE_planwright");
    let line = format!("'{program}' passphrase; echo exit $?; stty -a");
    let shown = interrupted_at(folder.path(), &line, "new passphrase: ");
    assert!(shown.contains("exit 130"), "{shown}");
    assert!(shown.contains(" echo "), "{shown}");
}

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

#[test]
fn another_process_cancels_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let script = json!({"tools": [{"name": "never", "inputSchema": {"type": "object"}, "does": {"never": true}}]});
    let plan = json!({"steps": [{"id": "a", "tool": "never"}]});
    write_served_plan(path, &script, &plan);
    let cancel = |run: &str| {
        let output = planwright(path).args(["cancel", run]).output().unwrap();
        (output.status.code(), stderr(&output))
    };
    let mut child = planwright(path)
        .args(["run", "plan.json", "--servers", "servers.json"])
        .args(["--format", "events"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut ended = None;
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let event: Value = serde_json::from_str(&line.unwrap()).unwrap();
        if event["event"] == "attempt_started" {
            let (exit, message) = cancel("last");
            assert_eq!(exit, Some(0), "{message}");
            let asked = format!("process {}", child.id());
            assert!(message.contains(&asked), "{message}");
        }
        if event["event"] == "run_ended" {
            ended = Some(event["status"].clone());
        }
    }
    assert_eq!(ended, Some(json!("cancelled")));
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let (exit, message) = cancel("last");
    assert_eq!(exit, Some(2));
    assert!(message.contains("the run has ended"), "{message}");
}
