//! Changes of the `mcp.json` while the gateway runs.

use std::fs;

use planwright_testkit::fake_server::{self, Recorder};
use planwright_testkit::real_servers;
use planwright_testkit::wire_client::WireClient;
use serde_json::{Value, json};

use super::serve::Behind;

const REVISION: &str = "2025-11-25";

const CHANGED: &str = "notifications/tools/list_changed";

/// A server with one tool.
fn fake(tool: &Value) -> Value {
    json!({"command": fake_server::program(), "args": [json!({"tools": [tool]}).to_string()]})
}

fn real(name: &str, arguments: &[&str]) -> Value {
    json!({"command": real_servers::program(&format!("mcp-server-{name}")), "args": arguments})
}

fn write(behind: &Behind, servers: &Value) {
    let text = json!({ "mcpServers": servers }).to_string();
    fs::write(behind.folder().join("mcp.json"), text).unwrap();
}

/// Writes the file, and trusts it as a person does who has seen its changes.
fn write_trusted(behind: &Behind, servers: &Value) {
    write(behind, servers);
    behind.run(&["trust", "mcp.json"]);
}

fn tools(client: &mut WireClient) -> Vec<String> {
    let listed = client.request("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap();
    let names = tools.iter().map(|tool| tool["name"].as_str().unwrap());
    names.map(str::to_owned).collect()
}

/// Waits for notifications until the list of tools is as expected.
#[track_caller]
fn wait_for(client: &mut WireClient, expected: &dyn Fn(&[String]) -> bool) {
    loop {
        client.notification(CHANGED);
        let tools = tools(client);
        if expected(&tools) {
            return;
        }
    }
}

#[test]
fn servers_come_change_and_go_while_the_gateway_runs() {
    let behind = Behind::reaching(&json!({
        "time": real("time", &["--local-timezone", "UTC"]),
        "one": fake(&json!({"name": "first"})),
    }));
    let mut client = behind.client(&["--mode", "plain"], REVISION, &[]);
    while !tools(&mut client).contains(&"get_current_time".to_owned()) {
        client.notification(CHANGED);
    }
    let has = |tools: &[String], name: &str| tools.iter().any(|tool| tool == name);

    // One more, and another one in place of the fake.
    write_trusted(
        &behind,
        &json!({
            "time": real("time", &["--local-timezone", "UTC"]),
            "one": fake(&json!({"name": "second"})),
            "everything": real("everything", &[]),
        }),
    );
    wait_for(&mut client, &|tools| {
        has(tools, "second") && has(tools, "echo") && !has(tools, "first")
    });
    let said = client.request(
        "tools/call",
        json!({"name": "echo", "arguments": {"message": "hello"}}),
    );
    assert!(said.to_string().contains("hello"), "{said}");

    // A text that is no JSON changes nothing, whatever was before it.
    fs::write(behind.folder().join("mcp.json"), "{\"mcpServers\": {").unwrap();
    write_trusted(&behind, &json!({"one": fake(&json!({"name": "second"}))}));
    wait_for(&mut client, &|tools| tools == ["second"]);
}

#[test]
fn a_run_keeps_the_servers_that_it_began_with() {
    let recorder = Recorder::new();
    let script = json!({
        "record": recorder.address(),
        "tools": [
            {"name": "slow", "annotations": {"readOnlyHint": true}, "does": {"wait_for_release": true, "text": "late"}},
            {"name": "after", "annotations": {"readOnlyHint": true}, "does": {"text": "after"}},
        ]
    });
    let old = json!({"command": fake_server::program(), "args": [script.to_string()]});
    let behind = Behind::reaching(&json!({ "one": old }));
    let mut client = behind.client(&["--mode", "plain", "--with-plans"], REVISION, &[]);
    let plan = json!({"steps": [
        {"id": "s", "tool": "one.slow"},
        {"id": "a", "tool": "one.after", "after": ["s"]}
    ], "output": ["s", "a"]});
    let run = client.send(
        "tools/call",
        json!({"name": "execute_plan", "arguments": {"plan": plan}}),
    );
    recorder.message("tools/call");
    // Its tool is another one now, and so is its process.
    let new = json!({"name": "after", "description": "Another.", "annotations": {"destructiveHint": true}, "does": {"text": "new"}});
    write_trusted(&behind, &json!({ "one": fake(&new) }));
    wait_for(&mut client, &|tools| !tools.contains(&"slow".to_owned()));
    let called = client.request("tools/call", json!({"name": "after", "arguments": {}}));
    assert!(called.to_string().contains("\"new\""), "{called}");
    recorder.release();
    let done = client.answer(run).to_string();
    assert!(done.contains("late") && done.contains("after"), "{done}");
    assert!(!done.contains("changed while the plan ran"), "{done}");
    // The old server ends with the run.
    recorder.ended();
}

#[test]
fn a_changed_file_is_loaded_once_it_is_trusted_again() {
    let behind = Behind::reaching(&json!({"one": fake(&json!({"name": "first"}))}));
    behind.run(&["trust", "mcp.json"]);
    let command = behind.command_of(&["serve", "--mode", "plain", "--listen", "127.0.0.1:0"]);
    let gateway = planwright_testkit::listening::HttpServerProcess::start(command);
    let mut client = WireClient::reach(gateway.url(), REVISION, &[]);
    while tools(&mut client) != ["first"] {
        client.notification(CHANGED);
    }
    let address = gateway
        .url()
        .trim_start_matches("http://")
        .trim_end_matches("/mcp")
        .to_owned();
    let health = || {
        let output = behind.command_of(&["health", &address]).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    assert_eq!(health(), "");
    write(&behind, &json!({"two": fake(&json!({"name": "second"}))}));
    // Each request is an event of its own; without a note, the time limit of the test ends it.
    while !health().contains("the file of the servers has changed and is not trusted") {}
    assert_eq!(tools(&mut client), ["first"]);
    behind.run(&["trust", "mcp.json"]);
    wait_for(&mut client, &|tools| tools == ["second"]);
    assert_eq!(health(), "");
}
