//! Prompts that were written for other systems find their tools, and understand the answers.

use std::path::Path;

use serde_json::{Value, json};

use super::client::StdioClient;
use crate::program::planwright;

const TOOLS: &str = r#"{"tools": {
    "get_weather": {
        "description": "The weather of a city.",
        "approval": false,
        "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        "cases": [
            {"when": {"city": "Oslo"}, "returns": {"city": "Oslo", "temp": 4}},
            {"fails": {"code": "no_such_city", "message": "no such city"}}
        ]
    },
    "tell": {"approval": false, "input_schema": {"type": "object", "properties": {"text": {}}, "required": ["text"]}, "echo": true}
}}"#;

/// Calls a tool of a compat profile and returns the text, and whether it is an error. The duration is left out.
fn check(folder: &Path, face: &str, tool: &str, arguments: Value) -> String {
    let mut client = serve(folder, face, &[]);
    let answer = client.call(tool, arguments);
    let text = answer["content"][0]["text"].as_str().unwrap();
    let said: Value = serde_json::from_str(text).expect("the text is JSON");
    assert_eq!(said, answer["structuredContent"]);
    let mut said = said;
    if let Some(fields) = said.as_object_mut() {
        fields.shift_remove("duration");
    }
    let is_error = if answer["isError"] == true {
        "error "
    } else {
        ""
    };
    format!("{is_error}{said}")
}

fn serve(folder: &Path, face: &str, more: &[&str]) -> StdioClient {
    let mut command = planwright(folder);
    command.args(["serve", "--face", face, "--simulate", "tools.json"]);
    command.args(more);
    StdioClient::start(command)
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("tools.json"), TOOLS).unwrap();
    folder
}

