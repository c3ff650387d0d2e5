//! Servers end with the process that started them, and a resumed run checks for those that have not.
#![cfg(target_os = "linux")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use planwright::mcp::process_table::started_at;
use planwright::store::ServerProcess;
use planwright_testkit::fake_server::{self, Recorder};
use serde_json::{Value, json};

use crate::program::{planwright, stderr};

/// The number of polls for an immediate effect.
const LOOKS: usize = 2000;

/// A server with the tool `pay` that `does` something. It does not end when its input is closed, and has a child in a session
/// of its own. The numbers of both go to the file `pids`. The recorder hears of each message that the server gets.
#[must_use]
fn set_up(folder: &Path, does: &Value) -> Recorder {
    let recorder = Recorder::new();
    let mut does = does.clone();
    does["appends"] = json!(folder.join("effects"));
    let script = json!({
        "stays": true,
        "record": recorder.address(),
        "tools": [{"name": "pay", "inputSchema": {"type": "object"}, "does": does}]
    });
    let shell = r#"setsid sleep 1000 </dev/null >/dev/null 2>&1 & echo $! >> pids; echo $$ >> pids; exec "$0" "$1""#;
    let config = json!({"mcpServers": {"fake": {
        "command": "sh", "args": ["-c", shell, fake_server::program(), script.to_string()], "trusted": true
    }}});
    fs::write(folder.join("mcp.json"), config.to_string()).unwrap();
    let plan = json!({"name": "p", "steps": [{"id": "pay", "tool": "pay"}]});
    fs::write(folder.join("plan.json"), plan.to_string()).unwrap();
    recorder
}

/// Waits for a condition that has no event.
fn wait_until(what: &str, mut happens: impl FnMut() -> bool) {
    let happened = (0..LOOKS).any(|_| {
        if happens() {
            return true;
        }
        thread::sleep(Duration::from_millis(5));
        false
    });
    assert!(happened, "{what}");
}

fn effects(folder: &Path) -> usize {
    let text = fs::read_to_string(folder.join("effects")).unwrap_or_default();
    text.lines().count()
}

fn wait_until_all_are_gone(folder: &Path) {
    let text = fs::read_to_string(folder.join("pids")).unwrap();
    let pids: Vec<u32> = text.lines().map(|pid| pid.parse().unwrap()).collect();
    assert!(2 <= pids.len());
    for pid in pids {
        wait_until("a process of the server is left", || {
            started_at(pid).is_none()
        });
    }
}

/// Starts the run and kills the program once the server has the call, so that the journal has it as well; returns the run's id.
fn killed(folder: &Path, recorder: &Recorder) -> String {
    let mut child = planwright(folder)
        .args([
            "run",
            "plan.json",
            "--servers",
            "mcp.json",
            "--store",
            "store.db",
        ])
        .args(["--format", "events"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut run = None;
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let event: Value = serde_json::from_str(&line.unwrap()).unwrap();
        if event["event"] == "run_started" {
            run = event["run"].as_str().map(str::to_owned);
            break;
        }
    }
    recorder.message("tools/call");
    kill(&mut child);
    run.unwrap()
}

fn kill(child: &mut Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

fn resume(folder: &Path, id: &str, more: &[&str]) -> Output {
    planwright(folder)
        .args(["resume", id, "--store", "store.db"])
        .args(more)
        .output()
        .unwrap()
}

#[test]
fn no_server_outlives_a_process_that_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let recorder = set_up(path, &json!({"never": true}));
    killed(path, &recorder);
    wait_until_all_are_gone(path);
}

#[test]
fn a_server_that_ends_takes_its_children_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let _recorder = set_up(path, &json!({"text": "paid"}));
    let output = planwright(path)
        .args(["run", "plan.json", "--servers", "mcp.json", "--no-store"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    wait_until_all_are_gone(path);
}

#[test]
fn a_retry_at_once_makes_one_effect() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    // The server of the killed process would execute the call while the second process does.
    let recorder = set_up(path, &json!({"delay_ms": 1000}));
    let id = killed(path, &recorder);
    let output = resume(path, &id, &["--retry", "pay"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    wait_until_all_are_gone(path);
    assert_eq!(effects(path), 1);
}

#[test]
fn a_retry_minds_a_server_that_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let recorder = set_up(path, &json!({"delay_ms": 300}));
    let id = killed(path, &recorder);
    wait_until_all_are_gone(path);
    // As if it had been started without a supervisor.
    let mut left = Command::new("sleep")
        .arg("1000")
        .process_group(0)
        .spawn()
        .unwrap();
    let process = ServerProcess {
        server: "fake".into(),
        pid: left.id(),
        started: started_at(left.id()).unwrap(),
    };
    let record = path.join(format!("store.db.runs/run-{id}.servers"));
    let line = serde_json::to_string(&process).unwrap();
    fs::write(&record, format!("{line}\n")).unwrap();
    let running = format!(
        "the server `fake` of the earlier process (pid {}) is still running",
        left.id()
    );

    // Without a retry nothing is called twice: the run continues as far as possible.
    let output = resume(path, &id, &[]);
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    assert!(
        stderr(&output).contains(&format!("warning: {running}\n")),
        "{}",
        stderr(&output)
    );

    let output = resume(path, &id, &["--retry", "pay"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    let refused = format!(
        "error: {running}, so the call of `pay` may still be in progress\n  \
         hint: wait until it has ended, or kill it: `--kill-servers`\n"
    );
    assert!(stderr(&output).ends_with(&refused), "{}", stderr(&output));
    assert_eq!(effects(path), 0);

    let output = resume(path, &id, &["--retry", "pay", "--kill-servers"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(effects(path), 1);
    assert_eq!(left.wait().unwrap().signal(), Some(9));
    assert!(!record.exists());
}

#[test]
fn a_server_that_cannot_be_started_says_so_as_ever() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::write(path.join("plain"), "no program").unwrap();
    let said = |server: &Value| {
        let config = json!({"mcpServers": {"fake": server}});
        fs::write(path.join("mcp.json"), config.to_string()).unwrap();
        let output = planwright(path)
            .args(["tools", "--servers", "mcp.json"])
            .output()
            .unwrap();
        let said = stderr(&output);
        said.lines().take(2).collect::<Vec<_>>().join("\n")
    };
    let errors = [
        said(&json!({"command": "not-there"})),
        said(&json!({"command": "./not-there"})),
        said(&json!({"command": "./plain"})),
        said(&json!({"command": "sh", "cwd": "/not-there"})),
        said(&json!({"command": "sh", "env": {"PATH": "/not-there"}})),
        said(&json!({"command": "sh", "args": ["-c", "exit 7"]})),
        said(&json!({"command": "sh", "args": ["-c", "kill -9 $$"]})),
    ];
    insta::assert_snapshot!(errors.join("\n"), @"
    warning: the server `fake` did not start: `not-there` was not found
      hint: install `not-there`, or give its whole path as `command`
    warning: the server `fake` did not start: `./not-there` was not found
      hint: install `./not-there`, or give its whole path as `command`
    warning: the server `fake` did not start: permission to run `./plain` was denied
      hint: install `./plain`, or give its whole path as `command`
    warning: the server `fake` did not start: `sh` was not found
      hint: the folder `/not-there` does not exist
    warning: the server `fake` did not start: `sh` was not found
      hint: install `sh`, or give its whole path as `command`
    warning: the server `fake` did not start: it stopped (exit status: 7)
      hint: run its command by hand, and see what it says
    warning: the server `fake` did not start: it stopped (signal: 9 (SIGKILL))
      hint: run its command by hand, and see what it says
    ");
}
