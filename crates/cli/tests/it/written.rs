//! Plans that are quickly written and would come to far more than they take in memory: what is stored, reported and logged of them is
//! bounded.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::program::{planwright, stderr};

/// A plan of less than two kilobytes that doubles a list and hands it on to `count` steps.
fn plan(times: usize, count: usize, step: &str, output: &str) -> String {
    let mut steps = r#"{"id":"s0","value":[1,1,1,1,1,1,1,1]}"#.to_owned();
    for number in 1..=times {
        let before = number - 1;
        let _ = write!(
            steps,
            r#",{{"id":"s{number}","value":["${{s{before}}}","${{s{before}}}"]}}"#
        );
    }
    for number in 0..count {
        let step = step.replace("NUMBER", &number.to_string());
        let step = step.replace("ALL", &format!("${{s{times}}}"));
        let _ = write!(steps, r#",{{"id":"v{number}",{step}}}"#);
    }
    let output = output.replace("ALL", &format!("${{s{times}}}"));
    format!(r#"{{"name":"p","steps":[{steps}],"output":{output}}}"#)
}

fn printed(folder: &Path, args: &[&str], exit: i32) -> Vec<u8> {
    let output = planwright(folder).args(args).output().unwrap();
    let log = stderr(&output);
    assert_eq!(output.status.code(), Some(exit), "{args:?}\n{log}");
    output.stdout
}

/// Runs a plan with a budget of 2 MB; nothing that is printed of it and nothing that is stored is much more. Gives the report.
fn check(plan: &str) -> Value {
    const MAX_BYTES: usize = 2_000_000;
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("plan.json"), plan).unwrap();
    let tools = r#"{"tools": {"t": {"returns": "x"}, "u": {"approval": true, "returns": "y"}}}"#;
    fs::write(folder.join("tools.json"), tools).unwrap();
    fs::write(
        folder.join("planwright.toml"),
        format!("budgets.written_bytes = {MAX_BYTES}"),
    )
    .unwrap();
    let store = "s.db";
    let run = [
        "run",
        "plan.json",
        "--simulate",
        "tools.json",
        "--store",
        store,
        "--format",
        "json",
    ];
    let report = printed(folder, &run, 1);
    // The allowance is for the other contents of a report, such as ids and times.
    let limit = MAX_BYTES + 100_000;
    assert!(report.len() < limit, "{}", report.len());
    let report: Value = serde_json::from_slice(&report).unwrap();
    let id = report["run"].as_str().unwrap();
    for args in [
        &["logs", id, "--format", "json"][..],
        &["logs", id, "--format", "events"],
        &["logs", id],
        &["runs", "--format", "json"],
        &["export", id],
        &["replay", id],
    ] {
        let printed = printed(folder, &[args, &["--store", store]].concat(), 0);
        assert!(printed.len() < limit, "{args:?}: {}", printed.len());
    }
    let resumed = printed(
        folder,
        &["resume", id, "--store", store, "--format", "json"],
        1,
    );
    assert!(resumed.len() < limit, "{}", resumed.len());
    let stored = fs::metadata(folder.join(store)).unwrap().len();
    // An empty store has 17 tables and 11 indexes of at least one page of 4 KiB each, so 115 KB of these are not values.
    assert!(stored < 320_000, "{stored}");
    report
}

fn check_step(step: &str) {
    let report = check(&plan(13, 30, step, "{}"));
    let steps = report["steps"].as_array().unwrap();
    let failed = steps
        .iter()
        .find(|step| step["status"] == "failed")
        .unwrap();
    let error = &failed["error"];
    assert_eq!(error["kind"], "budget");
    assert_eq!(error["data"]["guard"], "written_bytes");
    assert_eq!(error["data"]["set_in"], "planwright.toml:1");
}

#[test]
fn values_are_bounded_as_they_are_written() {
    check_step(r#""value":[NUMBER,"ALL"]"#);
    check_step(r#""value":{"a":{"b":["ALL"]},"n":NUMBER}"#);
    check_step(r#""for_each":[1,2,3],"value":["${item}","ALL"]"#);
    check_step(r#""value":"ALL","writes":"state.a""#);
}

#[test]
fn arguments_are_bounded_as_they_are_written() {
    check_step(r#""tool":"t","args":{"n":NUMBER,"x":"ALL"}"#);
    check_step(
        r#""plan":{"name":"q","inputs":{"x":{}},"steps":[{"id":"a","value":1}]},"args":{"x":"ALL"}"#,
    );
}

#[test]
fn the_output_is_bounded_as_it_is_written() {
    let all: Vec<&str> = vec![r#""ALL""#; 30];
    let report = check(&plan(
        12,
        1,
        r#""value":1"#,
        &format!("[{}]", all.join(",")),
    ));
    assert_eq!(report["status"], "failed");
    assert_eq!(report["output"], Value::Null);
    let diagnostics = report["diagnostics"].to_string();
    assert!(diagnostics.contains("written_bytes"), "{diagnostics}");
}

#[test]
fn large_answers_can_be_handed_on() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let text = "a".repeat(3_000_000);
    let tools =
        format!(r#"{{"tools": {{"t": {{"returns": "{text}"}}, "u": {{"returns": "x"}}}}}}"#);
    fs::write(folder.join("tools.json"), tools).unwrap();
    let plan = r#"{"name":"p","steps":[{"id":"a","tool":"t"},{"id":"b","tool":"u","args":{"x":"${a}"}},
        {"id":"c","tool":"u","args":{"x":"${a}"}},{"id":"d","value":["${a}"]}],"output":"${d}"}"#;
    fs::write(folder.join("plan.json"), plan).unwrap();
    let run = [
        "run",
        "plan.json",
        "--simulate",
        "tools.json",
        "--store",
        "s.db",
        "--format",
        "json",
    ];
    let report = printed(folder, &run, 0);
    // Once as it came, in two calls and their steps, in a step and as the output.
    assert!(report.len() > 7 * text.len());
    // All of them stored once.
    let stored = fs::metadata(folder.join("s.db")).unwrap().len();
    assert!(stored < 2 * text.len() as u64, "{stored}");
}