fn names(client: &mut StdioClient) -> Vec<String> {
    let listed = client.request("tools/list", json!({}));
    let tools = listed["tools"].as_array().unwrap().iter();
    tools
        .map(|tool| tool["name"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn concierge() {
    let folder = folder();
    let check = |steps: Value| {
        check(
            folder.path(),
            "concierge",
            "execute_plan",
            json!({"steps": steps}),
        )
    };
    insta::assert_snapshot!(check(json!([
        {"id": "a", "tool": "get_weather", "args": {"city": "Oslo"}},
        {"id": "b", "tool": "tell", "args": {"text": {"output_by_reference": {"a": ["temp"]}}}},
    ])), @r#"{"status":"completed","steps":{"a":{"status":"ok","result":{"city":"Oslo","temp":4}},"b":{"status":"ok","result":{"text":4}}}}"#);
    insta::assert_snapshot!(check(json!([
        {"id": "a", "tool": "get_wether", "args": {"city": {"output_by_reference": {"b": []}}}},
        {"id": "b", "tool": "tell", "args": {}},
    ])), @r#"error {"error":"the plan was rejected; nothing was called\nPW0201 at /steps/0/tool: there is no tool `get_wether` (did you mean `get_weather`?)\nPW0302 at /steps/0/args/city: `{\"output_by_reference\":{\"b\":[]}}` refers to the step `b`, which comes later (the steps run as they are listed: move `b` up)\nPW0502 at /steps/1/args: the tool `tell` needs the argument `text`"}"#);
    insta::assert_snapshot!(check(json!([
        {"id": "a", "tool": "get_weather", "args": {"city": "Oslo"}},
        {"id": "b", "tool": "get_weather", "args": {"city": "Atlantis"}},
        {"id": "c", "tool": "tell", "args": {"text": "hi"}},
    ])), @r#"error {"status":"partial","steps":{"a":{"status":"ok","result":{"city":"Oslo","temp":4}},"b":{"status":"error","error":"no such city"}}}"#);
}

/// All parameters take references unless a tool marks those that do; a resumed run keeps to the rule it began with.
#[test]
fn references_go_where_tools_say() {
    let folder = folder();
    let mut client = serve(folder.path(), "concierge", &[]);
    let failed = client.call(
        "execute_plan",
        json!({"steps": [
            {"id": "a", "tool": "get_weather", "args": {"city": "Oslo"}},
            {"id": "b", "tool": "get_weather", "args": {"city": "Atlantis"}},
            {"id": "c", "tool": "tell", "args": {"text": {"output_by_reference": {"a": ["city"]}}}},
        ]}),
    );
    assert_eq!(failed["structuredContent"]["status"], "partial");
    drop(client);
    let found = TOOLS.replace(r#"{"fails""#, r#"{"returns""#);
    std::fs::write(folder.path().join("tools.json"), found).unwrap();
    let listed = planwright(folder.path())
        .args(["runs", "--format", "json"])
        .output()
        .unwrap();
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    let run = listed["runs"][0]["id"].as_str().unwrap();
    let resumed = planwright(folder.path())
        .args(["resume", run])
        .output()
        .unwrap();
    assert!(resumed.status.success(), "{resumed:?}");

    let marked = TOOLS.replace(r#""text": {}"#, r#""text": {"x-sharable": true}"#);
    std::fs::write(folder.path().join("tools.json"), marked).unwrap();
    insta::assert_snapshot!(check(folder.path(), "concierge", "execute_plan", json!({"steps": [
        {"id": "a", "tool": "get_weather", "args": {"city": "Oslo"}},
        {"id": "b", "tool": "tell", "args": {"text": {"output_by_reference": {"a": ["city"]}}}},
        {"id": "c", "tool": "get_weather", "args": {"city": {"output_by_reference": {"a": ["city"]}}}},
    ]})), @r#"error {"error":"the plan was rejected; nothing was called\nPW0601 at /steps/2/args/city: the parameter `city` of `get_weather` is not sharable, so no reference may stand in it (write the value itself, or mark the parameter with `x-sharable` in the tool's schema or `tools.sharable` in your own planwright.toml)"}"#);
}

#[test]
fn agentle() {
    let folder = folder();
    let check = |arguments: Value| check(folder.path(), "agentle", "execute_tool_plan", arguments);
    insta::assert_snapshot!(check(json!({"steps": [
        {"id": "a", "tool": "get_weather", "arguments": "{\"city\": \"Oslo\"}"},
        {"id": "b", "tool": "tell", "arguments": "{\"text\": \"$ref:a.temp\"}"},
    ], "output_steps": ["b"]})), @r#"{"b":{"text":4}}"#);
    insta::assert_snapshot!(check(json!({"steps": [
        {"id": "a", "tool": "tell", "arguments": "{\"text\": \"$ref:ghost\"}"},
    ]})), @r#"error {"error":"the plan was rejected; nothing was called\nPW0204 at /steps/0/arguments/text: `$ref:ghost` refers to the step `ghost`, which is not in the plan (the only step is `a`)"}"#);
    insta::assert_snapshot!(check(json!({"steps": [
        {"id": "a", "tool": "get_weather", "arguments": "{\"city\": \"Atlantis\"}"},
        {"id": "b", "tool": "tell", "arguments": "{\"text\": \"$ref:a.temp\"}"},
        {"id": "c", "tool": "tell", "arguments": "{\"text\": \"hi\"}"},
    ], "output_steps": ["b", "c"]})), @r#"error {"b":{"error":"Skipped because dependency a failed"},"c":{"text":"hi"},"a":{"error":"no such city"}}"#);
}

#[test]
fn mcp_cli() {
    let folder = folder();
    let plan = r#"{"title": "Weather of a city", "variables": {"city": "Oslo"}, "steps": [
        {"title": "Ask", "tool": "get_weather", "args": {"city": "${city}"}, "result_variable": "now"},
        {"tool": "tell", "args": {"text": "${now.temp} degrees"}}
    ]}"#;
    std::fs::write(folder.path().join("weather.json"), plan).unwrap();
    let saved = planwright(folder.path())
        .args(["save", "weather.json"])
        .output()
        .unwrap();
    assert!(saved.status.success(), "{saved:?}");
    let check = |arguments: Value| check(folder.path(), "mcp-cli", "plan_execute", arguments);
    insta::assert_snapshot!(check(json!({"plan_id": "weather"})), @r#"{"success":true,"plan_id":"weather","title":"Weather of a city","steps_completed":2,"steps_total":2,"results":{"city":"Oslo","now":{"city":"Oslo","temp":4}},"steps":[{"index":"1","title":"Ask","tool":"get_weather","success":true,"error":null},{"index":"2","title":"tell","tool":"tell","success":true,"error":null}]}"#);
    insta::assert_snapshot!(check(json!({"plan_id": "../weather"})), @r#"error {"error":"there is no plan `../weather`; the description of `plan_execute` lists them"}"#);
    insta::assert_snapshot!(check(json!({"plan_id": "weather", "variables": {"city": "Atlantis"}})), @r#"error {"success":false,"plan_id":"weather","title":"Weather of a city","steps_completed":0,"steps_total":2,"error":"step 1: no such city","results":{"city":"Atlantis"},"steps":[{"index":"1","title":"Ask","tool":"get_weather","success":false,"error":"no such city"},{"index":"2","title":"tell","tool":"tell","success":false,"error":"skipped: `1` has not succeeded"}]}"#);
    let mut client = serve(folder.path(), "mcp-cli", &[]);
    let listed = client.request("tools/list", json!({}));
    let description = listed["tools"][0]["description"].as_str().unwrap();
    assert!(description.contains("\nweather ("), "{description}");
}

/// In the plain mode the tools are listed beside those of servers, so the description does not repeat them.
#[test]
fn faces_stand_beside_the_tools_of_servers() {
    let folder = folder();
    let mut alone = serve(folder.path(), "agentle", &[]);
    assert_eq!(names(&mut alone), ["execute_tool_plan"]);
    let mut beside = serve(folder.path(), "agentle", &["--mode", "plain"]);
    let listed = beside.request("tools/list", json!({}));
    let description = listed["tools"][0]["description"].as_str().unwrap();
    assert!(!description.contains("get_weather("), "{description}");
}

#[test]
fn concierge_goes_from_stage_to_stage() {
    let folder = folder();
    let stages = "[stages.look]\ntools = [\"get_weather\"]\nnext = [\"talk\"]\n\n[stages.talk]\ntools = [\"tell\"]\n";
    std::fs::write(folder.path().join("planwright.toml"), stages).unwrap();
    let mut client = serve(folder.path(), "concierge", &[]);
    assert_eq!(
        names(&mut client),
        ["execute_plan", "proceed_to_next_stage", "terminate_session"]
    );
    let tell = json!({"steps": [{"id": "a", "tool": "tell", "args": {"text": "hi"}}]});
    assert_eq!(client.call("execute_plan", tell.clone())["isError"], true);
    let mut said = |tool: &str, arguments: Value| {
        client.call(tool, arguments)["structuredContent"].to_string()
    };
    insta::assert_snapshot!(said("proceed_to_next_stage", json!({"target_stage": "look"})), @r#"{"status":"transitioned","from_stage":"look","to_stage":"look","message":"the stage is `look` now","instruction":"the tools have changed: use them, and continue until the last stage"}"#);
    insta::assert_snapshot!(said("proceed_to_next_stage", json!({"target_stage": "pay"})), @r#"{"error":"there is no stage `pay`; from here you can move to `talk`","allowed_transitions":["talk"],"current_stage":"look"}"#);
    insta::assert_snapshot!(said("proceed_to_next_stage", json!({"target_stage": "talk"})), @r#"{"status":"transitioned","from_stage":"look","to_stage":"talk","message":"the stage is `talk` now","instruction":"this is the last stage: finish the work, then summarize it"}"#);
    insta::assert_snapshot!(said("execute_plan", tell), @r#"{"status":"completed","steps":{"a":{"status":"ok","result":{"text":"hi"}}}}"#);
    assert_eq!(names(&mut client), ["execute_plan", "terminate_session"]);
    let mut said = |tool: &str, arguments: Value| {
        client.call(tool, arguments)["structuredContent"].to_string()
    };
    insta::assert_snapshot!(said("terminate_session", json!({})), @r#"{"status":"terminated","previous_stage":"talk","message":"the stage is `look` again, and nothing is known"}"#);
}
