//! Resumed runs: after a failure, with another plan, with changed tools.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::program::{json_report, planwright, run_program, simulated_run, stderr, stdout};

fn write(folder: &Path, name: &str, content: &Value) {
    fs::write(folder.join(name), content.to_string()).unwrap();
}

fn tools(folder: &Path, tools: &Value) {
    write(folder, "tools.json", &json!({ "tools": tools }));
}

/// Runs `plan.json`; gives its exit status and its report.
fn run(folder: &Path) -> (Option<i32>, Value) {
    let output = simulated_run(folder);
    (output.status.code(), json_report(&output))
}

fn resume(folder: &Path, id: &str, more: &[&str]) -> (Option<i32>, Value, String) {
    let mut arguments = vec!["resume", id, "--format", "json"];
    arguments.extend(more);
    let output = run_program(folder, &arguments);
    (output.status.code(), json_report(&output), stderr(&output))
}

/// Returns the calls, step by step, of all processes together.
fn calls(report: &Value) -> Vec<&str> {
    let calls = report["calls"].as_array().unwrap();
    calls
        .iter()
        .map(|call| call["step"].as_str().unwrap())
        .collect()
}

fn chain() -> Value {
    json!({"name": "chain", "steps": [
        {"id": "a", "tool": "one", "args": {"n": 1}},
        {"id": "b", "tool": "two", "args": {"of": "${a}"}},
        {"id": "c", "tool": "one", "args": {"of": "${b}"}}
    ]})
}

#[test]
fn a_failed_run_goes_on_when_the_cause_is_mended() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    write(path, "plan.json", &chain());
    tools(
        path,
        &json!({"one": {"echo": true}, "two": {"fails": "out of paper"}}),
    );
    let (code, first) = run(path);
    assert_eq!(code, Some(1));
    assert_eq!(calls(&first), ["a", "b"]);
    let id = first["run"].as_str().unwrap();
    // Without a fix it fails again, and `a` is not repeated.
    let (code, again, _) = resume(path, id, &[]);
    assert_eq!(code, Some(1));
    assert_eq!(calls(&again), ["a", "b", "b"]);
    tools(
        path,
        &json!({"one": {"echo": true}, "two": {"returns": {"paper": "A4"}}}),
    );
    let (code, mended, _) = resume(path, &id[..6], &[]);
    assert_eq!(code, Some(0));
    assert_eq!(calls(&mended), ["a", "b", "b", "b", "c"]);
    assert_eq!(mended["output"]["c"], json!({"of": {"paper": "A4"}}));
    assert_eq!(mended["steps"][1]["attempts"], 3);
    // To resume what is done calls nothing, however often.
    for _ in 0..2 {
        let (code, once_more, _) = resume(path, id, &[]);
        assert_eq!(code, Some(0));
        assert_eq!(once_more["output"], mended["output"]);
        assert_eq!(calls(&once_more), calls(&mended));
    }
}

#[test]
fn a_patched_plan_keeps_what_it_does_not_change() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    write(path, "plan.json", &chain());
    tools(
        path,
        &json!({"one": {"echo": true}, "two": {"fails": "no"}, "three": {"returns": 3}}),
    );
    let (_, first) = run(path);
    let id = first["run"].as_str().unwrap();
    let mut patched = chain();
    patched["steps"][1]["tool"] = json!("three");
    patched["steps"]
        .as_array_mut()
        .unwrap()
        .push(json!({"id": "d", "tool": "one", "args": {"n": 4}}));
    write(path, "patched.json", &patched);
    let (code, report, _) = resume(path, id, &["--plan", "patched.json"]);
    assert_eq!(code, Some(0));
    // `b` is another step now; its earlier call is still reported.
    let mut called = calls(&report);
    called.sort_unstable();
    assert_eq!(called, ["a", "b", "b", "c", "d"]);
    let steps = report["steps"].as_array().unwrap();
    assert_eq!(steps[1]["attempts"], 1);
    assert_eq!(report["output"]["c"], json!({"of": 3}));
    // The run uses the new plan after this.
    let (code, again, _) = resume(path, id, &[]);
    assert_eq!((code, &again["output"]), (Some(0), &report["output"]));
    // And it can change what had succeeded.
    patched["steps"][3]["args"]["n"] = json!(5);
    write(path, "patched.json", &patched);
    let (code, changed, _) = resume(path, id, &["--plan", "patched.json"]);
    assert_eq!(code, Some(0));
    assert_eq!(changed["output"]["d"], json!({"n": 5}));
    assert_eq!(calls(&changed).len(), 6);
    let shown = stdout(&run_program(path, &["show", id]));
    assert!(
        shown.contains("plan 2 of 3: given when the run was resumed\nplan 3 of 3: "),
        "{shown}"
    );
    // Not everything can be proved, but this can: it was decided as it would be now.
    let replayed = run_program(path, &["replay", id]);
    assert_eq!(replayed.status.code(), Some(0), "{}", stderr(&replayed));
}

