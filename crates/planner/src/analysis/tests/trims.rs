//! Values that are cut, and say so.

use serde_json::{Value, json};

use super::super::trimmed;
use super::value;

fn check(given: &Value, budget: usize, expected: &Value) {
    let trimmed = trimmed(&value(given), budget);
    assert_eq!(trimmed.value, value(expected), "{given} in {budget} tokens");
    assert_eq!(trimmed.is_cut, given != expected);
}

#[test]
fn what_fits_stays() {
    let small = json!({"a": [1, 2, 3], "b": null, "c": "text"});
    check(&small, 100, &small);
    let numbers = json!(vec![7; 2000]);
    check(&numbers, 2000, &numbers);
}

#[test]
fn what_does_not_fit_says_so() {
    let numbers: Vec<i32> = (0..100).collect();
    let first = |count: usize, mark: &str| {
        let kept = numbers[..count].iter().map(|number| json!(number));
        kept.chain([json!(mark)]).collect::<Value>()
    };
    check(&json!(numbers), 30, &first(30, "… 70 more"));
    check(
        &json!({"list": numbers}),
        12,
        &json!({"list": first(10, "… 90 more")}),
    );
    let long = "x".repeat(1000);
    let cut = format!("{}… 800 more characters", &long[..200]);
    check(&json!(long), 60, &json!(cut));
    let deep = json!({"a": {"b": {"c": {"d": {"e": vec!["long enough to be cut"; 50]}}}}});
    check(
        &deep,
        12,
        &json!({"a": {"b": {"c": {"d": {"e": "… list of 50"}}}}}),
    );
    check(&json!([[1, 2], [3]]), 1, &json!("…"));
    let wide: serde_json::Map<String, Value> =
        (0..100).map(|n| (format!("f{n}"), json!(n))).collect();
    check(
        &json!(wide),
        13,
        &json!({"f0": 0, "f1": 1, "f2": 2, "f3": 3, "…": "96 more"}),
    );
}
