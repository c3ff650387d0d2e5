//! Limits of a conversation.

use serde_json::{Value, json};

use super::{calls, chat, fixture, tool_results};

#[test]
fn rounds_calls_and_tokens_are_bounded() {
    let looks = || calls(&[("simulated__list_dogs", json!({}))]);
    let fixture = fixture();
    let (data, log) = chat(
        &fixture,
        &json!([looks(), looks()]),
        &["Go on.", "--max-rounds", "2"],
        1,
    );
    assert_eq!(data, "");
    assert!(log.contains("the limit of rounds is reached"), "{log}");

    let both = calls(&[
        ("simulated__list_dogs", json!({})),
        ("simulated__list_dogs", json!({})),
    ]);
    chat(
        &fixture,
        &json!([both, "One."]),
        &["Go on.", "--max-calls", "1"],
        0,
    );
    let refused = tool_results(&fixture);
    let refused = refused
        .iter()
        .filter(|tool_results| tool_results.contains("has reached its limit of 1 calls"));
    assert_eq!(refused.count(), 1);

    let dear = json!([{"calls": looks()["calls"], "usage": {"input": 100}}, "never asked for"]);
    let (_, log) = chat(&fixture, &dear, &["Go on.", "--max-tokens", "100"], 1);
    assert!(log.contains("the limit of tokens is reached"), "{log}");
}

#[test]
fn long_results_are_cut() {
    let fixture = fixture();
    let long = "x".repeat(10_000);
    let answers = json!([
        calls(&[("simulated__greet", json!({"name": long}))]),
        "Long."
    ]);
    chat(&fixture, &answers, &["Go on.", "--max-result", "1KiB"], 0);
    let tool_results = tool_results(&fixture);
    assert!(tool_results[0].len() < 2_000, "{}", tool_results[0].len());
}

#[test]
fn a_model_that_does_not_answer_is_an_error() {
    let fixture = fixture();
    let (data, _) = chat(&fixture, &json!([]), &["Hello?", "--format", "json"], 1);
    let answer: Value = serde_json::from_str(&data).unwrap();
    assert_eq!(answer["end"], "model");
    assert_eq!(
        answer["message"],
        "the script has 0 answers, and one more was asked for"
    );
}
