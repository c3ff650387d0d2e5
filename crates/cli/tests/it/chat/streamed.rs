//! Plans of a conversation run while the model writes them.

use serde_json::{Value, json};

use super::{calls, chat, kept, told};
use crate::planner::ChatContext;
use crate::planner::streamed::{desk, paced, plan, runs, unsound};
use crate::program::stderr;

/// A model that has a plan written as `answers`, and then says how it went.
fn answers(answers: &[Value]) -> Value {
    let wants = calls(&[("plan_create_and_execute", json!({"goal": "tell"}))]);
    let written = answers.iter().map(paced);
    let said = [json!("Well.")];
    std::iter::once(wants).chain(written).chain(said).collect()
}

/// What happened, in order: the steps that were called, and `planned` once the model was done with the plan.
fn events(desk: &ChatContext, answers: &Value, arguments: &[&str]) -> Vec<String> {
    let arguments = [&["Tell.", "--format", "events"], arguments].concat();
    let (data, _) = chat(desk, answers, &arguments, 0);
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
fn what_merely_reads_runs_while_the_plan_is_written() {
    let desk = desk(&json!({"echo": true}));
    let happened = events(&desk, &answers(&[plan()]), &[]);
    assert_eq!(happened[..2], ["began", "a"]);
    let grown = happened.iter().rposition(|what| what == "grew").unwrap();
    let at = |step: &str| happened.iter().position(|what| what == step).unwrap();
    assert!(at("a") < grown && grown < at("tell"), "{happened:?}");
    let outcome: Value = serde_json::from_str(&told(&desk)[0]).unwrap();
    assert_eq!(outcome["status"], "succeeded");
    assert_eq!(outcome["plan_id"], "plan-1");
    assert_eq!(outcome["run"], runs(&desk)[0]["id"]);
    assert_eq!(kept(&desk)["plans"]["plan-1"]["goal"], "tell");

    let happened = events(&desk, &answers(&[plan()]), &["--no-stream"]);
    assert!(!happened.contains(&"grew".to_owned()), "{happened:?}");
}

#[test]
fn a_person_sees_each_step() {
    let desk = desk(&json!({"echo": true}));
    for (keeping, header) in [
        (&["Tell."][..], "a plan that is still being written, run "),
        (
            &["Tell.", "--no-store"],
            "a plan that is still being written, run ",
        ),
        (&["Tell.", "--no-stream"], "plan-1: 4 steps, run "),
    ] {
        let (data, talk) = chat(&desk, &answers(&[plan()]), keeping, 0);
        assert_eq!(data, "Well.\n");
        for line in [header, "✓ a ", "✓ tell ", "✓ c "] {
            assert!(talk.contains(line), "{line}: {talk}");
        }
    }
}

#[test]
fn an_unsound_plan_has_changed_nothing() {
    let desk = desk(&json!({"echo": true}));
    let (_, talk) = chat(
        &desk,
        &answers(&[unsound(), json!("No."), unsound()]),
        &["Tell."],
        0,
    );
    for words in [
        "what was called by then merely reads: `a`",
        "the run cannot go on, since its plan was never whole",
    ] {
        assert!(talk.contains(words), "{words}: {talk}");
    }
    assert!(!talk.contains("✓ tell"), "{talk}");
    assert!(told(&desk)[0].starts_with("error: no sound plan was found"));
    assert_eq!(runs(&desk)[0]["status"], "cancelled");

    let mut other = plan();
    other["steps"][2]["args"] = json!({"at": "beta"});
    chat(&desk, &answers(&[unsound(), other]), &["Tell."], 0);
    let outcome: Value = serde_json::from_str(&told(&desk)[0]).unwrap();
    assert_eq!(outcome["status"], "succeeded");
}

#[test]
fn what_is_looked_at_is_not_streamed() {
    let desk = desk(&json!({"echo": true}));
    desk.write("answers.json", &answers(&[plan()]));
    for (with, words) in [
        (
            ["--approve", "plan"],
            "`--approve plan` asks about the whole of it first",
        ),
        (["--protocol", "acts"], "writes no plans to stream"),
    ] {
        let output = desk.run(&[&["chat", "Tell.", "--stream"], &with[..]].concat());
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains(words), "{}", stderr(&output));
    }
}
