//! Clients that say what they want: plans are written by a model of the gateway's, or by the client's own.

use std::process::Command;

use serde_json::{Value, json};

use super::client::StdioClient;
use crate::program::planwright;

const TOOLS: &str = r#"{"tools": {
    "list_dogs": {"annotations": {"readOnlyHint": true}, "returns": ["Rex", "Ada"]},
    "greet": {"approval": false, "echo": true}
}}"#;

fn plan() -> String {
    json!({"name": "dogs", "steps": [
        {"id": "dogs", "tool": "list_dogs"},
        {"id": "hello", "tool": "greet", "args": {"name": "${dogs[0]}"}}
    ], "output": ["hello"]})
    .to_string()
}

/// A folder with tools, and with what a model answers.
fn folder(answers: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("tools.json"), TOOLS).unwrap();
    std::fs::write(
        folder.path().join("answers.json"),
        json!(answers).to_string(),
    )
    .unwrap();
    folder
}

fn serve(folder: &tempfile::TempDir, more: &[&str]) -> Command {
    let mut command = planwright(folder.path());
    command
        .args(["serve", "--simulate", "tools.json"])
        .args(more);
    command
}

fn names(client: &mut StdioClient) -> Vec<String> {
    let listed = client.request("tools/list", json!({}));
    let tools = listed["tools"].as_array().unwrap().iter();
    tools
        .map(|tool| tool["name"].as_str().unwrap().to_owned())
        .collect()
}

const MODEL: &[&str] = &["--model", "replay:answers.json"];

#[test]
fn a_plan_is_written_and_run() {
    let plan = plan();
    let folder = folder(&["no plan", &plan, &plan]);
    let mut client = StdioClient::start(serve(&folder, MODEL));
    assert!(names(&mut client).contains(&"create_plan".to_owned()));
    let created = client.call("create_plan", json!({"goal": "greet the first dog"}));
    let response = &created["structuredContent"];
    assert_eq!(response["status"], "sound", "{created}");
    assert_eq!(response["plan"]["metadata"]["query"], "greet the first dog");
    let ran = client.call("execute_plan", json!({"plan": response["plan"]}));
    assert_eq!(
        ran["structuredContent"]["output"],
        json!({"hello": {"name": "Rex"}})
    );
    let at_once = client.call(
        "create_plan",
        json!({"goal": "greet the first dog", "run": true}),
    );
    assert_eq!(
        at_once["structuredContent"]["output"],
        json!({"hello": {"name": "Rex"}})
    );
    let ended = client.call("create_plan", json!({"goal": "greet it once more"}));
    assert_eq!(ended["isError"], true);
}

#[test]
fn tools_without_an_implementation_are_not_offered() {
    let folder = folder(&[]);
    for more in [&[][..], &["--model", "client"]] {
        let mut client = StdioClient::start(serve(&folder, more));
        assert!(
            !names(&mut client).contains(&"create_plan".to_owned()),
            "{more:?}"
        );
    }
    let mut client = StdioClient::start(serve(&folder, &["--face", "mcp-cli"]));
    assert_eq!(names(&mut client), ["plan_execute"]);
}

#[test]
fn a_plan_without_sense_is_refused_with_what_is_wrong() {
    let unknown = r#"{"steps": [{"id": "a", "tool": "cats"}]}"#;
    let folder = folder(&[unknown, unknown, unknown]);
    let mut client = StdioClient::start(serve(&folder, MODEL));
    let refused = client.call("create_plan", json!({"goal": "list cats"}));
    assert_eq!(refused["isError"], true);
    assert!(
        refused["content"][0]["text"]
            .as_str()
            .unwrap()
            .contains("there is no tool `cats`"),
        "{refused}"
    );
    for (arguments, expected) in [
        (json!({}), "`goal`"),
        (json!({"goal": " "}), "`goal` is empty"),
    ] {
        let refused = client.call("create_plan", arguments);
        assert!(
            refused["content"][0]["text"]
                .as_str()
                .unwrap()
                .contains(expected),
            "{refused}"
        );
    }
}

