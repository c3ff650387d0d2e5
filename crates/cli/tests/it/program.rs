//! Runs the program in a folder of its own.

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use planwright_testkit::fake_server;
use serde_json::{Value, json};

/// The program, without anything of the machine's own settings.
pub(crate) fn planwright(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_planwright"));
    command
        .current_dir(folder)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", folder)
        .env("NO_COLOR", "1");
    command
}

/// Runs the program with `arguments`.
pub(crate) fn run_program(folder: &Path, arguments: &[&str]) -> Output {
    planwright(folder).args(arguments).output().unwrap()
}

/// Writes the plan of a payment that needs consent, and its simulated tools.
pub(crate) fn write_payment(folder: &Path) {
    let tools = json!({"tools": {
        "look": {"annotations": {"readOnlyHint": true}, "returns": {"amount": 3}},
        "pay": {"annotations": {"destructiveHint": true}, "echo": true}
    }});
    let plan = json!({"name": "payment", "steps": [
        {"id": "price", "tool": "look"},
        {"id": "paid", "tool": "pay", "args": {"amount": "${price.amount}"}}
    ], "output": ["paid"]});
    std::fs::write(folder.join("tools.json"), tools.to_string()).unwrap();
    std::fs::write(folder.join("plan.json"), plan.to_string()).unwrap();
}

/// Runs `plan.json` over the simulated tools of `tools.json`, with a report as JSON.
pub(crate) fn simulated_run(folder: &Path) -> Output {
    let plan = ["run", "plan.json", "--simulate", "tools.json"];
    run_program(folder, &[&plan[..], &["--format", "json"]].concat())
}

/// Starts the program. Its standard output and standard error can be read.
pub(crate) fn spawn_program(folder: &Path, arguments: &[&str]) -> Child {
    planwright(folder)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Writes `plan.json`, and `servers.json` with a server that does as `script` says.
pub(crate) fn write_served_plan(folder: &Path, script: &Value, plan: &Value) {
    let arguments = [script.to_string()];
    let server = json!({"command": fake_server::program(), "args": arguments});
    let servers = json!({"mcpServers": {"fake": server}});
    std::fs::write(folder.join("servers.json"), servers.to_string()).unwrap();
    std::fs::write(folder.join("plan.json"), plan.to_string()).unwrap();
}

/// Starts a run of `plan.json` over the servers of `servers.json`, whose events can be read.
pub(crate) fn spawn_run(folder: &Path, more: &[&str]) -> Child {
    let run = ["run", "plan.json", "--servers", "servers.json"];
    spawn_program(folder, &[&run[..], &["--format", "events"], more].concat())
}

/// Returns the JSON document that the program has printed.
pub(crate) fn json_report(output: &Output) -> Value {
    serde_json::from_str(&stdout(output))
        .unwrap_or_else(|_| panic!("{}{}", stdout(output), stderr(output)))
}

/// Returns the standard output as text.
pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("data is UTF-8")
}

/// Returns the standard error as text.
pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("standard error is UTF-8")
}

/// Looks at a call that waits for a decision, and approves it by its digest, as a script does.
pub(crate) fn approve(folder: &Path, run: &str, step: &str, more: &[&str]) -> Output {
    let store = more.iter().position(|argument| *argument == "--store");
    let store = store.map_or(&[][..], |at| &more[at..=at + 1]);
    let look = planwright(folder)
        .args(["approve", run, step, "--show", "--format", "json"])
        .args(store)
        .output()
        .unwrap();
    assert_eq!(look.status.code(), Some(0), "{}", stderr(&look));
    let call = json_report(&look);
    let digest = call["digest"].as_str().unwrap();
    planwright(folder)
        .args(["approve", run, step, "--digest", digest])
        .args(more)
        .output()
        .unwrap()
}
