//! The calls that wait for a decision, of all runs, and decisions about several of them.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Output, Stdio};

use serde_json::{Value, json};

use crate::program::{json_report, planwright, run_program, simulated_run, stderr, stdout};
use crate::prompts::{assert_screen, screen};

fn set_up(folder: &Path) {
    let tools = json!({"tools": {
        "pay": {"annotations": {"destructiveHint": true}, "echo": true},
        "look": {"annotations": {"readOnlyHint": true}, "echo": true}
    }});
    fs::write(folder.join("tools.json"), tools.to_string()).unwrap();
    let plan = json!({"name": "payments", "steps": [
        {"id": "pay", "for_each": [3, 4], "tool": "pay", "args": {"amount": "${item}", "to": "it's me"}},
        {"id": "refund", "tool": "pay", "args": {"amount": 9}}
    ]});
    fs::write(folder.join("plan.json"), plan.to_string()).unwrap();
}

fn start(folder: &Path) -> String {
    let output = simulated_run(folder);
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    let report = json_report(&output);
    report["run"].as_str().unwrap().to_owned()
}

fn open(folder: &Path) -> Vec<Value> {
    let output = run_program(folder, &["waiting", "--format", "json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let report = json_report(&output);
    assert_eq!(report["schema"], "planwright.waiting/1");
    report["calls"].as_array().unwrap().clone()
}

fn addresses(folder: &Path) -> Vec<String> {
    let open = open(folder);
    let addresses = open.iter().map(|call| call["address"].as_str().unwrap());
    addresses.map(str::to_owned).collect()
}

/// The digests of the calls that a command shows.
fn digests(folder: &Path, arguments: &[&str]) -> Vec<String> {
    let output = run_program(
        folder,
        &[&["approve"], arguments, &["--show", "--format", "json"]].concat(),
    );
    let report = json_report(&output);
    let calls = report["calls"].as_array().unwrap();
    let digests = calls.iter().map(|call| call["digest"].as_str().unwrap());
    digests.map(str::to_owned).collect()
}

fn approve(folder: &Path, arguments: &[&str], digests: &[String]) -> Output {
    let mut command = planwright(folder);
    command.arg("approve").args(arguments);
    for digest in digests {
        command.args(["--digest", digest]);
    }
    command.output().unwrap()
}

#[test]
fn the_calls_of_all_runs_are_listed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let output = run_program(path, &["waiting"]);
    assert_eq!(stderr(&output), "no call waits for a decision\n");
    assert!(!path.join(".local").exists(), "a list writes no file");
    set_up(path);
    let (first, second) = (start(path), start(path));
    let calls = open(path);
    let runs: Vec<&str> = calls
        .iter()
        .map(|call| call["run"].as_str().unwrap())
        .collect();
    assert_eq!(runs, [[&*second; 3], [&*first; 3]].concat());
    assert_eq!(calls[0]["args"], json!({"amount": 3, "to": "it's me"}));
    run_program(path, &["reject", &second]);
    // A call that is decided does not wait, even before its run is resumed.
    let shown = stdout(&run_program(path, &["waiting"])).replace(&first[..8], "RUN");
    let digest = regex::Regex::new("digest: [0-9a-f]+").unwrap();
    insta::assert_snapshot!(digest.replace_all(&shown, "digest: DIGEST"), @r#"
    RUN of `payments`: not running

    pay[0] wants to call simulated.pay
      amount: 3
      to: "it's me"
      why it asks: the script says that it may destroy something
      digest: DIGEST
      decide with `planwright approve RUN 'pay[0]'`

    pay[1] wants to call simulated.pay
      amount: 4
      to: "it's me"
      why it asks: the script says that it may destroy something
      digest: DIGEST
      decide with `planwright approve RUN 'pay[1]'`

    refund wants to call simulated.pay
      amount: 9
      why it asks: the script says that it may destroy something
      digest: DIGEST
      decide with `planwright approve RUN refund`
    "#);
}

#[test]
fn a_plan_without_a_name_is_that_of_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    set_up(path);
    let plan = json!({"steps": [{"id": "pay", "tool": "pay"}]});
    fs::write(path.join("plan.json"), plan.to_string()).unwrap();
    start(path);
    let shown = stdout(&run_program(path, &["waiting"]));
    assert!(shown.contains(" of `plan.json`: not running\n"), "{shown}");
}

/// A process that waits for its own question counts as well.
#[test]
fn calls_of_a_process_that_waits_are_listed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    set_up(path);
    let mut child = planwright(path)
        .args(["run", "plan.json", "--simulate", "tools.json"])
        .args(["--approve", "wait", "--format", "events"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut asked = 0;
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let event: Value = serde_json::from_str(&line.unwrap()).unwrap();
        if event["event"] != "approval_asked" {
            continue;
        }
        asked += 1;
        if asked == 3 {
            // The store may be written after the event.
            let calls = (0..100).map(|_| open(path)).find(|calls| calls.len() == 3);
            let calls = calls.expect("all three calls are listed");
            let id = calls[0]["run"].as_str().unwrap().to_owned();
            let digests = digests(path, &[&id]);
            let output = approve(path, &[&id], &digests);
            assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        }
    }
    assert_eq!(asked, 3);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(open(path).is_empty());
}

#[test]
fn several_calls_are_decided_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    set_up(path);
    let id = start(path);
    let run_id = id.as_str();
    let items = digests(path, &[run_id, "pay[*]"]);
    assert_eq!(items.len(), 2);
    // Each call needs its own digest, and each digest a call.
    for (steps, input, message) in [
        (
            &[run_id, "pay[*]"][..],
            &items[..1],
            "there is no digest for the call of `pay[1]`",
        ),
        (
            &[run_id, "pay[0]", "refund"],
            &items,
            "is not that of any of these calls",
        ),
        (&[run_id, "refund"], &items[..1], "is not that of this call"),
        (&[run_id, "p[*]"], &items, "no call of `p[*]` waits"),
        (
            &[run_id],
            &[],
            "there is no terminal to approve the calls on",
        ),
    ] {
        let output = approve(path, steps, input);
        assert_eq!(output.status.code(), Some(2), "{steps:?}");
        assert!(stderr(&output).contains(message), "{}", stderr(&output));
    }
    assert_eq!(addresses(path), ["pay[0]", "pay[1]", "refund"]);
    let output = approve(path, &[run_id, "pay[*]"], &items);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let output = run_program(path, &["reject", run_id, "refund", "--because", "no"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let output = run_program(path, &["resume", run_id, "--format", "json"]);
    let report = json_report(&output);
    let calls = report["calls"].as_array().unwrap();
    let amounts: Vec<&Value> = calls.iter().map(|call| &call["args"]["amount"]).collect();
    assert_eq!(amounts, [3, 4]);
    assert!(addresses(path).is_empty());
    let output = run_program(path, &["approve", run_id]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("planwright waiting"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn other_arguments_are_for_one_call() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    set_up(path);
    let id = start(path);
    let output = run_program(path, &["approve", &id, "--args", "{}"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).starts_with("error: `--args` applies to one call, but 3 are waiting"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn all_calls_of_a_run_on_a_terminal() {
    let folder = tempfile::tempdir().unwrap();
    set_up(folder.path());
    let id = start(folder.path());
    let line = format!("approve {id}");
    let shown = screen(folder.path(), &line, &[("[y]es", "y\n")]);
    assert_screen("stored-calls", &shown);
    assert!(addresses(folder.path()).is_empty());
}
