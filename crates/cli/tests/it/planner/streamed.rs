//! `ask` runs its plan while the model writes it.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::{Value, json};

use super::ModelFixture;
use crate::program::{planwright, stderr, stdout};

/// The speed of the model in tokens per second; a token is four letters.
const PACE: f64 = 500.0;

/// `look` merely reads, `tell` changes something.
pub(crate) fn fixture(tell: &Value) -> ModelFixture {
    let fixture = ModelFixture::new(&json!({}));
    tools(&fixture, tell);
    fixture
}

pub(super) fn tools(fixture: &ModelFixture, tell: &Value) {
    let reads = json!({"readOnlyHint": true});
    fixture.write(
        "tools.json",
        &json!({"tools": {
            "look": {"echo": true, "annotations": reads},
            "down": {"fails": {"code": "down", "message": "no weather today"}, "annotations": reads},
            "tell": tell
        }}),
    );
}

/// The model writes these answers in its own time.
pub(crate) fn written(fixture: &ModelFixture, answers: &[Value]) {
    let answers: Vec<Value> = answers.iter().map(paced).collect();
    fixture.write("answers.json", &json!(answers));
}

/// An answer that takes its time.
pub(crate) fn paced(answer: &Value) -> Value {
    let text = match answer {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    json!({"text": text, "tokens_per_second": PACE})
}

/// A lookup, a notification, and more lookups.
pub(crate) fn plan() -> Value {
    json!({"steps": [
        {"id": "a", "tool": "look", "args": {"at": "alpha"}},
        {"id": "tell", "tool": "tell", "args": {"text": "${a.at}"}},
        {"id": "b", "tool": "look", "args": {"at": "${a.at}"}},
        {"id": "c", "tool": "look", "args": {"at": "something that takes its time to be written down"}}
    ]})
}

/// The same with a step that no tool can do.
pub(crate) fn unsound() -> Value {
    let mut plan = plan();
    let steps = plan["steps"].as_array_mut().unwrap();
    steps.push(json!({"id": "no", "tool": "launch_rocket", "args": {}}));
    plan
}

/// A plan that takes the model minutes to write, the most of it behind the steps.
pub(crate) fn endless() -> Value {
    let plan = plan().to_string();
    let beginning = plan.strip_suffix('}').unwrap();
    json!(format!(
        "{beginning}, \"title\": \"{}\"}}",
        "x".repeat(500_000)
    ))
}

/// The addresses of calls.
fn called<'a>(calls: &'a Value, field: &str) -> Vec<&'a str> {
    let calls = calls.as_array().unwrap().iter();
    calls.map(|call| call[field].as_str().unwrap()).collect()
}

/// Returns the stored runs, the newest first.
pub(crate) fn runs(fixture: &ModelFixture) -> Vec<Value> {
    let (data, _) = run_program(fixture, &["runs", "--format", "json"], 0);
    let runs: Value = serde_json::from_str(&data).unwrap();
    runs["runs"].as_array().unwrap().clone()
}

/// Runs a command, which must exit with `exit`. Returns its standard output and standard error.
pub(super) fn run_program(
    fixture: &ModelFixture,
    arguments: &[&str],
    exit: i32,
) -> (String, String) {
    let output = planwright(fixture.path()).args(arguments).output().unwrap();
    let (data, log) = (stdout(&output), stderr(&output));
    assert_eq!(output.status.code(), Some(exit), "{arguments:?}: {log}");
    (data, log)
}

#[test]
fn reading_steps_run_while_the_plan_is_written() {
    let fixture = fixture(&json!({"echo": true}));
    for arguments in [
        &["ask", "tell"][..],
        &["ask", "tell", "--stream"],
        &["ask", "tell", "--no-store"],
    ] {
        written(&fixture, &[plan(), json!("Sent [tell].")]);
        let answer = fixture.json(arguments, 0);
        assert_eq!(answer["answer"], "Sent [tell].");
        assert_eq!(answer["run"]["status"], "succeeded");
        let streamed = &answer["streamed"];
        let first = streamed["first_call_at"].as_f64().unwrap();
        assert!(first < 0.9, "{first}");
        assert_eq!(streamed["abandoned"], Value::Null);
        let early = streamed["early"].as_array().unwrap();
        assert_eq!(early[0]["address"], "a");
        assert!(early.iter().all(|call| call["counts"] == true));
        let early = called(&streamed["early"], "address");
        assert!(!early.contains(&"tell"), "{early:?}");
        let mut calls = called(&answer["run"]["calls"], "step");
        assert_eq!(calls[..early.len()], early);
        calls.sort_unstable();
        assert_eq!(calls, ["a", "b", "c", "tell"]);
    }
}

