//! Incomplete and empty replies in a conversation, and malformed calls.

use serde_json::{Value, json};

use super::{calls, chat, fixture, tool_results};

#[test]
fn half_an_answer_is_a_failure() {
    let fixture = fixture();
    for (half, message) in [
        (
            json!({"text": "I will not.", "refused": true}),
            "error: `replay:answers.json` declined to answer\n",
        ),
        (
            json!({"text": "I will not.", "filtered": "SAFETY"}),
            "error: a filter of its provider stopped the reply of `replay:answers.json` (SAFETY)\n",
        ),
        (
            json!({"text": "Two dogs are", "cut_off": true}),
            "error: the reply of `replay:answers.json` reached the maximum length\n",
        ),
        (
            json!(" "),
            "error: the reply of `replay:answers.json` is empty\n",
        ),
    ] {
        let (data, log) = chat(
            &fixture,
            &json!([half, "Never asked for."]),
            &["How many?"],
            1,
        );
        assert_eq!(data, "");
        assert!(log.contains(message), "{log}");
        let words = half["text"]
            .as_str()
            .map(|words| format!("  it said: {words}\n"));
        assert!(log.contains(words.as_deref().unwrap_or_default()), "{log}");
        let (data, _) = chat(
            &fixture,
            &json!([half]),
            &["How many?", "--format", "json"],
            1,
        );
        let ended: Value = serde_json::from_str(&data).unwrap();
        assert_eq!(
            (&ended["end"], &ended["answer"]),
            (&json!("model"), &Value::Null)
        );
        assert_eq!(ended["said"], *half.get("text").unwrap_or(&Value::Null));
    }
}

#[test]
fn acts_may_end_without_an_answer() {
    let fixture = fixture();
    for (answer, exit, line) in [
        (
            json!({"json": {"ask": "Which dog?"}}),
            3,
            "the model asks: Which dog?\n",
        ),
        (
            json!({"json": {"cannot": "no dog flies"}}),
            3,
            "the model says that it cannot: no dog flies\n",
        ),
        (
            json!({"text": "I will not.", "refused": true}),
            1,
            "error: `replay:answers.json` declined to answer\n  it said: I will not.\n",
        ),
    ] {
        let (data, log) = chat(
            &fixture,
            &json!([answer, "never"]),
            &["Fly.", "--protocol", "acts"],
            exit,
        );
        assert_eq!(data, "");
        assert!(log.contains(line), "{log}");
    }
}

#[test]
fn arguments_that_are_no_json_go_back() {
    let fixture = fixture();
    let answers = json!([
        calls(&[
            ("simulated__greet", json!("{\"name\": \"Rex\",")),
            ("simulated__greet", json!([1]))
        ]),
        calls(&[("simulated__greet", json!({"name": "Rex"}))]),
        "Rex was greeted."
    ]);
    let (data, _) = chat(&fixture, &answers, &["Greet Rex."], 0);
    assert_eq!(data, "Rex was greeted.\n");
    let tool_results = tool_results(&fixture);
    assert!(
        tool_results[0].starts_with("error: the arguments are no JSON: "),
        "{tool_results:?}"
    );
    assert!(
        tool_results[0].ends_with("They were: {\"name\": \"Rex\","),
        "{tool_results:?}"
    );
    assert!(
        tool_results[1].starts_with("error: the arguments are a list, not an object"),
        "{tool_results:?}"
    );
    assert_eq!(tool_results[2], r#"{"name":"Rex"}"#);
}

#[test]
fn arguments_that_are_never_json_end_the_rounds() {
    let fixture = fixture();
    let broken = calls(&[("simulated__greet", json!("{"))]);
    let answers = json!([broken, broken, broken, "never"]);
    let (_, log) = chat(&fixture, &answers, &["Greet Rex.", "--max-rounds", "3"], 1);
    assert!(log.contains("the limit of rounds is reached"), "{log}");
}
