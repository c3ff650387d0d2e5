//! Answers in a conversation that are none, and calls that cannot be read.

use serde_json::{Value, json};

use super::{calls, chat, desk, told};

#[test]
fn half_an_answer_is_a_failure() {
    let desk = desk();
    for (half, message) in [
        (
            json!({"text": "I will not.", "refused": true}),
            "error: `replay:answers.json` declined to answer\n",
        ),
        (
            json!({"text": "I will not.", "filtered": "SAFETY"}),
            "error: a filter of its provider stopped the answer of `replay:answers.json` (SAFETY)\n",
        ),
        (
            json!({"text": "Two dogs are", "cut_off": true}),
            "error: the answer of `replay:answers.json` was cut off at its greatest length\n",
        ),
        (json!(" "), "error: `replay:answers.json` said nothing\n"),
    ] {
        let (data, talk) = chat(&desk, &json!([half, "Never asked for."]), &["How many?"], 1);
        assert_eq!(data, "");
        assert!(talk.contains(message), "{talk}");
        let words = half["text"]
            .as_str()
            .map(|words| format!("  it said: {words}\n"));
        assert!(
            talk.contains(words.as_deref().unwrap_or_default()),
            "{talk}"
        );
        let (data, _) = chat(&desk, &json!([half]), &["How many?", "--format", "json"], 1);
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
    let desk = desk();
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
        let (data, talk) = chat(
            &desk,
            &json!([answer, "never"]),
            &["Fly.", "--protocol", "acts"],
            exit,
        );
        assert_eq!(data, "");
        assert!(talk.contains(line), "{talk}");
    }
}

#[test]
fn arguments_that_are_no_json_go_back() {
    let desk = desk();
    let answers = json!([
        calls(&[
            ("simulated__greet", json!("{\"name\": \"Rex\",")),
            ("simulated__greet", json!([1]))
        ]),
        calls(&[("simulated__greet", json!({"name": "Rex"}))]),
        "Rex was greeted."
    ]);
    let (data, _) = chat(&desk, &answers, &["Greet Rex."], 0);
    assert_eq!(data, "Rex was greeted.\n");
    let told = told(&desk);
    assert!(
        told[0].starts_with("error: the arguments are no JSON: "),
        "{told:?}"
    );
    assert!(
        told[0].ends_with("They were: {\"name\": \"Rex\","),
        "{told:?}"
    );
    assert!(
        told[1].starts_with("error: the arguments are a list and no object"),
        "{told:?}"
    );
    assert_eq!(told[2], r#"{"name":"Rex"}"#);
}

#[test]
fn arguments_that_are_never_json_end_the_rounds() {
    let desk = desk();
    let broken = calls(&[("simulated__greet", json!("{"))]);
    let answers = json!([broken, broken, broken, "never"]);
    let (_, talk) = chat(&desk, &answers, &["Greet Rex.", "--max-rounds", "3"], 1);
    assert!(talk.contains("nothing is left of the rounds"), "{talk}");
}