#[test]
fn a_plan_in_lines_runs_while_it_is_written() {
    let fixture = fixture(&json!({"echo": true}));
    let plan = "a = look(at=\"alpha\")\nsent = tell(text=${a.at})\n\
        b = look(at=\"something that takes its time to be written down\")\nreturn [\"sent\"]";
    written(&fixture, &[json!(plan), json!("Read [sent].")]);
    let answer = fixture.json(&["ask", "tell", "--notation", "lines"], 0);
    assert_eq!(
        answer["run"]["output"]["sent"]["text"], "alpha",
        "{answer:#}"
    );
    assert_eq!(answer["streamed"]["early"][0]["address"], "a");
    let run = answer["run"]["run"].as_str().unwrap();
    run_program(&fixture, &["replay", run], 0);
}

#[test]
fn the_plan_is_written_first_where_that_is_wished() {
    let fixture = fixture(&json!({"echo": true}));
    written(&fixture, &[plan(), json!("Sent [tell].")]);
    let answer = fixture.json(&["ask", "tell", "--no-stream"], 0);
    assert_eq!(answer["streamed"], Value::Null);
    assert_eq!(answer["run"]["status"], "succeeded");

    let both = ["ask", "tell", "--stream", "--approve", "plan"];
    let output = fixture.run(&both);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("`--approve plan` needs the complete plan"),
        "{}",
        stderr(&output)
    );
    written(&fixture, &[plan()]);
    let digest = format!("plan:{}", "0".repeat(16));
    let output = fixture.run(&["ask", "tell", "--approve", &digest]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("the plan is not the one that was approved"),
        "{}",
        stderr(&output)
    );
    assert_eq!(runs(&fixture).len(), 1);
}