#[test]
fn the_model_of_the_client_writes_plans() {
    let folder = folder(&[]);
    let command = serve(&folder, &["--model", "client"]);
    let mut client = StdioClient::sampling(command, ["no", &plan()]);
    assert!(names(&mut client).contains(&"create_plan".to_owned()));
    let ran = client.call(
        "create_plan",
        json!({"goal": "greet the first dog", "run": true}),
    );
    assert_eq!(
        ran["structuredContent"]["output"],
        json!({"hello": {"name": "Rex"}})
    );
    let asked = &client.sampled[1];
    assert_eq!(asked["messages"].as_array().unwrap().len(), 3);
    assert!(
        asked["systemPrompt"]
            .as_str()
            .unwrap()
            .contains("You write plans")
    );
    assert_eq!(asked["temperature"], 0.1);
}

#[test]
fn the_tools_of_mcp_cli_write_plans() {
    let plan = plan();
    let folder = folder(&[&plan, &plan]);
    let mut client = StdioClient::start(serve(&folder, &[&["--face", "mcp-cli"], MODEL].concat()));
    assert_eq!(
        names(&mut client),
        ["plan_create_and_execute", "plan_create", "plan_execute"]
    );
    let created = client.call("plan_create", json!({"goal": "greet the first dog"}));
    let response: Value =
        serde_json::from_str(created["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(response["success"], true);
    assert_eq!(
        response["steps"][1],
        json!({"index": "hello", "title": "greet", "tool": "greet"})
    );
    let executed = client.call("plan_execute", json!({"plan_id": response["plan_id"]}));
    let both = client.call(
        "plan_create_and_execute",
        json!({"goal": "greet the first dog"}),
    );
    for ran in [executed, both] {
        let response: Value =
            serde_json::from_str(ran["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(
            (&response["success"], &response["steps_completed"]),
            (&json!(true), &json!(2)),
            "{response}"
        );
        assert_eq!(response["results"], json!({"hello": {"name": "Rex"}}));
    }
    let failed = client.call("plan_create", json!({"goal": "once more"}));
    let response: Value =
        serde_json::from_str(failed["content"][0]["text"].as_str().unwrap()).unwrap();
    assert!(
        response["error"]
            .as_str()
            .unwrap()
            .contains("no plan was written"),
        "{response}"
    );
}

#[test]
fn the_model_of_the_client_extracts_data() {
    let folder = folder(&[]);
    let plan = json!({"steps": [
        {"id": "dogs", "tool": "list_dogs"},
        {"id": "first", "extract": {"from": "${dogs}", "schema": {"type": "string"}, "ask": "The first one"}},
        {"id": "hello", "tool": "greet", "args": {"name": "${first}"}}
    ], "output": ["hello"]});
    let mut client = StdioClient::sampling(serve(&folder, &[]), ["\"Rex\""]);
    let ran = client.call("execute_plan", json!({"plan": plan}));
    assert_eq!(
        ran["structuredContent"]["output"],
        json!({"hello": {"name": "Rex"}}),
        "{ran}"
    );
    let asked = &client.sampled[0];
    let question = asked["messages"][0]["content"]["text"].as_str().unwrap();
    assert!(
        question.ends_with("The text:\n[\"Rex\",\"Ada\"]"),
        "{question}"
    );
    assert!(asked.get("tools").is_none(), "{asked}");
    let mut client = StdioClient::start(serve(&folder, &[]));
    let refused = client.call("execute_plan", json!({"plan": plan}));
    assert_eq!(refused["isError"], true);
    let text = refused["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("there is no model"), "{text}");
}

#[test]
fn the_model_of_the_gateway_extracts_data() {
    let folder = folder(&["\"Ada\""]);
    let plan = json!({"steps": [
        {"id": "first", "extract": {"from": "Ada and Rex", "schema": {"type": "string"}}}
    ]});
    let mut client = StdioClient::start(serve(&folder, MODEL));
    let ran = client.call("execute_plan", json!({"plan": plan}));
    assert_eq!(
        ran["structuredContent"]["output"],
        json!({"first": "Ada"}),
        "{ran}"
    );
}
