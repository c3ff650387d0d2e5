//! `run --replan` and `run --repair`: a failed run continues with a revised plan.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::{Value, json};

use super::ModelFixture;
use crate::program::{planwright, stderr, stdout};

fn fixture() -> ModelFixture {
    let fixture = ModelFixture::new(&json!({
        "find": {"annotations": {"readOnlyHint": true}, "returns": {"ids": [1, 2]}},
        "charge": {"echo": true},
        "pay": {"fails": {"code": "card_declined", "message": "Your card was declined."}},
        "invoice": {"echo": true},
        "book": {"cases": [
            {"when": {"nights": 2}, "returns": "booked"},
            {"fails": {"code": "bad", "message": "nights must be a number"}}
        ]}
    }));
    fixture.write(
        "plan.json",
        &json!({"name": "order", "title": "Pay all orders", "steps": [
        {"id": "orders", "tool": "find"},
        {"id": "fee", "tool": "charge", "args": {"order": "${orders.ids[1]}"}},
        {"id": "paid", "tool": "pay", "args": {"order": "${orders.ids[0]}"}, "after": ["fee"]},
        {"id": "notice", "tool": "invoice", "args": {"of": "${paid}"}}
    ], "output": ["notice"]}),
    );
    fixture.write(
        "trip.json",
        &json!({"steps": [
            {"id": "room", "tool": "book", "args": {"nights": "two"}},
            {"id": "notice", "tool": "invoice", "args": {"of": "${room}"}}
        ]}),
    );
    fixture
}

/// A different way to the end of `plan.json`.
fn by_invoice() -> Value {
    json!({"steps": [{"id": "notice", "tool": "invoice", "args": {"of": "${orders.ids}"}}]})
}

/// The steps that were called, in order.
fn called(report: &Value) -> Vec<&str> {
    let calls = report["calls"].as_array().unwrap().iter();
    calls.map(|call| call["step"].as_str().unwrap()).collect()
}

#[test]
fn completed_steps_stay_completed() {
    let fixture = fixture();
    for storage in [&[][..], &["--no-store"]] {
        fixture.answers(&[by_invoice()]);
        let report = fixture.json(
            &[&["run", "plan.json", "--replan", "1"], storage].concat(),
            0,
        );
        assert_eq!(report["status"], "succeeded");
        assert_eq!(report["output"], json!({"notice": {"of": [1, 2]}}));
        assert_eq!(report["replanned"], true);
        assert_eq!(report["revisions"][0]["step"], "paid");
        let ids: Vec<&str> = report["steps"]
            .as_array()
            .unwrap()
            .iter()
            .map(|step| step["id"].as_str().unwrap())
            .collect();
        assert_eq!(ids, ["orders", "fee", "notice"]);
        let calls = called(&report);
        assert_eq!(
            calls.iter().filter(|step| **step == "fee").count(),
            1,
            "{calls:?}"
        );
    }
}

#[test]
fn every_revision_is_kept() {
    let fixture = fixture();
    fixture.answers(&[by_invoice()]);
    let report = fixture.json(&["run", "plan.json", "--replan", "1"], 0);
    let run = report["run"].as_str().unwrap();
    let output_of = |arguments: &[&str]| {
        let output = planwright(fixture.path()).args(arguments).output().unwrap();
        assert_eq!(
            output.status.code(),
            Some(0),
            "{arguments:?}: {}",
            stderr(&output)
        );
        stdout(&output)
    };
    output_of(&["replay", run]);
    let runs: Value = serde_json::from_str(&output_of(&["runs", "--format", "json"])).unwrap();
    let listed = &runs["runs"][0];
    assert_eq!(
        (&listed["steps"], &listed["done"]),
        (&json!(3), &json!(3)),
        "{runs}"
    );
    let now = output_of(&["show", run]);
    assert!(
        now.contains("plan 2 of 2: replanned") && !now.contains("paid  "),
        "{now}"
    );
    let before = output_of(&["show", run, "--revision", "1"]);
    assert!(before.contains("Your card was declined."), "{before}");
    let logs = output_of(&["logs", run]);
    assert!(
        logs.contains("replanned by replay:answers.json, since `paid` failed"),
        "{logs}"
    );
    let none = planwright(fixture.path())
        .args(["show", run, "--revision", "3"])
        .output()
        .unwrap();
    assert_eq!(none.status.code(), Some(2));
    assert!(stderr(&none).contains("it had 2 plans"));
}

