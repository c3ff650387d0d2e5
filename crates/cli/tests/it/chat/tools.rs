//! Tools that the model calls directly.

use serde_json::{Value, json};

use super::{ModelFixture, calls, chat, fixture, stored_chat, tool_results};
use crate::program::{planwright, stdout};

#[test]
fn tools_are_called_and_the_answer_is_data() {
    let fixture = fixture();
    let answers = json!([
        calls(&[
            ("simulated__list_dogs", json!({})),
            ("simulated__greet", json!({"name": "${x}"}))
        ]),
        "There are two dogs."
    ]);
    let (data, log) = chat(&fixture, &answers, &["Which dogs are there?"], 0);
    assert_eq!(data, "There are two dogs.\n");
    for line in [
        "✓ call_list_dogs  list_dogs",
        "✓ call_greet  greet",
        "resume with `planwright chat --resume",
    ] {
        assert!(log.contains(line), "{log}");
    }
    assert_eq!(
        tool_results(&fixture),
        [r#"["Rex","Ada"]"#, r#"{"name":"${x}"}"#]
    );
    let runs = planwright(fixture.path())
        .args(["runs", "--format", "json"])
        .output()
        .unwrap();
    let runs: Value = serde_json::from_str(&stdout(&runs)).unwrap();
    assert_eq!(runs["runs"].as_array().unwrap().len(), 2, "{runs}");
}

#[test]
fn the_model_receives_errors() {
    let fixture = fixture();
    let answers = json!([
        calls(&[
            ("simulated__gret", json!({"name": "Rex"})),
            ("simulated__greet", json!({"nam": "Rex"})),
            ("simulated__broken", Value::Null),
            ("plan_create", json!({})),
            ("plan_execute", json!({"plan_id": "plan-9"}))
        ]),
        "Nothing worked."
    ]);
    let (data, _) = chat(&fixture, &answers, &["Try everything."], 0);
    assert_eq!(data, "Nothing worked.\n");
    let tool_results = tool_results(&fixture);
    let expected = [
        "error: there is no tool `simulated__gret`; did you mean `simulated__greet`?",
        "PW0502",
        r#"error: {"code":"full","message":"the disk is full"}"#,
        "error: the argument `goal` is missing",
        "error: there is no plan `plan-9`",
    ];
    for (tool_results, expected) in tool_results.iter().zip(expected) {
        assert!(tool_results.contains(expected), "{tool_results}");
    }
}

#[test]
fn a_conversation_goes_on() {
    let fixture = fixture();
    let (_, log) = chat(&fixture, &json!(["Hello Ada."]), &["I am Ada."], 0);
    let id = log
        .rsplit_once("--resume ")
        .unwrap()
        .1
        .trim()
        .trim_end_matches('`');
    chat(
        &fixture,
        &json!(["You are Ada."]),
        &["--resume", id, "Who am I?"],
        0,
    );
    let chat_ = stored_chat(&fixture);
    let texts: Vec<&str> = chat_["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["text"].as_str().unwrap())
        .collect();
    assert_eq!(
        texts,
        ["I am Ada.", "Hello Ada.", "Who am I?", "You are Ada."]
    );
    let (list, _) = chat(&fixture, &json!([]), &["--list"], 0);
    assert!(list.contains("I am Ada.") && list.contains(id), "{list}");
    let (_, log) = chat(&fixture, &json!([]), &["--resume", "nothing", "Hello?"], 2);
    assert!(log.contains("there is no conversation `nothing`"), "{log}");
    let (_, log) = chat(
        &fixture,
        &json!(["x"]),
        &["--resume", id, "--protocol", "acts", "Hello?"],
        2,
    );
    assert!(log.contains("a different `--protocol`"), "{log}");
}

#[test]
fn nothing_is_kept_where_nothing_is_to_be() {
    let fixture = fixture();
    let answers = json!([calls(&[("simulated__list_dogs", json!({}))]), "Two."]);
    let (data, log) = chat(&fixture, &answers, &["--no-store", "How many?"], 0);
    assert_eq!(data, "Two.\n");
    assert!(!log.contains("--resume"), "{log}");
    assert!(!fixture.path().join(".local").exists());
}

#[test]
fn programs_can_read_along() {
    let fixture = fixture();
    let answers = json!([calls(&[("simulated__list_dogs", json!({}))]), {"text": "Two.", "usage": {"input": 5, "output": 2}}]);
    let (data, _) = chat(&fixture, &answers, &["How many?", "--format", "json"], 0);
    let answer: Value = serde_json::from_str(&data).unwrap();
    assert_eq!(answer["answer"], "Two.");
    assert_eq!(answer["end"], "answer");
    assert_eq!(answer["calls"][0]["tool"], "simulated__list_dogs");
    assert_eq!(
        answer["usage"],
        json!({"requests": 2, "input_tokens": 5, "cached_tokens": 0, "output_tokens": 2, "cost": null})
    );
    let (data, _) = chat(&fixture, &answers, &["How many?", "--format", "events"], 0);
    let events: Vec<Value> = data
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let names: Vec<&str> = events
        .iter()
        .map(|event| event["event"].as_str().unwrap())
        .collect();
    let without_runs: Vec<&str> = names
        .iter()
        .copied()
        .filter(|name| *name != "run")
        .collect();
    assert_eq!(without_runs, ["asked", "called", "asked", "answer"]);
    let run = events.iter().find(|event| event["event"] == "run").unwrap();
    assert_eq!(run["of"]["event"], "run_started");
}

#[test]
fn calls_that_need_consent_wait_or_are_decided() {
    for (approve, expected) in [
        ("all", "paid"),
        ("none", "`--approve none` was given"),
        ("ask", "the call waits for a person"),
    ] {
        let fixture = fixture();
        let answers = json!([calls(&[("simulated__pay", json!({}))]), "So be it."]);
        chat(&fixture, &answers, &["Pay.", "--approve", approve], 0);
        let tool_results = tool_results(&fixture);
        assert!(tool_results[0].contains(expected), "{tool_results:?}");
    }
}

#[test]
fn a_conversation_with_many_tools_offers_the_best() {
    let tools: serde_json::Map<String, Value> = (0..300)
        .map(|index| {
            let description = format!("Reads the gauge of tank{index}.");
            let tool = json!({"description": description, "returns": index});
            (format!("gauge_{index}"), tool)
        })
        .collect();
    let fixture = ModelFixture::new(&Value::from(tools));
    let answers = json!([
        calls(&[("find_tools", json!({"query": "tank250"}))]),
        calls(&[("simulated__gauge_250", json!({}))]),
        "It is 250."
    ]);
    let (data, _) = chat(&fixture, &answers, &["How full is it?"], 0);
    assert_eq!(data, "It is 250.\n");
    let results = tool_results(&fixture);
    assert!(results[0].contains("`simulated__gauge_250`"), "{results:?}");
    assert_eq!(results[1], "250");
}

#[test]
fn plan_tools_can_be_left_out() {
    let fixture = fixture();
    let answers = json!([
        calls(&[
            ("plan_create", json!({"goal": "greet"})),
            ("find_tools", json!({}))
        ]),
        "No plans here."
    ]);
    chat(&fixture, &answers, &["--no-plan-tools", "Greet."], 0);
    for result in tool_results(&fixture) {
        assert!(result.starts_with("error: there is no tool `"), "{result}");
    }
    let arguments = ["--no-plan-tools", "--protocol", "acts", "Greet."];
    let (_, log) = chat(&fixture, &json!([]), &arguments, 2);
    assert!(log.contains("leave out `--no-plan-tools`"), "{log}");
}
