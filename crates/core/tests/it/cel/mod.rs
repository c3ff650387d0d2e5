//! Conformance with CEL: every expression is evaluated by us and by the `cel` crate.

mod deviation;
mod generate;
mod outcome;
mod shapes;

use std::sync::Arc;

use cel::Env;
use planwright_core::Value;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use self::deviation::DEVIATIONS;
use self::outcome::{Bindings, ReferenceOutcome, ours, reference, theirs};

/// Expressions with the same value in both.
const VALUES: &str = include_str!("values.txt");

/// Expressions that neither parses or evaluates.
const REFUSALS: &str = include_str!("refusals.txt");

/// The number of random expressions.
const CASES: u32 = 3000;

/// The values of the names in the tables.
fn table_bindings() -> Bindings {
    let values = [
        (
            "a",
            r#"{"n": 3, "d": 1.5, "t": "text", "none": null, "yes": true, "list": [1, 2, 3], "in": 4, "first-name": "Ada"}"#,
        ),
        (
            "rows",
            r#"[{"id": "x", "v": 1, "tags": ["p"]}, {"id": "y", "v": 2.5, "tags": []}, {"id": "z"}]"#,
        ),
        ("n", "3"),
        ("d", "1.5"),
        ("s", "\"text\""),
        ("big", "18446744073709551615"),
        ("l", "[1, 2, 3]"),
        ("m", r#"{"k": 1}"#),
        ("z", "null"),
        ("y", "true"),
    ];
    Bindings(
        values
            .map(|(name, json)| (name, Value::from_json(json).unwrap()))
            .into(),
    )
}

/// Runs `test` on a thread with enough stack for the crate's parser.
fn with_reference(test: fn(&Arc<Env>)) {
    std::thread::Builder::new()
        .stack_size(256 << 20)
        .spawn(move || test(&reference()))
        .unwrap()
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
}

/// Returns the expressions of a table, one per line. `⏎` stands for a line break, `#` begins a heading.
fn lines(table: &str) -> impl Iterator<Item = String> {
    table
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| line.replace('⏎', "\n"))
}

/// Describes both results in a word: JSON, `malformed`, `failed`, `foreign`.
fn describe(ours: &Result<Value, String>, theirs: &ReferenceOutcome) -> (String, String) {
    let ours = match ours {
        Ok(value) => value.to_json(),
        Err(message) if message.starts_with("malformed") => "malformed".into(),
        Err(_) => "failed".into(),
    };
    let theirs = match theirs {
        ReferenceOutcome::Value(value) => value.to_json(),
        ReferenceOutcome::Foreign(_) => "foreign".into(),
        ReferenceOutcome::Failed(_) => "failed".into(),
        ReferenceOutcome::Malformed(_) => "malformed".into(),
    };
    (ours, theirs)
}

#[test]
fn both_give_the_same_values() {
    with_reference(|env| {
        let bindings = table_bindings();
        for text in lines(VALUES) {
            let (ours, theirs) = (ours(&text, &bindings), theirs(&text, &bindings, env));
            assert_eq!(
                ours.clone().map(ReferenceOutcome::Value),
                Ok(theirs),
                "{text}: {ours:?}"
            );
        }
    });
}

#[test]
fn both_refuse_the_same() {
    with_reference(|env| {
        let bindings = table_bindings();
        for text in lines(REFUSALS) {
            let (ours, theirs) = (ours(&text, &bindings), theirs(&text, &bindings, env));
            let both = ours.is_err()
                && matches!(
                    theirs,
                    ReferenceOutcome::Failed(_) | ReferenceOutcome::Malformed(_)
                );
            assert!(both, "{text}: {ours:?}, {theirs:?}");
        }
    });
}

#[test]
fn deviations_are_as_listed() {
    with_reference(|env| {
        let bindings = table_bindings();
        for deviation in DEVIATIONS {
            for (text, expected_of_us, expected_of_them) in deviation.cases {
                let (ours, theirs) = (ours(text, &bindings), theirs(text, &bindings, env));
                let found = describe(&ours, &theirs);
                let expected = ((*expected_of_us).to_owned(), (*expected_of_them).to_owned());
                assert_eq!(found, expected, "{text}: {ours:?}, {theirs:?}");
                assert_ne!(
                    found.0, found.1,
                    "{text} is not a deviation ({})",
                    deviation.reason
                );
            }
        }
    });
}

/// Returns true if both results agree.
fn agree(ours: &Result<Value, String>, theirs: &ReferenceOutcome) -> bool {
    match (ours, theirs) {
        (Ok(ours), ReferenceOutcome::Value(theirs)) => ours == theirs,
        (Ok(_), _) | (Err(_), ReferenceOutcome::Value(_) | ReferenceOutcome::Foreign(_)) => false,
        (Err(_), ReferenceOutcome::Failed(_) | ReferenceOutcome::Malformed(_)) => true,
    }
}

#[test]
fn random_expressions_agree() {
    with_reference(|env| {
        let config = Config {
            cases: CASES,
            failure_persistence: None,
            ..Config::default()
        };
        let choices = |limit| prop::collection::vec(any::<u8>(), 0..limit);
        // `&&`, `||`, `all` and `exists` can hide the failure of a part, so a difference may come from any part.
        let is_explained = |text: &str, bindings: &Bindings| {
            let (ours, theirs) = (ours(text, bindings), theirs(text, bindings, env));
            DEVIATIONS
                .iter()
                .any(|deviation| (deviation.explains)(text, &ours, &theirs))
        };
        TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha))
            .run(&(choices(120), choices(40)), |(expression, values)| {
                let expression = generate::expression(&expression);
                let bindings = generate::bindings(&values);
                let (ours, theirs) = (
                    ours(&expression.text, &bindings),
                    theirs(&expression.text, &bindings, env),
                );
                prop_assert!(
                    agree(&ours, &theirs)
                        || is_explained(&expression.text, &bindings)
                        || generate::loop_bindings(&bindings).iter().any(|bindings| {
                            expression.parts().any(|part| is_explained(part, bindings))
                        }),
                    "{}\n{bindings:?}\n{ours:?}\n{theirs:?}",
                    expression.text
                );
                Ok(())
            })
            .unwrap_or_else(|error| panic!("{error}"));
    });
}