#[test]
fn a_patched_plan_runs_again_what_was_computed_from_what_it_changes() {
    let plan = |n: u32| {
        json!({"name": "chain", "steps": [
            {"id": "a", "tool": "one", "args": {"n": n}},
            {"id": "other", "tool": "one", "args": {"n": 0}},
            {"id": "b", "tool": "one", "args": {"of": "${a.n}"}},
            {"id": "later", "tool": "one", "args": {"n": 9}, "after": ["a"]},
            {"id": "c", "tool": "two", "args": {"of": "${b.of}"}},
        ]})
    };
    for (keep, called, input, message) in [
        (
            &[][..],
            &["a", "b", "c"][..],
            2,
            "`b` is run again: its result was computed from `a`, which the new plan changes (`--keep b` keeps it)\n",
        ),
        (&["--keep", "b"], &["a", "c"], 1, ""),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        write(path, "plan.json", &plan(1));
        tools(
            path,
            &json!({"one": {"echo": true}, "two": {"fails": "no"}}),
        );
        let (code, first) = run(path);
        assert_eq!(code, Some(1));
        assert_eq!(calls(&first).len(), 5);
        let id = first["run"].as_str().unwrap();
        tools(path, &json!({"one": {"echo": true}, "two": {"echo": true}}));
        write(path, "new.json", &plan(2));
        let more = [&["--plan", "new.json"], keep].concat();
        let (code, report, stderr) = resume(path, id, &more);
        assert_eq!(code, Some(0), "{stderr}");
        assert_eq!(report["output"]["c"], json!({"of": input}), "{keep:?}");
        let logs = stdout(&run_program(path, &["logs", id, "--format", "json"]));
        let logs: Value = serde_json::from_str(&logs).unwrap();
        let lines = logs["lines"].as_array().unwrap().iter();
        let again: Vec<&str> = lines
            .skip_while(|line| line["status"] != "failed" || line["what"] != "ended")
            .filter(|line| line["what"] == "call")
            .map(|line| line["address"].as_str().unwrap())
            .collect();
        assert_eq!(again, called, "{keep:?}");
        assert!(stderr.starts_with(message), "{stderr}");
        let stays =
            "the result of `b` stays on request without known labels: untrusted and private\n";
        for command in ["show", "logs"] {
            let text = stdout(&run_program(path, &[command, id]));
            assert_eq!(text.contains(stays), !keep.is_empty(), "{text}");
        }
        let retained = json!([{"step": "b", "untrusted": true, "private": true}]);
        let drawn = stdout(&run_program(path, &["show", id, "--as", "json"]));
        let drawn: Value = serde_json::from_str(&drawn).unwrap();
        let lines = logs["lines"].as_array().unwrap();
        let began = lines.iter().rfind(|line| line["what"] == "began").unwrap();
        for found in [&drawn["run"]["kept"], &began["kept"]] {
            let expected = if keep.is_empty() {
                &Value::Null
            } else {
                &retained
            };
            assert_eq!(found, expected);
        }
        let replay = run_program(path, &["replay", id]);
        assert_eq!(replay.status.code(), Some(0), "{}", stdout(&replay));
    }
}

