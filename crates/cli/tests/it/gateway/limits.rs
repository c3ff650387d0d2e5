//! Time limits of calls in plans behind the gateway: where they come from, and what stops their clock.

use std::path::Path;
use std::process::Command;

use planwright_testkit::fake_server;
use serde_json::{Value, json};

use super::client::StdioClient;
use super::serve::Behind;

/// The limit that the slow tool does not meet, unless something else replaces it.
const SHORT: &str = "[serve]\ncall_timeout = \"400ms\"\n";

fn behind(server_timeout: Option<&str>) -> Behind {
    let script = json!({"tools": [
        {"name": "slow", "annotations": {"readOnlyHint": true}, "inputSchema": {"type": "object"}, "does": {"delay_ms": 1000, "text": "done"}},
        {"name": "busy", "annotations": {"readOnlyHint": true}, "inputSchema": {"type": "object"},
         "does": {"progress": {"every_ms": 100, "times": 10}, "text": "done"}},
    ]});
    let behind = Behind::new(&[]);
    let server = json!({"command": fake_server::program(), "args": [script.to_string()], "timeout": server_timeout});
    let file = json!({"mcpServers": {"fake": server}});
    write(&behind.folder().join("mcp.json"), &file);
    behind
}

fn write(path: &Path, file: &Value) {
    let mut file = file.clone();
    if file["mcpServers"]["fake"]["timeout"].is_null() {
        file["mcpServers"]["fake"]
            .as_object_mut()
            .unwrap()
            .remove("timeout");
    }
    std::fs::write(path, file.to_string()).unwrap();
}

/// The answer to a plan that calls `tool` in a step with these further fields.
fn outcome(command: Command, tool: &str, more: &Value) -> Value {
    let mut step = json!({"id": "s", "tool": tool, "args": {}});
    for (key, value) in more.as_object().unwrap() {
        step[key] = value.clone();
    }
    let mut client = StdioClient::start(command);
    let answer = client.call("execute_plan", json!({"plan": {"steps": [step]}}));
    answer["structuredContent"].clone()
}

#[track_caller]
fn assert_succeeds(answer: &Value) {
    assert_eq!(answer["status"], "succeeded", "{answer}");
}

#[test]
fn a_silent_call_ends_at_the_configured_limit() {
    let behind = behind(None);
    behind.set(SHORT);
    let answer = outcome(behind.command(&[]), "slow", &json!({}));
    assert_eq!(answer["status"], "failed", "{answer}");
    assert!(answer.to_string().contains("400ms"), "{answer}");
}

#[test]
fn progress_restarts_the_limit() {
    let behind = behind(None);
    behind.set(SHORT);
    assert_succeeds(&outcome(behind.command(&[]), "busy", &json!({})));
}

#[test]
fn a_step_a_server_and_the_command_line_replace_the_limit() {
    let unlimited = behind(None);
    unlimited.set(SHORT);
    let longer = json!({"timeout": "20s"});
    assert_succeeds(&outcome(unlimited.command(&[]), "slow", &longer));
    assert_succeeds(&outcome(
        unlimited.command(&["--timeout", "20s"]),
        "slow",
        &json!({}),
    ));
    let patient = behind(Some("20s"));
    patient.set(SHORT);
    assert_succeeds(&outcome(patient.command(&[]), "slow", &json!({})));
}
