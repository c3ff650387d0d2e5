//! Calls whose outcome is unknown: they are sent once, and a resumed run does not repeat them unless a person asks for it.
#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::process::Output;

use planwright_testkit::fake_server;
use serde_json::{Value, json};

use crate::program::{json_report, planwright, run_program, stderr};

/// A folder with a server whose one tool, `pay`, writes down that it was called and then `does` something.
fn set_up(folder: &Path, does: &Value, server: &Value, step: &Value) {
    let mut does = does.clone();
    does["appends"] = json!(folder.join("effects"));
    let tool = json!({"name": "pay", "inputSchema": {"type": "object"}, "does": does});
    let script = json!({"tools": [tool]}).to_string();
    // A server that is marked as broken does not start again.
    let starts =
        r#"if [ -e broken ]; then exit 3; fi; [ -e breaks ] && touch broken; exec "$0" "$1""#;
    let mut config = json!({
        "command": "/bin/sh", "args": ["-c", starts, fake_server::program(), script], "trusted": true
    });
    let mut plan = json!({"id": "pay", "tool": "pay"});
    for (target, more) in [(&mut config, server), (&mut plan, step)] {
        let more = more.as_object().unwrap().clone();
        target.as_object_mut().unwrap().extend(more);
    }
    let config = json!({"mcpServers": {"fake": config}});
    fs::write(folder.join("mcp.json"), config.to_string()).unwrap();
    let plan = json!({"name": "p", "steps": [plan]});
    fs::write(folder.join("plan.json"), plan.to_string()).unwrap();
}

fn program(folder: &Path, arguments: &[&str]) -> Output {
    let more = ["--store", "store.db", "--format", "json"];
    run_program(folder, &[arguments, &more].concat())
}

/// The run's id, its exit status, and how often the tool was called in all.
fn came_to(folder: &Path, output: &Output) -> (String, Option<i32>, usize) {
    let report = json_report(output);
    let effects = fs::read_to_string(folder.join("effects")).unwrap_or_default();
    let run = report["run"].as_str().unwrap().to_owned();
    (run, output.status.code(), effects.lines().count())
}

/// Returns the number of calls by a run, and by a resume of it, with the exit statuses of both.
fn check(does: &Value, server: &Value, step: &Value, more: &[&str], prepare: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    set_up(path, does, server, step);
    for name in prepare {
        fs::write(path.join(name), "").unwrap();
    }
    let mut arguments = vec![
        "run",
        "plan.json",
        "--servers",
        "mcp.json",
        "--approve",
        "all",
    ];
    arguments.extend(more);
    let (run, first, made) = came_to(path, &program(path, &arguments));
    for name in ["broken", "breaks"] {
        let _ = fs::remove_file(path.join(name));
    }
    let resumed = program(path, &["resume", &run, "--approve", "all"]);
    let (_, second, made_in_all) = came_to(path, &resumed);
    format!("{made} calls, exit {first:?}; resumed: {made_in_all} calls, exit {second:?}")
}