#[test]
fn only_a_stale_result_can_be_kept_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    write(path, "plan.json", &chain());
    tools(
        path,
        &json!({"one": {"echo": true}, "two": {"fails": "no"}}),
    );
    let (_, first) = run(path);
    let id = first["run"].as_str().unwrap();
    write(path, "new.json", &chain());
    for step in ["a", "b", "nowhere"] {
        let output = run_program(path, &["resume", id, "--plan", "new.json", "--keep", step]);
        assert_eq!(output.status.code(), Some(2));
        let message = format!("the result of `{step}` is not stale, so there is nothing to keep");
        assert!(stderr(&output).contains(&message), "{}", stderr(&output));
    }
}

#[test]
fn a_patched_plan_must_be_sound() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    write(path, "plan.json", &chain());
    tools(
        path,
        &json!({"one": {"echo": true}, "two": {"fails": "no"}}),
    );
    let (_, first) = run(path);
    let id = first["run"].as_str().unwrap();
    let mut patched = chain();
    patched["steps"][1]["tool"] = json!("tow");
    write(path, "patched.json", &patched);
    let (code, report, _) = resume(path, id, &["--plan", "patched.json"]);
    assert_eq!((code, &report["status"]), (Some(3), &json!("rejected")));
    assert_eq!(report["diagnostics"][0]["code"], "PW0201");
}

#[test]
fn a_person_may_do_without_a_step_or_give_its_value() {
    for (choice, status, c) in [
        (["--skip", "b"], "skipped", json!(null)),
        (
            ["--set", "b={\"x\": 1}"],
            "succeeded",
            json!({"of": {"x": 1}}),
        ),
        (
            ["--set", "b=plain text"],
            "succeeded",
            json!({"of": "plain text"}),
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        write(path, "plan.json", &chain());
        tools(
            path,
            &json!({"one": {"echo": true}, "two": {"fails": "no"}}),
        );
        let (_, first) = run(path);
        let id = first["run"].as_str().unwrap();
        let (code, report, _) = resume(path, id, &choice);
        assert_eq!(code, Some(0), "{choice:?}");
        assert_eq!(report["steps"][1]["status"], status, "{choice:?}");
        assert_eq!(report["output"]["c"], c, "{choice:?}");
        // The choice holds for later resumptions without options.
        let (code, again, _) = resume(path, id, &[]);
        assert_eq!((code, &again["output"]), (Some(0), &report["output"]));
    }
}

#[test]
fn choices_that_make_no_sense() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    write(path, "plan.json", &chain());
    tools(
        path,
        &json!({"one": {"echo": true}, "two": {"fails": "no"}}),
    );
    let (_, first) = run(path);
    let id = first["run"].as_str().unwrap();
    for (choice, message) in [
        (
            &["--retry", "a"][..],
            "`a` has succeeded and is not repeated\n  hint: a plan that changes the step runs it again: `--plan FILE`",
        ),
        (
            &["--skip", "bb"],
            "the run has no step `bb`\n  hint: did you mean `b`?",
        ),
        (
            &["--set", "b"],
            "`--set b` has no `=`\n  hint: write it as --set STEP=VALUE",
        ),
        (
            &["--skip", "b", "--retry", "b"],
            "`b` has two conflicting choices",
        ),
    ] {
        let mut arguments = vec!["resume", id];
        arguments.extend(choice);
        let output = run_program(path, &arguments);
        assert_eq!(output.status.code(), Some(2), "{choice:?}");
        assert_eq!(stderr(&output), format!("error: {message}\n"), "{choice:?}");
    }
}

#[test]
fn a_tool_that_has_changed_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    write(path, "plan.json", &chain());
    let two = |schema: Value| json!({"one": {"echo": true}, "two": {"input_schema": schema, "fails": "no"}});
    tools(path, &two(json!({"type": "object"})));
    let (_, first) = run(path);
    let id = first["run"].as_str().unwrap();
    tools(
        path,
        &two(json!({"type": "object", "properties": {"of": {}}})),
    );
    let (_, _, log) = resume(path, id, &[]);
    assert_eq!(
        log,
        "warning: the tool `simulated.two` changed since the run was last in progress: the schema of its arguments\n"
    );
    // After the decision, the outcome is known.
    let (_, _, log) = resume(path, id, &[]);
    assert_eq!(log, "");
}