#[test]
fn another_process_cancels_the_run_once_its_plan_is_stored() {
    let fixture = fixture(&json!({"sleep_ms": 600_000}));
    written(&fixture, &[plan()]);
    let mut child = fixture
        .command(&["ask", "tell", "--stream", "--format", "events"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut ended = None;
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let event: Value = serde_json::from_str(&line.unwrap()).unwrap();
        if event["event"] == "attempt_started" && event["tool"] == "tell" {
            run_program(&fixture, &["cancel", "last"], 0);
        }
        if event["event"] == "run_ended" {
            ended = Some(event["status"].clone());
        }
    }
    assert_eq!(ended, Some(json!("cancelled")));
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[test]
fn of_an_unsound_plan_only_what_reads_has_run() {
    let fixture = fixture(&json!({"echo": true}));
    written(&fixture, &[unsound(), json!("I cannot."), unsound()]);
    let answer = fixture.json(&["ask", "tell"], 3);
    assert_eq!(
        (&answer["answer"], &answer["run"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(answer["created"]["model_calls"], 3);
    let streamed = &answer["streamed"];
    let early = streamed["early"].as_array().unwrap();
    assert!(early.iter().all(|call| call["counts"] == false));
    let early = called(&streamed["early"], "address");
    assert!(early.contains(&"a") && !early.contains(&"tell"));
    assert_eq!(streamed["abandoned"]["status"], "cancelled");
    assert_eq!(called(&streamed["abandoned"]["calls"], "step"), early);

    // The run can be shown but not resumed: its plan was never complete.
    let run = streamed["abandoned"]["run"].as_str().unwrap();
    assert!(run_program(&fixture, &["runs"], 0).0.contains("cancelled"));
    for command in ["show", "logs", "replay"] {
        assert_ne!(run_program(&fixture, &[command, run], 0).0, "");
    }
    let (_, log) = run_program(&fixture, &["resume", run], 2);
    assert!(log.contains("its plan was never complete"), "{log}");
    fixture.write("plan.json", &plan());
    let (data, _) = run_program(
        &fixture,
        &["resume", run, "--plan", "plan.json", "--format", "json"],
        0,
    );
    let report: Value = serde_json::from_str(&data).unwrap();
    assert_eq!(report["status"], "succeeded");

    written(&fixture, &[unsound(), json!("I cannot."), unsound()]);
    let output = fixture.run(&["ask", "tell"]);
    assert_eq!(
        (output.status.code(), stdout(&output)),
        (Some(3), String::new())
    );
    let log = stderr(&output);
    for words in [
        "the calls made before are read-only: `a`",
        "there is no tool `launch_rocket`",
        "no reply was a valid plan",
        "the run cannot be resumed, since its plan was never complete",
    ] {
        assert!(log.contains(words), "{words}: {log}");
    }
}

#[test]
fn a_sound_plan_after_an_unsound_one_goes_on_with_the_same_run() {
    let fixture = fixture(&json!({"echo": true}));
    for storage in [&[][..], &["--no-store"]] {
        let mut other = plan();
        other["steps"][2]["args"] = json!({"at": "beta"});
        written(&fixture, &[unsound(), other, json!("Sent.")]);
        let answer = fixture.json(&[&["ask", "tell"], storage].concat(), 0);
        assert_eq!(answer["run"]["status"], "succeeded");
        let streamed = &answer["streamed"];
        assert_eq!(streamed["early"][0]["address"], "a");
        assert_eq!(streamed["early"][0]["counts"], true);
        assert_eq!(streamed["abandoned"]["run"], answer["run"]["run"]);
        let calls = called(&answer["run"]["calls"], "step");
        assert_eq!(calls.iter().filter(|step| **step == "a").count(), 1);
        if storage.is_empty() {
            let run = answer["run"]["run"].as_str().unwrap();
            run_program(&fixture, &["replay", run], 0);
            let (shown, _) = run_program(&fixture, &["show", run], 0);
            let change = "plan 2 of 2: the previous one ran while it was written, and was replaced";
            assert!(shown.contains(change), "{shown}");
            let (begun, _) = run_program(&fixture, &["show", run, "--revision", "1"], 0);
            assert!(!begun.contains("plan 2"), "{begun}");
            let (_, log) = run_program(&fixture, &["show", run, "--revision", "3"], 2);
            assert!(log.contains("it had 2 plans"), "{log}");
        }
    }
}

#[test]
fn a_streamed_run_that_fails_goes_another_way() {
    let fixture = fixture(&json!({"echo": true}));
    let mut failing = plan();
    failing["steps"][2]["tool"] = json!("down");
    let other = json!({"steps": [{"id": "d", "tool": "look", "args": {"at": "${tell.text}"}}], "output": ["d"]});
    for storage in [&[][..], &["--no-store"]] {
        written(
            &fixture,
            &[failing.clone(), other.clone(), json!("Sent [d].")],
        );
        let answer = fixture.json(&[&["ask", "tell"], storage].concat(), 0);
        assert_eq!(answer["run"]["replanned"], true);
        assert_eq!(answer["run"]["revisions"][0]["step"], "b");
        assert_eq!(answer["rests_on"], json!(["d"]));
        let calls = called(&answer["run"]["calls"], "step");
        for step in ["a", "tell", "d"] {
            let count = calls.iter().filter(|called| **called == step).count();
            assert_eq!(count, 1, "{step}: {calls:?}");
        }
        if storage.is_empty() {
            let run = answer["run"]["run"].as_str().unwrap();
            run_program(&fixture, &["replay", run], 0);
        }
    }
}

#[test]
fn a_plan_that_is_to_be_shown_runs_nothing() {
    let fixture = fixture(&json!({"echo": true}));
    let shown = json!({"mode": "show", "steps": plan()["steps"]});
    for stream in ["--stream", "--no-stream"] {
        written(&fixture, std::slice::from_ref(&shown));
        let output = fixture.run(&["ask", "tell", stream]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert!(stderr(&output).contains("it is only to be shown, so it is not run"));
        assert_eq!(runs(&fixture), [] as [Value; 0]);
    }
}

#[test]
fn values_from_outside_are_there_when_the_plan_is() {
    let fixture = fixture(&json!({"echo": true}));
    let settings = fixture.path().join(".config/planwright");
    std::fs::create_dir_all(&settings).unwrap();
    let rules = "[env]\nDOOR_CODE = ['tell']\nOTHER_CODE = ['tell']\n";
    std::fs::write(settings.join("planwright.toml"), rules).unwrap();
    let ask = |name: &str| {
        let mut plan = plan();
        plan["steps"][1]["args"]["text"] = json!(format!("${{env.{name}}}"));
        plan["output"] = json!(["tell"]);
        written(&fixture, &[plan, json!("Sent.")]);
        let mut command = planwright(fixture.path());
        command.env("DOOR_CODE", "open sesame").args([
            "ask",
            "tell",
            "--simulate",
            "tools.json",
            "--model",
            "replay:answers.json",
            "--format",
            "json",
        ]);
        command.output().unwrap()
    };
    let output = ask("DOOR_CODE");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let answer: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(answer["run"]["output"]["tell"]["text"], "[redacted]");
    assert_eq!(answer["streamed"]["early"][0]["address"], "a");
    run_program(
        &fixture,
        &["replay", answer["run"]["run"].as_str().unwrap()],
        0,
    );

    let output = ask("OTHER_CODE");
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("the variable `OTHER_CODE` is not set"),
        "{}",
        stderr(&output)
    );
}
