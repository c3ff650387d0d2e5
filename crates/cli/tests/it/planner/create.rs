//! `planwright create`.

use std::fs;

use serde_json::{Value, json};

use super::ModelFixture;
use crate::program::{planwright, stderr, stdout};

fn fixture() -> ModelFixture {
    ModelFixture::new(&json!({
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
    let fixture = fixture();
    fixture.answers(&[plan()]);
    let shown = fixture.run(&["create", "greet the first dog"]);
    assert_eq!(shown.status.code(), Some(0), "{}", stderr(&shown));
    let printed: Value = serde_json::from_str(&stdout(&shown)).unwrap();
    assert_eq!(printed["steps"][1]["args"], json!({"name": "${dogs[0]}"}));
    assert_eq!(printed["metadata"]["query"], "greet the first dog");

    let written = fixture.run(&[
        "create",
        "greet the first dog",
        "--output",
        "plan.json",
        "--save",
        "dogs",
    ]);
    assert_eq!(written.status.code(), Some(0), "{}", stderr(&written));
    assert_eq!(stdout(&written), "");
    assert!(fixture.path().join("plan.json").is_file());
    for plan in ["plan.json", "dogs"] {
        let report = fixture.json(&["run", plan], 0);
        assert_eq!(
            report["output"],
            json!({"hello": {"name": "Rex"}}),
            "{plan}"
        );
    }

    let again = fixture.run(&["create", "greet the first dog", "--output", "plan.json"]);
    assert_eq!(again.status.code(), Some(2));
    assert!(stderr(&again).contains("`plan.json` already exists"));
}

#[test]
fn a_plan_that_cannot_be_written_is_shown() {
    let fixture = fixture();
    fixture.answers(&[plan()]);
    let lost = [
        "create",
        "greet the first dog",
        "--output",
        "none/plan.json",
    ];
    let output = fixture.run(&lost);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("cannot write `none/plan.json`"),
        "{}",
        stderr(&output)
    );
    let printed: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(printed["name"], "dogs");
}

#[test]
fn a_plan_may_name_tools_that_are_yet_to_come() {
    let fixture = fixture();
    let plan = json!({"steps": [
        {"id": "dogs", "tool": "list_dogs"},
        {"id": "walk", "tool": "walk_the_dog_around_the_block", "args": {"name": "${dogs[0]}", "far": true}},
        {"id": "inner", "args": {"dog": "${dogs[0]}"}, "plan": {"steps": [
            {"id": "sit", "tool": "school.sit", "args": {"dog": "${inputs.dog}"}}
        ]}}
    ]});
    fixture.answers(std::slice::from_ref(&plan));
    let refused = fixture.run(&["create", "walk the dog", "--tries", "1"]);
    assert_eq!(refused.status.code(), Some(3));
    let output = fixture.run(&[
        "create",
        "walk the dog",
        "--tries",
        "1",
        "--allow-unknown-tools",
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let written: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(written["steps"][1]["tool"], "walk_the_dog_around_the_block");
    let messages = stderr(&output);
    for tool in ["walk_the_dog_around_the_block", "school.sit"] {
        assert!(
            messages.contains(&format!("no tool `{tool}`")),
            "{messages}"
        );
    }
    // All other problems of a plan are errors as before.
    let mut other = plan;
    other["steps"][1]["args"]["name"] = json!("${cats[0]}");
    fixture.answers(&[other]);
    let refused = fixture.run(&[
        "create",
        "walk the dog",
        "--tries",
        "1",
        "--allow-unknown-tools",
    ]);
    assert_eq!(refused.status.code(), Some(3));
}

#[test]
fn every_answer_is_accounted_for() {
    let fixture = fixture();
    let unknown = json!({"steps": [{"id": "a", "tool": "cats"}]});
    fixture.answers(&[json!("no plan at all"), unknown.clone(), plan()]);
    let created = fixture.json(&["create", "greet"], 0);
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

    fixture.answers(&[unknown]);
    let failed = fixture.json(&["create", "greet", "--tries", "1"], 3);
    assert_eq!(failed["plan"], Value::Null);

    fixture.answers(&[json!("nothing")]);
    let ended = fixture.json(&["create", "greet"], 1);
    assert_eq!(ended["model_calls"], 1);
    assert_eq!(
        ended["error"]["message"],
        "the script has one answer, and a second was asked for"
    );
}

#[test]
fn an_earlier_plan_is_taken_from_the_cache() {
    let fixture = fixture();
    fixture.answers(&[plan()]);
    let first = fixture.json(&["create", "greet", "--cache"], 0);
    assert_eq!(
        (&first["cached"], &first["model_calls"]),
        (&json!(false), &json!(1))
    );
    fixture.answers(&[]);
    let second = fixture.json(&["create", "greet", "--cache"], 0);
    assert_eq!(
        (&second["cached"], &second["model_calls"]),
        (&json!(true), &json!(0))
    );
    assert_eq!(first["plan"], second["plan"]);
    let same = fixture.json(&["create", " Greet ?", "--cache"], 0);
    assert_eq!(same["cached"], true);
    // Another goal, or other tools, make another plan.
    fixture.json(&["create", "GREET", "--cache"], 1);
    fixture.json(&["create", "greet twice", "--cache"], 1);
    fixture.write("tools.json", &json!({"tools": {"greet": {"echo": true}}}));
    fixture.json(&["create", "greet", "--cache"], 1);
}

#[test]
fn known_facts_go_into_the_prompt() {
    let fixture = fixture();
    fixture.write(
        "memory.json",
        &json!({"semantic": [{"text": "Rex bites", "score": 1}], "entities": ["dog:Rex"]}),
    );
    fixture.write(
        "state.json",
        &json!({"type": "object", "properties": {"greeting": {"type": "string"}}}),
    );
    let shown = fixture.run(&[
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
    for rule in [
        "Rex bites",
        "dog:Rex",
        "state.greeting",
        "list_dogs",
        "greet it yesterday",
        "Today is 2025-10-12 (Sunday), UTC.",
        "\"yesterday\": from 2025-10-11 to 2025-10-11",
    ] {
        assert!(prompt.contains(rule), "{rule}: {prompt}");
    }
}

#[test]
fn unusable_arguments_are_named() {
    let fixture = fixture();
    fixture.answers(&[plan()]);
    fs::write(fixture.path().join("broken.json"), "{").unwrap();
    fs::write(
        fixture.path().join("twice.json"),
        r#"{"properties": {}, "properties": {}}"#,
    )
    .unwrap();
    fixture.write("list.json", &json!([]));
    let cases: &[(&[&str], &str)] = &[
        (&["--context", "broken.json"], "`broken.json` is not JSON"),
        (
            &["--context", "broken.json"],
            "hint: write it as {\"semantic\"",
        ),
        (
            &["--context", "twice.json"],
            "the key `properties` occurs twice",
        ),
        (
            &["--state", "twice.json"],
            "the key `properties` occurs twice",
        ),
        (
            &["--context", "list.json"],
            "what is remembered must be an object, found list",
        ),
        (&["--state", "list.json"], "`list.json` describes no state"),
        (&["--context", "none.json"], "cannot read `none.json`"),
        (&["--tries", "0"], "it must be a whole number of at least 1"),
    ];
    for (arguments, expected) in cases {
        let output = fixture.run(&[&["create", "greet"], *arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let log = stderr(&output);
        assert!(log.contains(expected), "{arguments:?}: {log}");
        assert_eq!(stdout(&output), "");
    }
    fs::write(fixture.path().join("answers.json"), "{}").unwrap();
    let output = fixture.run(&["create", "greet"]);
    assert!(
        stderr(&output).contains("`answers.json` is not a script of answers"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn without_a_model_it_is_said_what_to_set() {
    let fixture = fixture();
    let mut command = planwright(fixture.path());
    command.args(["create", "greet", "--simulate", "tools.json"]);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("--model"), "{}", stderr(&output));
}