#[test]
fn a_run_killed_in_its_second_plan_goes_on_with_that() {
    let fixture = fixture();
    fixture.write(
        "tools.json",
        &json!({"tools": {
            "find": {"annotations": {"readOnlyHint": true}, "returns": {"ids": [1, 2]}},
            "charge": {"echo": true},
            "pay": {"fails": {"code": "card_declined", "message": "Your card was declined."}},
            "invoice": {"echo": true},
            "look": {"annotations": {"readOnlyHint": true}, "sleep_ms": 600_000, "returns": 1}
        }}),
    );
    fixture.answers(&[json!({"steps": [
        {"id": "bill", "tool": "invoice", "args": {"of": "${orders.ids}"}},
        {"id": "looked", "tool": "look", "after": ["bill"]},
        {"id": "notice", "tool": "invoice", "args": {"of": "${bill}"}, "after": ["looked"]}
    ]})]);
    let arguments = ["run", "plan.json", "--replan", "1", "--format", "events"];
    let mut child = fixture
        .command(&arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut run = String::new();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let event: Value = serde_json::from_str(&line.unwrap()).unwrap();
        if event["event"] == "run_started" {
            event["run"].as_str().unwrap().clone_into(&mut run);
        }
        if event["event"] == "step_started" && event["step"] == "looked" {
            // A call that merely reads does not wait until the answer before it is kept.
            while !is_stored(&fixture, &run, "bill") {}
            child.kill().unwrap();
            break;
        }
    }
    child.wait().unwrap();
    let output = planwright(fixture.path())
        .args(["resume", &run, "--set", "looked=1", "--format", "json"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let report: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(report["output"], json!({"notice": {"of": {"of": [1, 2]}}}));
    let calls = called(&report);
    for once in ["orders", "fee", "paid", "bill", "notice"] {
        let count = calls.iter().filter(|step| **step == once).count();
        assert_eq!(count, 1, "{once}: {calls:?}");
    }
    assert_eq!(report["replanned"], true, "{report:#}");
}

/// Returns true if the store has the success of the call of `step`.
fn is_stored(fixture: &ModelFixture, run: &str, step: &str) -> bool {
    let arguments = ["logs", run, "--format", "json"];
    let output = planwright(fixture.path()).args(arguments).output().unwrap();
    let log: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let mut lines = log["lines"].as_array().unwrap().iter();
    lines.any(|line| line["address"] == step && line["status"] == "succeeded")
}

#[test]
fn a_resume_may_let_a_model_write_another_plan() {
    let fixture = fixture();
    let report = fixture.json(&["run", "plan.json"], 1);
    let run = report["run"].as_str().unwrap();
    fixture.answers(&[by_invoice()]);
    let report = fixture.json(&["resume", run, "--replan", "1"], 0);
    assert_eq!(report["output"], json!({"notice": {"of": [1, 2]}}));
    assert_eq!(report["replanned"], true);
    let calls = called(&report);
    assert_eq!(calls, ["orders", "fee", "paid", "paid", "notice"]);
}

#[test]
fn a_revised_plan_knows_the_labels_of_kept_results() {
    let fixture = ModelFixture::new(&json!({
        "one": {"annotations": {"readOnlyHint": true}, "echo": true},
        "pay": {"fails": {"code": "card_declined", "message": "Your card was declined."}},
        "mail": {"echo": true},
    }));
    let settings = fixture.path().join(".config/planwright");
    fs::create_dir_all(&settings).unwrap();
    let policy = "[flow]\ntrusted = ['one']\nplanner = 'exposed'\n";
    fs::write(settings.join("planwright.toml"), policy).unwrap();
    let plan = |n: u32| {
        json!({"steps": [
            {"id": "a", "tool": "one", "args": {"n": n}},
            {"id": "b", "tool": "one", "args": {"of": "${a.n}"}},
            {"id": "c", "tool": "pay", "args": {"of": "${b.of}"}},
        ]})
    };
    fixture.write("plan.json", &plan(1));
    fixture.write("new.json", &plan(2));
    fixture.answers(&[json!({"steps": [
        {"id": "notice", "tool": "mail", "args": {"to": "${b.of}"}},
    ]})]);
    for (keep, exit, verdict, is_sent) in [
        (&["--keep", "b"][..], 4, "asks", false),
        (&[], 0, "clean", true),
    ] {
        let report = fixture.json(&["run", "plan.json"], 1);
        let run = report["run"].as_str().unwrap();
        let more = [
            &["resume", run, "--plan", "new.json", "--replan", "1"],
            keep,
        ]
        .concat();
        let report = fixture.json(&more, exit);
        assert_eq!(report["replanned"], true);
        assert_eq!(report["flow"]["verdict"], verdict, "{report}");
        assert_eq!(called(&report).contains(&"notice"), is_sent, "{report}");
    }
}

#[test]
fn it_is_bounded_and_explained() {
    let fixture = fixture();
    let again = json!({"steps": [{"id": "other", "tool": "pay", "args": {"order": 3}}], "output": ["other"]});
    fixture.answers(&[again.clone(), again]);
    let report = fixture.json(&["run", "plan.json", "--replan", "1"], 1);
    assert_eq!(report["status"], "failed");
    assert_eq!(report["revisions"].as_array().unwrap().len(), 1);
}

#[test]
fn the_budget_is_that_of_the_whole_run() {
    let fixture = fixture();
    for (max_calls, status) in [("3", 1), ("4", 0)] {
        fixture.answers(&[by_invoice()]);
        let report = fixture.json(
            &[
                "run",
                "plan.json",
                "--replan",
                "1",
                "--max-calls",
                max_calls,
            ],
            status,
        );
        // The report retains the calls of a step that the revised plan removed.
        assert_eq!(called(&report)[..3], ["orders", "fee", "paid"], "{report}");
    }
}

#[test]
fn an_unsound_revision_runs_nothing() {
    let fixture = fixture();
    let cases: &[(Value, &str)] = &[
        (json!("I give up"), "the reply contains no steps"),
        (
            json!({"steps": [{"id": "x", "tool": "delete_everything"}]}),
            "there is no tool `delete_everything`",
        ),
        (
            json!({"steps": [{"id": "x", "tool": "invoice", "args": {"of": "${nowhere}"}}]}),
            "`nowhere`",
        ),
    ];
    for (answer, expected) in cases {
        fixture.answers(&[answer.clone(), answer.clone(), answer.clone()]);
        let output = fixture.run(&["run", "plan.json", "--replan", "2", "--format", "json"]);
        assert_eq!(output.status.code(), Some(1));
        let report: Value = serde_json::from_str(&stdout(&output)).unwrap();
        assert_eq!(called(&report), ["orders", "fee", "paid"]);
        assert!(
            stderr(&output).contains(expected),
            "{expected}: {}",
            stderr(&output)
        );
    }
}

#[test]
fn a_done_step_is_never_called_again() {
    let fixture = fixture();
    // The model writes a done step once more, otherwise: it stays as it was.
    let again = json!({"steps": [
        {"id": "fee", "tool": "charge", "args": {"order": 9}},
        {"id": "notice", "tool": "invoice", "args": {"of": "${fee}"}}
    ]});
    fixture.answers(&[again]);
    let report = fixture.json(&["run", "plan.json", "--replan", "1"], 0);
    assert_eq!(report["output"], json!({"notice": {"of": {"order": 2}}}));
    assert_eq!(
        called(&report)
            .iter()
            .filter(|step| **step == "fee")
            .count(),
        1
    );
}

#[test]
fn refused_arguments_are_corrected_once() {
    let fixture = fixture();
    fixture.answers(&[json!({"args": {"nights": 2}})]);
    let report = fixture.json(&["run", "trip.json", "--repair"], 0);
    assert_eq!(report["output"]["notice"], json!({"of": "booked"}));
    assert_eq!(report["revisions"][0]["kind"], "repaired");
    assert_eq!(report["replanned"], Value::Null);
    for answer in [
        json!({"args": {"nights": 3}}),
        json!({"args": null}),
        json!("no"),
    ] {
        fixture.answers(&[answer]);
        let report = fixture.json(&["run", "trip.json", "--repair"], 1);
        assert_eq!(report["status"], "failed");
    }
}

#[test]
fn a_model_that_fails_leaves_the_run_as_it_is() {
    let fixture = fixture();
    fixture.answers(&[]);
    let output = fixture.run(&["run", "plan.json", "--replan", "1"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("the plan was not revised: "),
        "{}",
        stderr(&output)
    );
}

/// Runs `steps`, one of them failing, with a model that wants to pay again; returns the report and the messages.
fn would_pay_again(steps: &Value, exit: i32) -> (Value, String) {
    let fixture = ModelFixture::new(&json!({
        "find": {"annotations": {"readOnlyHint": true}, "returns": {"ids": [1, 2]}},
        "look": {"annotations": {"readOnlyHint": true}, "sleep_ms": 600_000, "returns": 1},
        "pay": {"cases": [
            {"when": {"order": 2}, "fails": {"code": "declined", "message": "declined"}},
            {"when": {"order": 3}, "sleep_ms": 600_000, "returns": "paid"},
            {"returns": "paid"}
        ]}
    }));
    fixture.write("plan.json", &json!({"title": "Pay", "steps": steps}));
    let again = json!({"steps": [{"id": "again", "tool": "pay", "args": {"order": 4}}]});
    fixture.answers(&[again]);
    let output = fixture.run(&["run", "plan.json", "--replan", "1", "--format", "json"]);
    assert_eq!(output.status.code(), Some(exit), "{}", stderr(&output));
    let report = serde_json::from_str(&stdout(&output)).unwrap();
    (report, stderr(&output))
}

#[test]
fn calls_with_unknown_outcomes_are_not_repeated() {
    let cases = [
        (
            json!([{"id": "paid", "tool": "pay", "args": {"order": 3}, "timeout": "50ms"}]),
            "`paid` is not done, and its call of `pay` may have been made: no answer came; no revised plan was requested",
            "with `--retry paid`, `--skip paid` or `--set paid=VALUE`",
        ),
        (
            json!([{"id": "each", "tool": "pay", "for_each": [1, 2], "args": {"order": "${item}"}}]),
            "`each[0]` is not done, and its call of `pay` was made; no revised plan was requested",
            "completed steps are not repeated",
        ),
        (
            json!([{"id": "both", "plan": {"steps": [
                {"id": "one", "tool": "pay", "args": {"order": 1}},
                {"id": "two", "tool": "pay", "args": {"order": 2}, "after": ["one"]}
            ]}}]),
            "`both/one` is not done, and its call of `pay` was made; no revised plan was requested",
            "completed steps are not repeated",
        ),
        (
            json!([
                {"id": "maybe", "tool": "pay", "args": {"order": 3}, "timeout": "50ms", "on_error": "continue"},
                {"id": "other", "tool": "pay", "args": {"order": 2}, "after": ["maybe"]}
            ]),
            "its call of `pay` may have been made: no answer came; the new plan, which would forget that, does not run",
            "--set maybe=VALUE",
        ),
    ];
    for (steps, message, advice) in cases {
        let (report, log) = would_pay_again(&steps, 1);
        assert!(log.contains(message) && log.contains(advice), "{log}");
        assert_eq!(report["replanned"], Value::Null, "{report:#}");
        assert!(!called(&report).contains(&"again"), "{report:#}");
    }
}

#[test]
fn repeatable_calls_hold_nothing_up() {
    let cases = [
        json!([{"id": "looked", "tool": "look", "timeout": "50ms"}]),
        json!([{"id": "paid", "tool": "pay", "args": {"order": 2}}]),
        json!([{"id": "each", "tool": "pay", "for_each": [2, 2], "args": {"order": "${item}"}}]),
    ];
    for steps in cases {
        let (report, log) = would_pay_again(&steps, 0);
        assert_eq!(report["replanned"], true, "{log}");
        assert_eq!(called(&report).last(), Some(&"again"));
    }
}
