//! How much a conversation may take.

use serde_json::{Value, json};

use super::{calls, chat, desk, told};

#[test]
fn rounds_calls_and_tokens_are_bounded() {
    let looks = || calls(&[("simulated__list_dogs", json!({}))]);
    let desk = desk();
    let (data, talk) = chat(
        &desk,
        &json!([looks(), looks()]),
        &["Go on.", "--max-rounds", "2"],
        1,
    );
    assert_eq!(data, "");
    assert!(
        talk.contains("nothing is left of the rounds that it may take"),
        "{talk}"
    );

    let both = calls(&[
        ("simulated__list_dogs", json!({})),
        ("simulated__list_dogs", json!({})),
    ]);
    chat(
        &desk,
        &json!([both, "One."]),
        &["Go on.", "--max-calls", "1"],
        0,
    );
    let refused = told(&desk);
    let refused = refused
        .iter()
        .filter(|told| told.contains("may make 1 calls"));
    assert_eq!(refused.count(), 1);

    let dear = json!([{"calls": looks()["calls"], "usage": {"input": 100}}, "never asked for"]);
    let (_, talk) = chat(&desk, &dear, &["Go on.", "--max-tokens", "100"], 1);
    assert!(talk.contains("nothing is left of the tokens"), "{talk}");
}

#[test]
fn long_results_are_cut() {
    let desk = desk();
    let long = "x".repeat(10_000);
    let answers = json!([
        calls(&[("simulated__greet", json!({"name": long}))]),
        "Long."
    ]);
    chat(&desk, &answers, &["Go on.", "--max-result", "1KiB"], 0);
    let told = told(&desk);
    assert!(told[0].len() < 2_000, "{}", told[0].len());
}

#[test]
fn a_model_that_does_not_answer_is_an_error() {
    let desk = desk();
    let (data, _) = chat(&desk, &json!([]), &["Hello?", "--format", "json"], 1);
    let answer: Value = serde_json::from_str(&data).unwrap();
    assert_eq!(answer["end"], "model");
    assert_eq!(
        answer["message"],
        "the script has 0 answers, and one more was asked for"
    );
}
