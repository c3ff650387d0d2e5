//! Property tests: cutting a reply anywhere yields the same steps as the whole reply.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::PlanReader;

const MAX_BYTES: usize = 1 << 20;

/// The plan after each chunk that completes a step.
fn read(chunks: &[&str]) -> Vec<String> {
    let mut reader = PlanReader::new(MAX_BYTES);
    let mut found = Vec::new();
    for chunk in chunks {
        if reader.feed(chunk) > 0 {
            found.extend(reader.beginning());
        }
    }
    found
}

fn check(answer: &str, expected: &[&str]) {
    let letters: Vec<String> = answer.chars().map(String::from).collect();
    let letters: Vec<&str> = letters.iter().map(String::as_str).collect();
    assert_eq!(read(&letters), expected, "{answer}");
}

#[test]
fn steps_are_complete_at_their_last_brace() {
    check(
        r#"{"steps": [{"id": "a"}, {"id": "b", "args": {"x": [1]}}], "output": ["b"]}"#,
        &[
            r#"{"steps": [{"id": "a"}]}"#,
            r#"{"steps": [{"id": "a"}, {"id": "b", "args": {"x": [1]}}]}"#,
        ],
    );
    check(r#"{"steps": [{"id": "a""#, &[]);
    check(r#"{"steps": []}"#, &[]);
}

#[test]
fn fields_before_the_steps_belong_to_the_plan() {
    check(
        r#"{"name": "n", "vars": {"steps": [{}]}, "steps": [{"id": "a"}"#,
        &[r#"{"name": "n", "vars": {"steps": [{}]}, "steps": [{"id": "a"}]}"#],
    );
}

#[test]
fn prose_and_fences_are_skipped() {
    let plan = r#"{"steps":[{"id":"a"}]}"#;
    for answer in [
        format!("A set {{1}}, {{x}} and {{\"y\": 1}}.\n```json\n{plan}\n``` done"),
        format!("{{{plan}"),
        format!("{{\"a\" {plan}"),
        format!("\"{plan}"),
    ] {
        check(&answer, &[plan]);
    }
}

#[test]
fn a_plan_may_be_wrapped() {
    check(
        r#"{"why": {"plan": 1}, "plan": {"name": "n", "steps": [{"id": "a"}]}}"#,
        &[r#"{"name": "n", "steps": [{"id": "a"}]}"#],
    );
    check(
        r#"{"plan": {"x": []}, "steps": [{"id": "a"}]}"#,
        &[r#"{"plan": {"x": []}, "steps": [{"id": "a"}]}"#],
    );
    check(r#"{"a": {"steps": [{"id": "a"}]}}"#, &[]);
}

#[test]
fn braces_in_texts_are_text() {
    check(
        r#"{"steps": [{"id": "a}]\"}", "é": "\\"}]"#,
        &[r#"{"steps": [{"id": "a}]\"}", "é": "\\"}]}"#],
    );
}

#[test]
fn an_error_ends_the_reading() {
    check(
        r#"{"steps": [{"id": "a"} {"id": "b"}]} {"steps": [{"id": "c"}]}"#,
        &[r#"{"steps": [{"id": "a"}]}"#],
    );
    check(&"[{".repeat(10_000), &[]);
}

#[test]
fn a_reply_that_is_too_long_is_not_read() {
    let mut reader = PlanReader::new(30);
    assert_eq!(reader.feed(r#"{"steps": [{"id": "a"}, "#), 1);
    assert_eq!(reader.feed(r#"{"id": "b"}]}"#), 0);
    assert_eq!(reader.steps(), 1);
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        any::<f32>().prop_map(Value::from),
        "\\PC{0,8}".prop_map(Value::from),
        "[\\[\\]{}\",:\\\\é\u{1F600}]{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 20, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("\\PC{0,4}|steps|plan", inner, 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// Cuts `text` into chunks of the given lengths, in turn.
fn cut(text: &str, lengths: &[usize]) -> Vec<String> {
    let mut letters = text.chars().peekable();
    let mut chunks = Vec::new();
    let mut lengths = lengths.iter().cycle();
    while letters.peek().is_some() {
        let length = lengths.next().copied().unwrap_or(1);
        chunks.push(letters.by_ref().take(length).collect());
    }
    chunks
}

proptest! {
    #[test]
    fn every_step_of_a_plan_is_found(
        head in value(),
        steps in prop::collection::vec(prop::collection::btree_map("\\PC{0,4}", value(), 0..4), 1..6),
        pretty in any::<bool>(),
        lengths in prop::collection::vec(1..9_usize, 1..5),
    ) {
        let plan = json!({"about": head, "steps": steps, "output": ["a"]});
        let text = if pretty { format!("{plan:#}") } else { plan.to_string() };
        let chunks = cut(&format!("Words:\n```\n{text}\n```\n"), &lengths);
        let mut reader = PlanReader::new(MAX_BYTES);
        for chunk in &chunks {
            if reader.feed(chunk) > 0 {
                let beginning: Value = serde_json::from_str(&reader.beginning().unwrap()).unwrap();
                let found = beginning["steps"].as_array().unwrap();
                prop_assert_eq!(found.len(), reader.steps());
                prop_assert_eq!(found.as_slice(), &plan["steps"].as_array().unwrap()[..found.len()]);
                prop_assert_eq!(&beginning["about"], &plan["about"]);
            }
        }
        prop_assert_eq!(reader.steps(), steps.len());
    }

    #[test]
    fn it_does_not_matter_where_a_text_is_cut(
        text in "([\\[\\]{}\",:\\\\ a1é\u{1F600}]|\"steps\": \\[|\"plan\": ){0,60}",
        lengths in prop::collection::vec(1..9_usize, 1..5),
    ) {
        let mut whole = PlanReader::new(MAX_BYTES);
        whole.feed(&text);
        let mut reader = PlanReader::new(MAX_BYTES);
        for chunk in cut(&text, &lengths) {
            reader.feed(&chunk);
        }
        prop_assert_eq!(reader.steps(), whole.steps());
        prop_assert_eq!(reader.beginning(), whole.beginning());
    }
}
