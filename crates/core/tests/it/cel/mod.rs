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
use self::outcome::{Theirs, World, ours, reference, theirs};

/// Expressions with the same value in both.
const VALUES: &str = include_str!("values.txt");

/// Expressions that neither parses or evaluates.
const REFUSALS: &str = include_str!("refusals.txt");

/// The number of random expressions.
const CASES: u32 = 3000;

/// The values of the names in the tables.
fn table_world() -> World {
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
    World(
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
fn in_words(ours: &Result<Value, String>, theirs: &Theirs) -> (String, String) {
    let ours = match ours {
        Ok(value) => value.to_json(),
        Err(message) if message.starts_with("malformed") => "malformed".into(),
        Err(_) => "failed".into(),
    };
    let theirs = match theirs {
        Theirs::Value(value) => value.to_json(),
        Theirs::Foreign(_) => "foreign".into(),
        Theirs::Failed(_) => "failed".into(),
        Theirs::Malformed(_) => "malformed".into(),
    };
    (ours, theirs)
}

#[test]
fn both_give_the_same_values() {
    with_reference(|env| {
        let world = table_world();
        for text in lines(VALUES) {
            let (ours, theirs) = (ours(&text, &world), theirs(&text, &world, env));
            assert_eq!(
                ours.clone().map(Theirs::Value),
                Ok(theirs),
                "{text}: {ours:?}"
            );
        }
    });
}

#[test]
fn both_refuse_the_same() {
    with_reference(|env| {
        let world = table_world();
        for text in lines(REFUSALS) {
            let (ours, theirs) = (ours(&text, &world), theirs(&text, &world, env));
            let both = ours.is_err() && matches!(theirs, Theirs::Failed(_) | Theirs::Malformed(_));
            assert!(both, "{text}: {ours:?}, {theirs:?}");
        }
    });
}

#[test]
fn deviations_are_as_listed() {
    with_reference(|env| {
        let world = table_world();
        for deviation in DEVIATIONS {
            for (text, expected_of_us, expected_of_them) in deviation.cases {
                let (ours, theirs) = (ours(text, &world), theirs(text, &world, env));
                let found = in_words(&ours, &theirs);
                let expected = ((*expected_of_us).to_owned(), (*expected_of_them).to_owned());
                assert_eq!(found, expected, "{text}: {ours:?}, {theirs:?}");
                assert_ne!(
                    found.0, found.1,
                    "{text} is no deviation ({})",
                    deviation.reason
                );
            }
        }
    });
}

/// Returns true if both results agree.
fn agree(ours: &Result<Value, String>, theirs: &Theirs) -> bool {
    match (ours, theirs) {
        (Ok(ours), Theirs::Value(theirs)) => ours == theirs,
        (Ok(_), _) | (Err(_), Theirs::Value(_) | Theirs::Foreign(_)) => false,
        (Err(_), Theirs::Failed(_) | Theirs::Malformed(_)) => true,
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
        let choices = |most| prop::collection::vec(any::<u8>(), 0..most);
        // `&&`, `||`, `all` and `exists` can hide the failure of a part, so a difference may come from any part.
        let is_explained = |text: &str, world: &World| {
            let (ours, theirs) = (ours(text, world), theirs(text, world, env));
            DEVIATIONS
                .iter()
                .any(|deviation| (deviation.explains)(text, &ours, &theirs))
        };
        TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha))
            .run(&(choices(120), choices(40)), |(expression, values)| {
                let expression = generate::expression(&expression);
                let world = generate::world(&values);
                let (ours, theirs) = (
                    ours(&expression.text, &world),
                    theirs(&expression.text, &world, env),
                );
                prop_assert!(
                    agree(&ours, &theirs)
                        || is_explained(&expression.text, &world)
                        || generate::inside_loops(&world).iter().any(|world| {
                            expression.parts().any(|part| is_explained(part, world))
                        }),
                    "{}\n{world:?}\n{ours:?}\n{theirs:?}",
                    expression.text
                );
                Ok(())
            })
            .unwrap_or_else(|error| panic!("{error}"));
    });
}
