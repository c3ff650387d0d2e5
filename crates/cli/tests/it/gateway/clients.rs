//! Third-party MCP clients, without knowledge of plans.

use std::path::Path;
use std::process::{Command, Stdio};

use planwright_testkit::fake_server::{self, Recorder};
use planwright_testkit::judges;
use serde_json::{Value, json};

use super::serve::Behind;

/// The transport between client and gateway.
#[derive(Clone, Copy)]
enum Over {
    Stdio,
    Http,
}

/// Has a client list, check, run, give up, approve and resume, and looks at what it has seen.
fn check(over: Over, client: Command) {
    let recorder = Recorder::new();
    let script = script(&recorder).to_string();
    let behind = Behind::new(&[("fake", fake_server::program(), &[&script])]);
    let listening = match over {
        Over::Stdio => None,
        Over::Http => Some(behind.listening(&[])),
    };
    let gateway = match &listening {
        Some(listening) => json!({"url": listening.url()}),
        None => behind.launch(&[]),
    };
    let seen = run(client, &gateway);
    check_tools(&seen["tools"]);
    let calls: Vec<&Value> = seen["calls"].as_array().into_iter().flatten().collect();
    let [sound, unsound, done, cancelled, approved, failed, resumed] = calls[..] else {
        panic!("not all calls were made:\n{seen:#}");
    };
    assert_ne!(sound["result"]["isError"], true, "{sound:#}");
    assert_eq!(unsound["result"]["isError"], true, "{unsound:#}");
    assert!(unsound.to_string().contains("PW0201"), "{unsound:#}");
    check_run(
        done,
        "succeeded",
        &json!({"tell": {"text": "Oslo is first"}}),
    );
    check_progress(&done["progress"], 3);
    assert_eq!(cancelled["cancelled"], true, "{cancelled:#}");
    recorder.message("notifications/cancelled");
    let question = approved["questions"][0].as_str().unwrap_or_default();
    assert!(
        question.contains("wants to call fake.remove"),
        "{approved:#}"
    );
    check_run(approved, "succeeded", &json!({"gone": {"removed": true}}));
    assert_eq!(
        failed["result"]["structuredContent"]["status"], "failed",
        "{failed:#}"
    );
    check_run(
        resumed,
        "succeeded",
        &json!({"tell": {"text": "Oslo it is"}}),
    );
}

#[test]
fn python_over_stdio() {
    check(Over::Stdio, python("python", "python.py"));
}

#[test]
fn python_over_http() {
    check(Over::Http, python("python", "python.py"));
}

#[test]
fn python_1_over_stdio() {
    check(Over::Stdio, python("python-1", "python_1.py"));
}

#[test]
fn python_1_over_http() {
    check(Over::Http, python("python-1", "python_1.py"));
}

#[test]
fn fastmcp_over_stdio() {
    check(Over::Stdio, python("fastmcp", "fastmcp_client.py"));
}

#[test]
fn fastmcp_over_http() {
    check(Over::Http, python("fastmcp", "fastmcp_client.py"));
}

#[test]
fn typescript_over_stdio() {
    check(Over::Stdio, typescript("client"));
}

#[test]
fn typescript_over_http() {
    check(Over::Http, typescript("client"));
}

#[test]
fn typescript_1_over_stdio() {
    check(Over::Stdio, typescript("sdk"));
}

#[test]
fn typescript_1_over_http() {
    check(Over::Http, typescript("sdk"));
}

fn python(environment: &str, script: &str) -> Command {
    let mut command = Command::new(judges::program(&format!("{environment}/bin/python")));
    command
        .arg(script_file(script))
        .env("PYTHONDONTWRITEBYTECODE", "1");
    command
}

fn typescript(package: &str) -> Command {
    let mut command = Command::new(judges::node());
    command
        .arg(script_file("typescript.mjs"))
        .arg(package)
        .arg(judges::program("typescript"));
    command
}

fn check_tools(tools: &Value) {
    let names: Vec<&str> = tools
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    for name in [
        "execute_plan",
        "check_plan",
        "search_tools",
        "describe_tools",
        "resume_plan",
        "revert_run",
        "get_run",
    ] {
        assert!(names.contains(&name), "`{name}` is not among {names:?}");
    }
}

