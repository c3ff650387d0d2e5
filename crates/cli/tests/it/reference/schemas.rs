//! Reports and events are as their published schemas say.

use std::fs;
use std::process::Stdio;

use planwright::core::{Schema, Value};
use planwright_testkit::generated::project_file;

use crate::program::{planwright, stdout};

const TOOLS: &str = r#"{"tools": {
    "ok": {"echo": true},
    "bad": {"fails": {"code": "no_funds", "message": "no funds"}},
    "flaky": {"unavailable": "reset", "times": 1, "returns": 1},
    "raw": {"result": {"content": [{"type": "image", "data": "", "mimeType": "image/png"}]}},
    "pay": {"approval": true, "returns": "paid"}
}}"#;

/// A plan in which everything happens that a report can tell.
const PLAN: &str = r#"{"name": "all", "inputs": {"unread": {"default": 1}}, "steps": [
    {"id": "loop", "for_each": [1, 2], "tool": "ok", "args": {"n": "${item}"}, "writes": "vars.seen"},
    {"id": "again", "tool": "ok", "args": {"n": "${index}"}, "repeat": {"until": "${again.n == 1}"}},
    {"id": "inner", "plan": {"steps": [{"id": "in", "tool": "ok"}]}},
    {"id": "retried", "tool": "flaky", "retry": {"attempts": 2, "delay": "1ms"}},
    {"id": "raw", "tool": "raw"},
    {"id": "bad", "tool": "bad", "on_error": "continue"},
    {"id": "skipped", "value": "${bad.x}"},
    {"id": "pay", "tool": "pay"}
]}"#;

fn check(args: &[&str], schema: &str, plan: &str) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("tools.json"), TOOLS).unwrap();
    fs::write(folder.path().join("plan.json"), plan).unwrap();
    let output = planwright(folder.path())
        .args(["run", "plan.json", "--simulate", "tools.json"])
        .args(args)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let published = fs::read_to_string(project_file(schema)).unwrap();
    let published = Schema::from_value(Value::from_json(&published).unwrap());
    assert_eq!(published.malformed(), None);
    let printed = stdout(&output);
    let texts: Vec<&str> = match args {
        [.., "events"] => printed.lines().collect(),
        _ => vec![&printed],
    };
    assert!(!texts.is_empty(), "{args:?}");
    for text in texts {
        let value = Value::from_json(text).unwrap();
        let violations = published.validate(&value);
        assert!(violations.is_empty(), "{violations:#?}\n{text}");
        assert!(!published.is_valid(&Value::empty_object()));
    }
}

#[test]
fn printed_documents_fit_the_published_schemas() {
    let report = "docs/schema/report.schema.json";
    check(&["--format", "json"], report, PLAN);
    check(&["--format", "json", "--approve", "all"], report, PLAN);
    check(&["--format", "json", "--dry-run"], report, PLAN);
    check(&["--format", "json"], report, "{}");
    let event = "docs/schema/event.schema.json";
    check(&["--format", "events"], event, PLAN);
    check(&["--approve", "none", "--format", "events"], event, PLAN);
}