#[test]
fn a_run_that_cannot_be_stored_does_not_start() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    write(path, "plan.json", &chain());
    tools(path, &json!({"one": {"echo": true}, "two": {"echo": true}}));
    fs::write(
        path.join("text.db"),
        "this is not a database, and never was one: not by any means",
    )
    .unwrap();
    for (store, message, status) in [
        ("text.db", "text.db` is damaged: ", 70),
        (".", "the store `.` is not a regular file", 2),
        (
            "/proc/nowhere/store.db",
            "the store `/proc/nowhere/store.db` cannot be used: ",
            70,
        ),
    ] {
        let output = run_program(
            path,
            &[
                "run",
                "plan.json",
                "--simulate",
                "tools.json",
                "--format",
                "json",
                "--store",
                store,
            ],
        );
        let log = stderr(&output);
        assert_eq!(output.status.code(), Some(status), "{store}: {log}");
        assert_eq!(stdout(&output), "", "{store}");
        assert!(
            log.starts_with("error: the store `") && log.contains(message),
            "{store}: {log}"
        );
        assert!(log.contains("--no-store"), "{store}: {log}");
    }
}

/// Runs `plan.json` and kills the program when the tool of `step` has been called; gives the run's id.
fn killed_at(folder: &Path, step: &str) -> String {
    let mut child = planwright(folder)
        .args([
            "run",
            "plan.json",
            "--simulate",
            "tools.json",
            "--format",
            "events",
        ])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut run = None;
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let event: Value = serde_json::from_str(&line.unwrap()).unwrap();
        if event["event"] == "run_started" {
            run = event["run"].as_str().map(str::to_owned);
        }
        if event["event"] == "step_started" && event["step"] == "watch" {
            // It follows upon the answer of a step that began together with the one that hangs, so that one was sent.
            child.kill().unwrap();
            break;
        }
    }
    child.wait().unwrap();
    let id = run.unwrap();
    let (code, report, _) = resume(folder, &id, &[]);
    assert_eq!(code, Some(4));
    let steps = report["steps"].as_array().unwrap();
    let in_doubt = steps.iter().find(|found| found["id"] == step).unwrap();
    assert_eq!(in_doubt["status"], "unknown");
    id
}

#[test]
fn a_new_plan_buries_no_call_in_doubt() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let plan = json!({"name": "doubt", "steps": [
        {"id": "pay", "tool": "pay", "args": {"n": 1}},
        {"id": "quick", "tool": "quick"},
        {"id": "watch", "tool": "quick", "after": ["quick"]}
    ]});
    write(path, "plan.json", &plan);
    tools(
        path,
        &json!({"pay": {"sleep_ms": 600_000, "returns": "paid"}, "quick": {"annotations": {"readOnlyHint": true}, "returns": 1}}),
    );
    let id = killed_at(path, "pay");
    let mut changed = plan.clone();
    changed["steps"][0]["args"]["n"] = json!(2);
    write(path, "changed.json", &changed);
    let mut without = plan;
    without["steps"].as_array_mut().unwrap().remove(0);
    write(path, "without.json", &without);
    for file in ["changed.json", "without.json"] {
        let output = run_program(path, &["resume", &id, "--plan", file]);
        assert_eq!(output.status.code(), Some(2), "{file}");
        let message =
            "error: the new plan changes `pay`, and the outcome of the call of `pay` is unknown\n";
        assert!(stderr(&output).starts_with(message), "{}", stderr(&output));
    }
    // After a check by a person the run can be resumed, and nothing is called a second time.
    let (code, report, _) = resume(path, &id, &["--plan", "changed.json", "--set", "pay=paid"]);
    assert_eq!(code, Some(0), "{report:#}");
    assert_eq!(report["output"]["pay"], "paid");
    let paid = calls(&report).into_iter().filter(|step| *step == "pay");
    assert_eq!(paid.count(), 1);
}

#[test]
fn a_run_that_is_done_starts_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    write(path, "plan.json", &chain());
    tools(path, &json!({"one": {"echo": true}, "two": {"returns": 2}}));
    let (code, first) = run(path);
    assert_eq!(code, Some(0));
    // The tools need not exist any longer.
    fs::remove_file(path.join("tools.json")).unwrap();
    let (code, again, log) = resume(path, first["run"].as_str().unwrap(), &[]);
    assert_eq!((code, log.as_str()), (Some(0), ""));
    for part in ["status", "output", "calls"] {
        assert_eq!(again[part], first[part], "{part}");
    }
}

