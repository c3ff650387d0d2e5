//! `planwright convert`: what it prints and writes, and what it leaves alone.

use std::fs;
use std::path::Path;
use std::process::{Output, Stdio};

use serde_json::{Value, json};

use crate::program::{planwright, stderr, stdout};

const PLAN: &str = r#"{"steps": [
    {"id": "a", "tool": "t", "arguments": {}},
    {"id": "b", "tool": "u", "arguments": {"x": "$ref:a.n"}}
]}"#;

fn folder(plan: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("plan.json"), plan).unwrap();
    folder
}

fn convert(folder: &Path, args: &[&str]) -> Output {
    planwright(folder)
        .args(["convert", "plan.json"])
        .args(args)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

#[test]
fn text_is_the_plan_alone() {
    let folder = folder(PLAN);
    let output = convert(folder.path(), &["--to", "native"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let plan: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(plan["steps"][1]["args"], json!({"x": "${a.n?}"}));
    assert_eq!(stderr(&output), "");
}

#[test]
fn json_holds_the_plan_and_the_findings() {
    let folder = folder(r#"{"name": "p", "steps": [{"id": "a", "tool": "t", "after": []}]}"#);
    let output = convert(
        folder.path(),
        &["--to", "agentle", "--from", "native", "--format", "json"],
    );
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let report: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(report["schema"], "planwright.conversion/1");
    assert_eq!(report["ok"], true);
    assert_eq!(report["from"], "native");
    assert_eq!(report["dialect"], "agentle");
    let plan: Value = serde_json::from_str(report["plan"].as_str().unwrap()).unwrap();
    assert_eq!(plan["steps"][0]["tool"], "t");
    assert_eq!(report["diagnostics"][0]["code"], "PW0901");
    assert_eq!(report["diagnostics"][0]["severity"], "warning");
}

#[test]
fn losses_are_reported_where_they_were_written() {
    let text = r#"{"steps": [{"id": "a", "tool": "t"}, {"id": "b", "tool": "t", "args": {"x": "see ${a}"}, "when": "${a.ok}"}]}"#;
    let folder = folder(text);
    let to_file = ["--to", "agentle", "--output", "out.json"];
    let output = convert(folder.path(), &to_file);
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(stdout(&output), "");
    assert!(stderr(&output).contains("PW0901"), "{}", stderr(&output));
    assert!(!folder.path().join("out.json").exists());
    let output = convert(folder.path(), &["--to", "agentle", "--format", "json"]);
    assert_eq!(output.status.code(), Some(3));
    let report: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(report["ok"], false);
    assert_eq!(report["plan"], Value::Null);
    let found: Vec<(&str, &str)> = report["diagnostics"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| {
            assert!(
                finding["help"]
                    .as_str()
                    .is_some_and(|help| !help.is_empty())
            );
            let at = |end: &str| finding["span"][end].as_u64().unwrap().try_into().unwrap();
            let spot = &text[at("start")..at("end")];
            (finding["pointer"].as_str().unwrap(), spot)
        })
        .collect();
    let wanted = [
        ("/steps/1/args/x", "${a}"),
        ("/steps/1/when", r#""${a.ok}""#),
    ];
    assert_eq!(found, wanted);
}

#[test]
fn a_plan_with_errors_is_not_converted() {
    let folder =
        folder(r#"{"steps": [{"id": "a", "tool": "t", "arguments": {"x": "see $ref:a"}}]}"#);
    let output = convert(folder.path(), &["--to", "native"]);
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(stdout(&output), "");
    assert!(stderr(&output).contains("PW0401"), "{}", stderr(&output));
}

#[test]
fn a_file_is_replaced_only_when_asked() {
    let folder = folder(PLAN);
    let to_file = ["--to", "clear-ai", "--output", "out.json"];
    let output = convert(folder.path(), &to_file);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(stdout(&output), "");
    let out = folder.path().join("out.json");
    let written = fs::read_to_string(&out).unwrap();
    assert!(written.contains("${step[0].data.n}"), "{written}");
    fs::write(&out, "mine").unwrap();
    let output = convert(folder.path(), &to_file);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("--force"), "{}", stderr(&output));
    assert_eq!(fs::read_to_string(&out).unwrap(), "mine");
    let output = convert(folder.path(), &[&to_file[..], &["--force"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(fs::read_to_string(&out).unwrap(), written);
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[test]
fn a_folder_is_no_file() {
    let folder = folder(PLAN);
    fs::create_dir(folder.path().join("out")).unwrap();
    let to_folder = ["--to", "native", "--output", "out", "--force"];
    let output = convert(folder.path(), &to_folder);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("is a folder"));
}

/// Without tools, the parameters that take references are unknown; with them, those that do not are found.
#[test]
fn tools_tell_which_parameters_take_references() {
    let folder = folder(PLAN);
    let schema = |sharable: bool| {
        json!({"tools": {"t": {}, "u": {"input_schema":
            {"type": "object", "properties": {"x": {"type": "number", "x-sharable": sharable}}}}}})
    };
    let to_concierge = ["--to", "concierge", "--simulate", "tools.json"];
    for (sharable, exit) in [(true, 0), (false, 3)] {
        let tools = schema(sharable).to_string();
        fs::write(folder.path().join("tools.json"), tools).unwrap();
        let output = convert(folder.path(), &to_concierge);
        assert_eq!(output.status.code(), Some(exit), "{}", stderr(&output));
        assert_eq!(stderr(&output).contains("PW0601"), !sharable);
    }
    let output = convert(folder.path(), &["--to", "concierge"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[test]
fn a_computed_output_can_be_left_out() {
    let plan = r#"{"steps": [{"id": "a", "tool": "t", "args": {}}], "output": {"n": "${a.n}"}}"#;
    let folder = folder(plan);
    let refused = convert(folder.path(), &["--to", "clear-ai"]);
    assert_eq!(refused.status.code(), Some(3), "{}", stderr(&refused));
    assert!(
        stderr(&refused).contains("`convert --drop-output`"),
        "{}",
        stderr(&refused)
    );
    let output = convert(folder.path(), &["--to", "clear-ai", "--drop-output"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains("\"t\""), "{}", stdout(&output));
    assert!(
        stderr(&output).contains("the output of the plan is dropped"),
        "{}",
        stderr(&output)
    );
}
