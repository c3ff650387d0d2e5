//! `planwright learn`: what it prints, writes and saves, and its exit status.

use std::fs;
use std::path::Path;
use std::process::{Output, Stdio};

use serde_json::{Value, json};

use crate::program::{planwright, stderr, stdout};

const TOOLS: &str = r#"{"tools": {
  "find": {"annotations": {"readOnlyHint": true}, "output_schema": {"type": "object", "properties": {"result": {"type": "string"}}, "required": ["result"]},
           "returns": {"result": "ab-3003"}},
  "change": {"input_schema": {"type": "object", "properties": {"user": {"type": "string"}}, "required": ["user"]}, "returns": "ok"}
}}"#;

/// A trace in which `find` answers with `user`, which `change` takes.
fn trace(name: &str, user: &str) -> String {
    let call = |id: &str, tool: &str, args: &Value| json!({"role": "assistant", "tool_calls": [{"id": id, "function": {"name": tool, "arguments": args.to_string()}}]});
    let answer =
        |id: &str, text: &str| json!({"role": "tool", "tool_call_id": id, "content": text});
    json!({"messages": [
        {"role": "user", "content": format!("Change {name}.")},
        call("1", "find", &json!({"name": name})),
        answer("1", user),
        call("2", "change", &json!({"user": user})),
        answer("2", "ok"),
    ]})
    .to_string()
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("one.json"), trace("Ana Ruiz", "ab-1001")).unwrap();
    fs::write(folder.path().join("two.json"), trace("Tom Berg", "ab-2002")).unwrap();
    fs::write(folder.path().join("tools.json"), TOOLS).unwrap();
    folder
}

fn run(folder: &Path, args: &[&str]) -> Output {
    let mut command = planwright(folder);
    command.args(args).stdin(Stdio::null()).output().unwrap()
}

fn report(output: &Output) -> Value {
    serde_json::from_str(&stdout(output)).unwrap_or_else(|_| panic!("{}", stderr(output)))
}

#[test]
fn a_plan_is_learned_saved_and_run() {
    let folder = folder();
    let words = [
        "learn",
        "one.json",
        "two.json",
        "--simulate",
        "tools.json",
        "--save",
        "change-user",
    ];
    let output = run(folder.path(), &words);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let plan: Value = serde_json::from_str(&stdout(&output)).unwrap();
    // The log has the text alone, and the tool declares a field around it.
    assert_eq!(plan["steps"][1]["args"], json!({"user": "${find.result}"}));
    assert_eq!(
        plan["metadata"],
        json!({"learned_from": ["one.json", "two.json"], "complete": true})
    );
    assert!(
        stderr(&output).contains("`change-user` saved as version 1"),
        "{}",
        stderr(&output)
    );
    let words = [
        "run",
        "change-user",
        "--simulate",
        "tools.json",
        "--var",
        "name=Eva Dahl",
        "--format",
        "json",
    ];
    let output = run(folder.path(), &[&words[..], &["--approve", "all"]].concat());
    assert_eq!(
        report(&output)["calls"][1]["args"],
        json!({"user": "ab-3003"})
    );
}

#[test]
fn the_report_has_inputs_findings_and_the_replay() {
    let folder = folder();
    let output = run(
        folder.path(),
        &[
            "learn",
            "one.json",
            "two.json",
            "--simulate",
            "tools.json",
            "--format",
            "json",
        ],
    );
    let report = report(&output);
    assert_eq!(report["schema"], "planwright.learn/1");
    let verdict =
        ["sound", "complete", "same_calls", "has_tools"].map(|field| report[field].clone());
    assert_eq!(
        verdict,
        [json!(true), json!(true), json!(true), json!(true)]
    );
    assert_eq!(
        report["inputs"][0],
        json!({"name": "name", "schema": {"type": "string"}, "values": ["Ana Ruiz", "Tom Berg"]})
    );
    assert_eq!(report["traces"][1]["replay"]["same"], 2);
    assert_eq!(report["findings"], json!([]));
}

#[test]
fn an_unsound_plan_is_rejected_and_not_saved() {
    let folder = folder();
    let tools = TOOLS.replace(
        "\"user\": {\"type\": \"string\"}",
        "\"user\": {\"type\": \"integer\"}",
    );
    fs::write(folder.path().join("tools.json"), tools).unwrap();
    let output = run(
        folder.path(),
        &[
            "learn",
            "one.json",
            "two.json",
            "--simulate",
            "tools.json",
            "--save",
            "p",
        ],
    );
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("the plan was not saved"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn other_calls_than_those_of_a_trace_are_reported() {
    let folder = folder();
    // The second trace has another change, and no condition says when.
    let more = trace("Tom Berg", "ab-2002").replace("\"change\"", "\"other\"");
    fs::write(folder.path().join("two.json"), more).unwrap();
    let tools = TOOLS.replace(
        "\"change\": {",
        "\"other\": {\"returns\": 1},\n \"change\": {",
    );
    fs::write(folder.path().join("tools.json"), tools).unwrap();
    let output = run(
        folder.path(),
        &[
            "learn",
            "one.json",
            "two.json",
            "--simulate",
            "tools.json",
            "--format",
            "json",
        ],
    );
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let report = report(&output);
    assert_eq!(report["same_calls"], false);
    assert_eq!(report["complete"], false);
    assert_eq!(
        report["traces"][0]["replay"]["missing"][0]["args"],
        json!({"user": "ab-1001"})
    );
    assert_eq!(report["findings"][0]["kind"], "optional_call");
}

#[test]
fn stored_and_exported_runs_are_traces() {
    let folder = folder();
    let plan = r#"{"name": "p", "inputs": {"name": {"type": "string"}}, "steps": [
        {"id": "a", "tool": "find", "args": {"name": "${inputs.name}"}},
        {"id": "b", "tool": "change", "args": {"user": "${a.result}"}}]}"#;
    fs::write(folder.path().join("plan.json"), plan).unwrap();
    for name in ["name=Ana Ruiz", "name=Tom Berg"] {
        let output = run(
            folder.path(),
            &[
                "run",
                "plan.json",
                "--simulate",
                "tools.json",
                "--var",
                name,
                "--approve",
                "all",
            ],
        );
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    }
    run(folder.path(), &["export", "@2", "--output", "run.jsonl"]);
    let words = [
        "learn",
        "run.jsonl",
        "--run",
        "@1",
        "--simulate",
        "tools.json",
        "--format",
        "json",
    ];
    let report = report(&run(folder.path(), &words));
    assert_eq!(
        report["inputs"][0]["values"],
        json!(["Ana Ruiz", "Tom Berg"])
    );
    assert_eq!(report["same_calls"], true);
    // Both runs did the same.
    let output = run(
        folder.path(),
        &["learn", "--from", "all", "--format", "json"],
    );
    let recurring: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(recurring["recurring"][0]["count"], 2);
    assert_eq!(
        recurring["recurring"][0]["tools"],
        json!(["find", "change"])
    );
}

#[test]
fn a_text_that_is_no_trace_says_what_was_expected() {
    let folder = folder();
    fs::write(folder.path().join("plan.json"), r#"{"steps": []}"#).unwrap();
    let output = run(folder.path(), &["learn", "plan.json"]);
    assert_eq!(output.status.code(), Some(2));
    let message = stderr(&output);
    assert!(
        message.contains("the text is no trace: expected messages with `tool_calls`"),
        "{message}"
    );
}