#[test]
fn a_handled_failure_is_retried_only_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let mut plan = chain();
    plan["steps"][1]["on_error"] = json!("continue");
    plan["steps"].as_array_mut().unwrap().pop();
    write(path, "plan.json", &plan);
    tools(
        path,
        &json!({"one": {"echo": true}, "two": {"fails": "no"}}),
    );
    let (code, first) = run(path);
    assert_eq!(code, Some(0));
    let id = first["run"].as_str().unwrap();
    let (_, again, _) = resume(path, id, &[]);
    assert_eq!(calls(&again), ["a", "b"]);
    tools(path, &json!({"one": {"echo": true}, "two": {"returns": 2}}));
    let (code, retried, _) = resume(path, id, &["--retry", "b"]);
    assert_eq!(code, Some(0));
    assert_eq!(calls(&retried), ["a", "b", "b"]);
    // It was stored, so it is not made a third time.
    let (_, after, _) = resume(path, id, &[]);
    assert_eq!(calls(&after), ["a", "b", "b"]);
    assert_eq!(after["output"]["b"], 2);
}

#[test]
fn calls_of_another_server_stay_completed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    write(path, "plan.json", &chain());
    tools(
        path,
        &json!({"one": {"echo": true}, "two": {"fails": "no"}}),
    );
    let (_, first) = run(path);
    let id = first["run"].as_str().unwrap();
    // The same tools, of a server with another name.
    tools(
        path,
        &json!({"shop.one": {"echo": true}, "shop.two": {"returns": 2}}),
    );
    let (code, report, _) = resume(path, id, &[]);
    assert_eq!(code, Some(0));
    assert_eq!(calls(&report), ["a", "b", "b", "c"]);
}

/// mcp-cli cuts what it keeps to a thousand letters, and forgets after a second failure what came before the first.
#[test]
fn results_of_an_mcp_cli_plan_stay_whole_through_two_failures() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let step = |index: usize, tool: &str, args: Value, on: Value| {
        json!({"index": index, "title": format!("step {index}"), "tool": tool, "args": args,
               "depends_on": on, "result_variable": format!("r{index}")})
    };
    write(
        path,
        "plan.json",
        &json!({"title": "long", "steps": [
            step(1, "text", json!({}), json!([])),
            step(2, "list", json!({}), json!([])),
            step(3, "shaky", json!({"n": 3}), json!([1])),
            step(4, "shaky", json!({"n": 4, "text": "${r1}"}), json!([3])),
            step(5, "echo", json!({"text": "${r1}", "list": "${r2}", "both": "<${r1}>"}), json!([2, 4]))
        ]}),
    );
    let text = "long ".repeat(1000);
    let list: Vec<usize> = (0..2000).collect();
    let give = |shaky: Value| {
        tools(
            path,
            &json!({"text": {"returns": text}, "list": {"returns": list}, "echo": {"echo": true}, "shaky": shaky}),
        );
    };
    give(json!({"fails": "not yet"}));
    let (code, first) = run(path);
    assert_eq!(code, Some(1));
    let id = first["run"].as_str().unwrap();
    // The third step is fixed, the fourth is not: a second failure.
    give(json!({"cases": [{"when": {"n": 3}, "echo": true}, {"fails": "not yet"}]}));
    let (code, second, _) = resume(path, &id[..8], &[]);
    assert_eq!(code, Some(1));
    assert_eq!(second["steps"][2]["status"], "succeeded");
    give(json!({"echo": true}));
    let (code, third, _) = resume(path, id, &[]);
    assert_eq!(code, Some(0));
    assert_eq!(
        third["vars"]["r5"],
        json!({"text": text, "list": list, "both": format!("<{text}>")})
    );
    // Each of the first two was called once, in all three processes together.
    let called = calls(&third);
    for (step, times) in [("1", 1), ("2", 1), ("3", 2), ("4", 2), ("5", 1)] {
        let count = called.iter().filter(|call| **call == step).count();
        assert_eq!(count, times, "step {step}: {called:?}");
    }
    // To run the plan once more is another run, and not the rest of this one.
    let (_, other) = run(path);
    assert_ne!(other["run"], third["run"]);
    assert_eq!(calls(&other).len(), 5);
}

