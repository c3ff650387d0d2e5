//! Plans with simulated tools and what must come of them, from `tests/cases/*.json`.
//!
//! A case is `{"name", "dialect", "plan", "tools", …, "expect"}`. What is expected is contained in the report: objects
//! field by field, steps by id, lists and all else as they are. `text` lists what must be named in report or talk,
//! `calls` the calls by tool and arguments in any order.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::program::{planwright, stderr, stdout};

#[test]
fn cases() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "json")
        })
        .collect();
    files.sort();
    let mut failures = Vec::new();
    let mut count = 0;
    for file in &files {
        let text = fs::read_to_string(file).unwrap();
        let cases: Vec<Value> = serde_json::from_str(&text)
            .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        assert!(!cases.is_empty(), "{} has no cases", file.display());
        for case in cases {
            count += 1;
            for problem in check(&case) {
                failures.push(format!("{} / {}: {problem}", name(file), case["name"]));
            }
        }
    }
    assert!(count > 0, "there are no cases");
    assert!(
        failures.is_empty(),
        "{} problems:\n{}",
        failures.len(),
        failures.join("\n")
    );
}

fn name(file: &Path) -> String {
    file.file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// Runs one case; gives what is not as expected.
fn check(case: &Value) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, value: &Value| {
        fs::write(folder.path().join(name), value.to_string()).unwrap();
    };
    // A text is a plan in lines, or one whose layout counts.
    match &case["plan"] {
        Value::String(text) => fs::write(folder.path().join("plan.json"), text).unwrap(),
        plan => write("plan.json", plan),
    }
    let tools = case.get("tools").cloned().unwrap_or_else(|| json!({}));
    write("tools.json", &json!({ "tools": tools }));
    let mut command = planwright(folder.path());
    command.args([
        "run",
        "plan.json",
        "--simulate",
        "tools.json",
        "--format",
        "json",
        "--no-store",
    ]);
    if let Some(dialect) = case["dialect"].as_str() {
        command.args(["--dialect", dialect]);
    }
    if let Some(vars) = case.get("vars") {
        write("vars.json", vars);
        command.args(["--vars", "vars.json"]);
    }
    if let Some(library) = case["library"].as_object() {
        fs::create_dir(folder.path().join("library")).unwrap();
        for (name, plan) in library {
            write(&format!("library/{name}.json"), plan);
        }
        command.args(["--library", "library"]);
    }
    if let Some(approvals) = case.get("approvals") {
        write("approvals.json", approvals);
        command.args(["--approvals", "approvals.json"]);
    }
    for flag in case["flags"].as_array().into_iter().flatten() {
        command.arg(flag.as_str().unwrap());
    }
    let output = command.output().unwrap();
    let (text, log) = (stdout(&output), stderr(&output));
    let Ok(report) = serde_json::from_str::<Value>(&text) else {
        return vec![format!("no report: {text}{log}")];
    };
    let mut problems = Vec::new();
    for (key, expected) in case["expect"].as_object().unwrap() {
        match key.as_str() {
            "exit" => {
                if output.status.code().map(i64::from) != expected.as_i64() {
                    problems.push(format!(
                        "exit {:?}, expected {expected}",
                        output.status.code()
                    ));
                }
            }
            "text" => {
                for part in expected.as_array().unwrap() {
                    let part = part.as_str().unwrap();
                    if !text.contains(part) && !log.contains(part) {
                        problems.push(format!("`{part}` is named nowhere"));
                    }
                }
            }
            "calls" => calls(&report, expected, &mut problems),
            "steps" => steps(&report, expected, &mut problems),
            _ => contains(&report[key], expected, key, &mut problems),
        }
    }
    if !problems.is_empty() {
        problems.push(format!("talk: {log}"));
        problems.push(format!("diagnostics: {}", report["diagnostics"]));
    }
    problems
}

fn calls(report: &Value, expected: &Value, problems: &mut Vec<String>) {
    let mut made: Vec<String> = report["calls"]
        .as_array()
        .unwrap()
        .iter()
        .map(|call| json!([call["tool"], call["args"]]).to_string())
        .collect();
    let mut wanted: Vec<String> = expected
        .as_array()
        .unwrap()
        .iter()
        .map(Value::to_string)
        .collect();
    made.sort();
    wanted.sort();
    if made != wanted {
        problems.push(format!("calls {made:?}, expected {wanted:?}"));
    }
}

fn steps(report: &Value, expected: &Value, problems: &mut Vec<String>) {
    for (id, wanted) in expected.as_object().unwrap() {
        let step = report["steps"]
            .as_array()
            .unwrap()
            .iter()
            .find(|step| step["id"] == json!(id));
        match step {
            Some(step) => contains(step, wanted, id, problems),
            None => problems.push(format!("no step `{id}`")),
        }
    }
}

/// Adds a problem for each part of `wanted` that `value` lacks.
fn contains(value: &Value, wanted: &Value, at: &str, problems: &mut Vec<String>) {
    match (value, wanted) {
        (Value::Object(fields), Value::Object(wanted)) if !wanted.is_empty() => {
            for (key, wanted) in wanted {
                let at = format!("{at}.{key}");
                match fields.get(key) {
                    Some(value) => contains(value, wanted, &at, problems),
                    None => problems.push(format!("{at} is missing, expected {wanted}")),
                }
            }
        }
        _ if value == wanted => {}
        _ => problems.push(format!("{at} is {value}, expected {wanted}")),
    }
}