#[test]
fn an_answer_that_cannot_be_read_is_not_repeated() {
    let raw =
        |result: &str| json!({"raw": format!(r#"{{"jsonrpc":"2.0","id":$ID,"result":{result}}}"#)});
    let cases = [
        raw(r#"{"structuredContent":NaN}"#),
        raw("[]"),
        json!({"result": {"resultType": "task"}}),
        // Without requests and without a state, there is nothing to come back with.
        json!({"result": {"resultType": "input_required", "inputRequests": {}}}),
        json!({"error": {"code": -32001, "message": "Request timed out"}}),
        json!({"exit": 1}),
    ];
    for does in cases {
        for step in [json!({}), json!({"approval": true})] {
            assert_eq!(
                check(&does, &json!({}), &step, &[], &[]),
                "1 calls, exit Some(1); resumed: 1 calls, exit Some(4)",
                "{does} {step}"
            );
        }
    }
}

#[test]
fn a_timeout_of_the_server_does_not_repeat_an_approved_call() {
    let hangs = json!({"never": true});
    let step = json!({"approval": true, "retry": {"attempts": 3, "delay": "1ms"}});
    let expected = "1 calls, exit Some(1); resumed: 1 calls, exit Some(4)";
    let limited = json!({"timeout": "100ms"});
    assert_eq!(check(&hangs, &limited, &step, &[], &[]), expected);
    let timeout = ["--timeout", "100ms"];
    assert_eq!(check(&hangs, &json!({}), &step, &timeout, &[]), expected);
    // Several attempts at a call that needs no approval are what the plan asks for.
    let step = json!({"retry": {"attempts": 3, "delay": "1ms"}});
    let expected = "3 calls, exit Some(1); resumed: 3 calls, exit Some(4)";
    assert_eq!(check(&hangs, &limited, &step, &[], &[]), expected);
    assert_eq!(check(&hangs, &json!({}), &step, &timeout, &[]), expected);
}

#[test]
fn a_later_attempt_that_was_not_sent_does_not_hide_an_earlier_one() {
    let dies = json!({"exit": 1});
    let step = json!({"retry": {"attempts": 2, "delay": "1ms"}});
    assert_eq!(
        check(&dies, &json!({}), &step, &[], &["breaks"]),
        "1 calls, exit Some(1); resumed: 1 calls, exit Some(4)"
    );
}

#[test]
fn all_unknown_calls_are_decided_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    set_up(
        path,
        &json!({"never": true}),
        &json!({"timeout": "100ms"}),
        &json!({"for_each": [1, 2]}),
    );
    let arguments = [
        "run",
        "plan.json",
        "--servers",
        "mcp.json",
        "--approve",
        "all",
    ];
    let (run, _, made) = came_to(path, &program(path, &arguments));
    assert_eq!(made, 2);
    let resume = |more: &[&str]| {
        let arguments = [&["resume", &*run, "--approve", "all"], more].concat();
        came_to(path, &program(path, &arguments))
    };
    let (_, exit, made) = resume(&[]);
    assert_eq!((exit, made), (Some(4), 2));
    for (made, more) in [
        (4, &["--retry-unknown"][..]),
        (6, &["--retry", "all"]),
        (8, &["--retry", "pay[0],pay[1]"]),
        (10, &["--retry", "pay[*]"]),
        (11, &["--retry", "pay[0]", "--skip", "pay[1]"]),
    ] {
        let (_, _, made_in_all) = resume(more);
        assert_eq!(made_in_all, made, "{more:?}");
    }
    let (_, exit, made) = resume(&["--skip", "all"]);
    assert_eq!((exit, made), (Some(0), 11));
    let output = program(path, &["resume", &run, "--retry-unknown"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(
        stderr(&output).starts_with("error: no call of the run has an unknown outcome"),
        "{}",
        stderr(&output)
    );
}

/// The printed hint is a command that resumes the run.
#[test]
fn the_way_out_is_a_command_that_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let limited = json!({"timeout": "100ms"});
    set_up(path, &json!({"never": true}), &limited, &json!({}));
    let output = planwright(path)
        .args([
            "run",
            "plan.json",
            "--servers",
            "mcp.json",
            "--approve",
            "all",
        ])
        .output()
        .unwrap();
    // The run says at once that the call may have happened, as each resumed run does.
    let ended = stderr(&output);
    assert!(
        ended.contains("a call of `pay` was not answered, and may or may not have happened"),
        "{ended}"
    );
    assert!(ended.trim_end().ends_with("--retry-unknown`"), "{ended}");
    let output = planwright(path).args(["resume", "last"]).output().unwrap();
    assert_eq!(output.status.code(), Some(4));
    let messages = stderr(&output);
    let last = messages.lines().last().unwrap_or_default();
    let command = last.split('`').nth(1).unwrap_or_default();
    let words: Vec<&str> = command.split(' ').skip(1).collect();
    assert!(
        words.starts_with(&["resume"]) && words.ends_with(&["--retry-unknown"]),
        "{messages}"
    );
    let effects = || {
        fs::read_to_string(path.join("effects"))
            .unwrap()
            .lines()
            .count()
    };
    assert_eq!(effects(), 1);
    planwright(path)
        .args(&words)
        .args(["--approve", "all"])
        .output()
        .unwrap();
    assert_eq!(effects(), 2);
}
