//! `planwright create`.

use std::fs;

use serde_json::{Value, json};

use super::ChatContext;
use crate::program::{planwright, stderr, stdout};

fn desk() -> ChatContext {
    ChatContext::new(&json!({
        "list_dogs": {"annotations": {"readOnlyHint": true}, "returns": ["Rex", "Ada"]},
        "greet": {"echo": true}
    }))
}

fn plan() -> Value {
    json!({"name": "dogs", "steps": [
        {"id": "dogs", "tool": "list_dogs"},
        {"id": "hello", "tool": "greet", "args": {"name": "${dogs[0]}"}}
    ], "output": ["hello"]})
}

#[test]
fn a_plan_is_written_where_it_is_wanted() {
    let desk = desk();
    desk.answers(&[plan()]);
    let shown = desk.run(&["create", "greet the first dog"]);
    assert_eq!(shown.status.code(), Some(0), "{}", stderr(&shown));
    let printed: Value = serde_json::from_str(&stdout(&shown)).unwrap();
    assert_eq!(printed["steps"][1]["args"], json!({"name": "${dogs[0]}"}));
    assert_eq!(printed["metadata"]["query"], "greet the first dog");

    let written = desk.run(&[
        "create",
        "greet the first dog",
        "--output",
        "plan.json",
        "--save",
        "dogs",
    ]);
    assert_eq!(written.status.code(), Some(0), "{}", stderr(&written));
    assert_eq!(stdout(&written), "");
    assert!(desk.path().join("plan.json").is_file());
    for plan in ["plan.json", "dogs"] {
        let report = desk.json(&["run", plan], 0);
        assert_eq!(
            report["output"],
            json!({"hello": {"name": "Rex"}}),
            "{plan}"
        );
    }

    let again = desk.run(&["create", "greet the first dog", "--output", "plan.json"]);
    assert_eq!(again.status.code(), Some(2));
    assert!(stderr(&again).contains("`plan.json` is there already"));
}

#[test]
fn every_answer_is_accounted_for() {
    let desk = desk();
    let unknown = json!({"steps": [{"id": "a", "tool": "cats"}]});
    desk.answers(&[json!("no plan at all"), unknown.clone(), plan()]);
    let created = desk.json(&["create", "greet"], 0);
    assert_eq!(created["schema"], "planwright.created/1");
    assert_eq!(created["model_calls"], 3);
    let codes: Vec<&Value> = created["attempts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|attempt| &attempt["diagnostics"][0]["code"])
        .collect();
    assert_eq!(
        codes,
        ["PW0001", "PW0201"]
            .map(Value::from)
            .iter()
            .chain([&Value::Null])
            .collect::<Vec<_>>()
    );

    desk.answers(&[unknown]);
    let given_up = desk.json(&["create", "greet", "--tries", "1"], 3);
    assert_eq!(given_up["plan"], Value::Null);

    desk.answers(&[json!("nothing")]);
    let ended = desk.json(&["create", "greet"], 1);
    assert_eq!(ended["model_calls"], 1);
    assert_eq!(
        ended["error"]["message"],
        "the script has one answer, and a second was asked for"
    );
}

#[test]
fn what_was_written_once_is_found_again() {
    let desk = desk();
    desk.answers(&[plan()]);
    let first = desk.json(&["create", "greet", "--cache"], 0);
    assert_eq!(
        (&first["cached"], &first["model_calls"]),
        (&json!(false), &json!(1))
    );
    desk.answers(&[]);
    let second = desk.json(&["create", "greet", "--cache"], 0);
    assert_eq!(
        (&second["cached"], &second["model_calls"]),
        (&json!(true), &json!(0))
    );
    assert_eq!(first["plan"], second["plan"]);
    // Another goal, or other tools, make another plan.
    desk.json(&["create", "greet twice", "--cache"], 1);
    desk.write("tools.json", &json!({"tools": {"greet": {"echo": true}}}));
    desk.json(&["create", "greet", "--cache"], 1);
}

#[test]
fn what_is_known_goes_into_the_prompt() {
    let desk = desk();
    desk.write(
        "memory.json",
        &json!({"semantic": [{"text": "Rex bites", "score": 1}], "entities": ["dog:Rex"]}),
    );
    desk.write(
        "state.json",
        &json!({"type": "object", "properties": {"greeting": {"type": "string"}}}),
    );
    let shown = desk.run(&[
        "create",
        "greet it yesterday",
        "--now",
        "2025-10-12T09:00:00Z",
        "--tz",
        "UTC",
        "--show-prompt",
        "--context",
        "memory.json",
        "--state",
        "state.json",
    ]);
    let prompt = stdout(&shown);
    for told in [
        "Rex bites",
        "dog:Rex",
        "state.greeting",
        "list_dogs",
        "greet it yesterday",
        "Today is 2025-10-12 (Sunday), UTC.",
        "\"yesterday\": from 2025-10-11 to 2025-10-11",
    ] {
        assert!(prompt.contains(told), "{told}: {prompt}");
    }
}

#[test]
fn what_cannot_be_used_is_named() {
    let desk = desk();
    desk.answers(&[plan()]);
    fs::write(desk.path().join("broken.json"), "{").unwrap();
    desk.write("list.json", &json!([]));
    let cases: &[(&[&str], &str)] = &[
        (&["--context", "broken.json"], "`broken.json` is not JSON"),
        (
            &["--context", "list.json"],
            "what is remembered must be an object, found list",
        ),
        (&["--state", "list.json"], "`list.json` describes no state"),
        (&["--context", "none.json"], "cannot read `none.json`"),
        (&["--tries", "0"], "it must be a whole number from 1 on"),
    ];
    for (arguments, expected) in cases {
        let output = desk.run(&[&["create", "greet"], *arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let said = stderr(&output);
        assert!(said.contains(expected), "{arguments:?}: {said}");
        assert_eq!(stdout(&output), "");
    }
    fs::write(desk.path().join("answers.json"), "{}").unwrap();
    let output = desk.run(&["create", "greet"]);
    assert!(
        stderr(&output).contains("`answers.json` is no script of answers"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn without_a_model_it_is_said_what_to_set() {
    let desk = desk();
    let mut command = planwright(desk.path());
    command.args(["create", "greet", "--simulate", "tools.json"]);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("--model"), "{}", stderr(&output));
}
