//! Plans of a conversation run while the model writes them.

use serde_json::{Value, json};

use super::{calls, chat, stored_chat, tool_results};
use crate::planner::ModelFixture;
use crate::planner::streamed::{fixture, paced, plan, runs, unsound};
use crate::program::stderr;

/// A model that has a plan written as `answers`, and then says how it went.
fn answers(answers: &[Value]) -> Value {
    let wants = calls(&[("plan_create_and_execute", json!({"goal": "tell"}))]);
    let written = answers.iter().map(paced);
    let said = [json!("Well.")];
    std::iter::once(wants).chain(written).chain(said).collect()
}

/// Returns the events in order: the steps that were called, and `planned` once the plan is complete.
fn events(fixture: &ModelFixture, answers: &Value, arguments: &[&str]) -> Vec<String> {
    let arguments = [&["Tell.", "--format", "events"], arguments].concat();
    let (data, _) = chat(fixture, answers, &arguments, 0);
    let lines = data.lines().map(|line| serde_json::from_str(line).unwrap());
    let happened = lines.filter_map(|line: Value| {
        let of = &line["of"];
        match of["event"].as_str()? {
            "attempt_started" => of["step"].as_str().map(str::to_owned),
            "run_started" => Some("began".to_owned()),
            "plan_extended" => Some("grew".to_owned()),
            _ => None,
        }
    });
    happened.collect()
}

#[test]
fn reading_steps_run_while_the_plan_is_written() {
    let fixture = fixture(&json!({"echo": true}));
    let happened = events(&fixture, &answers(&[plan()]), &[]);
    assert_eq!(happened[..2], ["began", "a"]);
    let grown = happened.iter().rposition(|what| what == "grew").unwrap();
    let at = |step: &str| happened.iter().position(|what| what == step).unwrap();
    assert!(at("a") < grown && grown < at("tell"), "{happened:?}");
    let outcome: Value = serde_json::from_str(&tool_results(&fixture)[0]).unwrap();
    assert_eq!(outcome["status"], "succeeded");
    assert_eq!(outcome["plan_id"], "plan-1");
    assert_eq!(outcome["run"], runs(&fixture)[0]["id"]);
    assert_eq!(stored_chat(&fixture)["plans"]["plan-1"]["goal"], "tell");

    let happened = events(&fixture, &answers(&[plan()]), &["--no-stream"]);
    assert!(!happened.contains(&"grew".to_owned()), "{happened:?}");
}

#[test]
fn a_person_sees_each_step() {
    let fixture = fixture(&json!({"echo": true}));
    for (storage, header) in [
        (&["Tell."][..], "a plan that is still being written, run "),
        (
            &["Tell.", "--no-store"],
            "a plan that is still being written, run ",
        ),
        (&["Tell.", "--no-stream"], "plan-1: 4 steps, run "),
    ] {
        let (data, log) = chat(&fixture, &answers(&[plan()]), storage, 0);
        assert_eq!(data, "Well.\n");
        for line in [header, "✓ a ", "✓ tell ", "✓ c "] {
            assert!(log.contains(line), "{line}: {log}");
        }
    }
}

#[test]
fn an_unsound_plan_has_changed_nothing() {
    let fixture = fixture(&json!({"echo": true}));
    let (_, log) = chat(
        &fixture,
        &answers(&[unsound(), json!("No."), unsound()]),
        &["Tell."],
        0,
    );
    for words in [
        "the calls made before are read-only: `a`",
        "the run cannot be resumed, since its plan was never complete",
    ] {
        assert!(log.contains(words), "{words}: {log}");
    }
    assert!(!log.contains("✓ tell"), "{log}");
    assert!(tool_results(&fixture)[0].starts_with("error: no valid plan was written"));
    assert_eq!(runs(&fixture)[0]["status"], "cancelled");

    let mut other = plan();
    other["steps"][2]["args"] = json!({"at": "beta"});
    chat(&fixture, &answers(&[unsound(), other]), &["Tell."], 0);
    let outcome: Value = serde_json::from_str(&tool_results(&fixture)[0]).unwrap();
    assert_eq!(outcome["status"], "succeeded");
}

#[test]
fn a_conversation_that_has_read_untrusted_text_chooses_no_recipient() {
    let fixture = fixture(&json!({"echo": true}));
    let policy = "[flow]\nviolation = 'deny'\n";
    std::fs::write(fixture.path().join("planwright.toml"), policy).unwrap();
    let wants = || calls(&[("plan_create_and_execute", json!({"goal": "go"}))]);
    let look = json!({"steps": [{"id": "a", "tool": "look", "args": {"at": "alpha"}}]});
    // The text of an error is shown although the plan goes on and selects a number.
    let down =
        json!({"steps": [{"id": "a", "tool": "down", "on_error": "continue"}], "output": {"n": 1}});
    let tell = json!({"steps": [{"id": "b", "tool": "tell", "args": {"to": "a@b.c"}}]});
    let status = |result: &str| {
        let outcome: Option<Value> = serde_json::from_str(result).ok();
        outcome.map(|outcome| outcome["status"].as_str().unwrap().to_owned())
    };
    let succeeded = Some("succeeded".to_owned());
    for (stream, exposing) in [
        ("--stream", &look),
        ("--no-stream", &look),
        ("--no-stream", &down),
    ] {
        let answers = json!([
            wants(),
            paced(&tell),
            wants(),
            paced(exposing),
            wants(),
            paced(&tell),
            "Well."
        ]);
        chat(&fixture, &answers, &["Go.", "--tries", "1", stream], 0);
        let results = tool_results(&fixture);
        assert_eq!(status(&results[0]), succeeded, "{results:?}");
        assert_eq!(status(&results[1]), succeeded, "{results:?}");
        assert!(
            results[2].contains("no valid plan was written"),
            "{results:?}"
        );
    }
}

#[test]
fn options_that_prevent_streaming_are_refused() {
    let fixture = fixture(&json!({"echo": true}));
    fixture.write("answers.json", &answers(&[plan()]));
    for (with, words) in [
        (
            ["--approve", "plan"],
            "`--approve plan` needs the complete plan",
        ),
        (["--protocol", "acts"], "writes no plans to stream"),
    ] {
        let output = fixture.run(&[&["chat", "Tell.", "--stream"], &with[..]].concat());
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains(words), "{}", stderr(&output));
    }
}