/// The disk is full in the middle: no file may grow beyond a size that a run of 300 large values does not fit into. The signal that the system
/// sends then must not end the process silently.
#[cfg(unix)]
#[test]
fn a_full_disk_ends_the_run_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let steps: Vec<Value> = (0..300)
        .map(|n| match n {
            0 => json!({"id": "s0", "tool": "give", "args": {"n": 0}}),
            _ => json!({"id": format!("s{n}"), "tool": "give", "args": {"n": n, "before": format!("${{s{}.n}}", n - 1)}}),
        })
        .collect();
    write(
        path,
        "plan.json",
        &json!({"steps": steps, "output": ["s299"]}),
    );
    let cases: Vec<Value> = (0..300)
        .map(|n| json!({"when": {"n": n}, "returns": {"n": n, "x": format!("{n}-").repeat(5000)}}))
        .collect();
    tools(
        path,
        &json!({"give": {"annotations": {"idempotentHint": true}, "cases": cases}}),
    );
    let program_path = env!("CARGO_BIN_EXE_planwright");
    let line = format!(
        "ulimit -f 4000; exec {program_path} run plan.json --simulate tools.json --store full.db --format json"
    );
    let output = std::process::Command::new("/bin/sh")
        .args(["-c", &line])
        .current_dir(path)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(
        stderr(&output).starts_with(
            "error: the run was ended, since it cannot be stored: the store `full.db` "
        ),
        "{}",
        stderr(&output)
    );
    let first = json_report(&output);
    assert_eq!(first["status"], "failed");
    let id = first["run"].as_str().unwrap();
    // With free space again, it resumes from the last stored entry.
    let (code, whole, _) = resume(path, id, &["--store", "full.db"]);
    assert_eq!(code, Some(0));
    let value = format!("{}-", 299).repeat(5000);
    assert_eq!(whole["output"]["s299"], json!({"n": 299, "x": value}));
    assert!(calls(&whole).len() <= 301);
}

#[test]
fn an_address_names_one_step() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    // The step `sub/w`, and the step `w` of the plan inside `sub`.
    let plan = json!({
        "steps": [
            {"id": "sub", "plan": {"steps": [
                {"id": "w", "tool": "two", "approval": true, "args": {"of": "inner"}}
            ]}},
            {"id": "sub/w", "tool": "two", "approval": true, "args": {"of": "outer"}},
            {"id": "x/y; z", "tool": "two", "approval": true, "args": {"of": "odd"}}
        ]
    });
    write(path, "plan.json", &plan);
    tools(path, &json!({"two": {"echo": true}}));
    let (code, waiting) = run(path);
    assert_eq!(code, Some(4));
    let id = waiting["run"].as_str().unwrap();
    for (named, argument) in [
        ("sub/w", "inner"),
        ("sub%2Fw", "outer"),
        ("x%2Fy; z", "odd"),
        // No other step can be meant.
        ("x/y; z", "odd"),
    ] {
        let shown = run_program(path, &["approve", id, named, "--show"]);
        assert!(
            stdout(&shown).contains(argument),
            "{named}: {}",
            stderr(&shown)
        );
    }
    let listed = stdout(&run_program(path, &["runs", "--status", "waiting"]));
    assert!(listed.contains("'x%2Fy; z'`"), "{listed}");
    assert!(
        crate::program::approve(path, id, "sub/w", &[])
            .status
            .success()
    );
    let (_, resumed, _) = resume(path, id, &["--skip", "sub%2Fw", "--set", "x/y; z=1"]);
    let steps = resumed["steps"].as_array().unwrap();
    let status = |step: &str| {
        let found = steps.iter().find(|found| found["id"] == step);
        found.map(|found| found["status"].clone())
    };
    assert_eq!(status("sub"), Some(json!("succeeded")));
    assert_eq!(status("sub/w"), Some(json!("skipped")));
    assert_eq!(status("x/y; z"), Some(json!("succeeded")));
}