fn check_run(call: &Value, status: &str, output: &Value) {
    let structured = &call["result"]["structuredContent"];
    assert_eq!(structured["status"], status, "{call:#}");
    assert_eq!(&structured["output"], output, "{call:#}");
}

/// Progress goes up, and ends where all steps are done.
fn check_progress(progress: &Value, total: u64) {
    let updates: Vec<&Value> = progress.as_array().into_iter().flatten().collect();
    assert!(!updates.is_empty(), "there is no progress");
    let values: Vec<f64> = updates.iter().filter_map(|one| one[0].as_f64()).collect();
    assert!(values.is_sorted_by(|a, b| a < b), "{updates:?}");
    let last = updates.last().expect("there is one");
    assert_eq!(
        last[1].as_f64(),
        u32::try_from(total).ok().map(f64::from),
        "{updates:?}"
    );
}

/// The commands for the client.
fn steps() -> Value {
    let list = json!({"id": "list", "tool": "cities", "args": {}});
    let first = json!({"id": "first", "tool": "echo", "args": {"city": "${list.cities[0]}"}});
    let tell = json!({"id": "tell", "tool": "echo", "args": {"text": "${first.city} is first"}});
    let plan = |steps: &[&Value], output: &str| json!({"steps": steps, "output": [output]});
    let sound = plan(&[&list, &first, &tell], "tell");
    let misspelt = plan(&[&json!({"id": "a", "tool": "citys", "args": {}})], "a");
    // By the time that one has ended, the other has begun.
    let stay = json!({"id": "stay", "tool": "hang", "args": {}});
    let endless = plan(&[&stay, &list], "stay");
    let remove = json!({"id": "gone", "tool": "remove", "approval": true, "args": {}});
    let broken = json!({"id": "first", "tool": "fail", "args": {"city": "${list.cities[0]}"}});
    let rest = json!({"id": "tell", "tool": "echo", "args": {"text": "${first.city} it is"}});
    json!([
        {"tool": "check_plan", "arguments": {"plan": sound}},
        {"tool": "check_plan", "arguments": {"plan": misspelt}},
        {"tool": "execute_plan", "arguments": {"plan": sound}},
        {"tool": "execute_plan", "arguments": {"plan": endless}, "cancel": true},
        {"tool": "execute_plan", "arguments": {"plan": plan(&[&remove], "gone")}},
        {"tool": "execute_plan", "arguments": {"plan": plan(&[&list, &broken, &rest], "tell")}},
        {"tool": "resume_plan", "arguments": {
            "run": "$RUN", "plan": plan(&[&list, &first, &rest], "tell"),
        }},
    ])
}

/// The server behind the gateway.
fn script(recorder: &Recorder) -> Value {
    let harmless = json!({"destructiveHint": false});
    json!({
        "record": recorder.address(),
        "tools": [
            {"name": "cities", "annotations": harmless, "does": {"structured": {"cities": ["Oslo", "Rome"]}}},
            {"name": "echo", "annotations": harmless},
            {"name": "hang", "annotations": harmless, "does": {"never": true}},
            {"name": "remove", "does": {"structured": {"removed": true}}},
            {"name": "fail", "annotations": harmless, "does": {"result": {
                "isError": true,
                "content": [{"type": "text", "text": "the city is closed"}],
            }}},
        ],
    })
}

/// Runs a client and gives what it has seen.
fn run(mut client: Command, gateway: &Value) -> Value {
    let output = client
        .arg(gateway.to_string())
        .arg(steps().to_string())
        .stdin(Stdio::null())
        .output()
        .expect("the client can be started");
    let log = String::from_utf8_lossy(&output.stderr);
    let data = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "the client failed:\n{data}{log}");
    let last = data.lines().last().unwrap_or_default();
    serde_json::from_str(last).unwrap_or_else(|error| panic!("{error}:\n{data}{log}"))
}

fn script_file(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/clients")
        .join(name)
}
