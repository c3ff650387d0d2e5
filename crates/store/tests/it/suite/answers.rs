//! Tests of the recorded answers of tools.

use std::time::{Duration, SystemTime};

use planwright_core::{SeenAnswers, Value};
use planwright_store::{Prune, RecordedAnswers};

use super::support::me;
use crate::scene::scene;

fn record(digest: &str, answer: &str) -> RecordedAnswers {
    let mut answers = SeenAnswers::default();
    answers.add(&Value::from_json(answer).unwrap());
    RecordedAnswers {
        digest: digest.to_owned(),
        tool: "shop.pay".into(),
        answers,
    }
}

fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

#[test]
fn answers_are_merged_by_definition_and_pruned_by_age() {
    let scene = scene();
    let store = &scene.store;
    assert_eq!(store.seen_answers("one").unwrap(), None);
    store
        .add_answers(
            vec![record("one", r#"{"a": 1}"#), record("two", "[1]")],
            at(100),
        )
        .unwrap();
    store
        .add_answers(vec![record("one", r#"{"a": 2, "b": 3}"#)], at(200))
        .unwrap();
    let seen = store.seen_answers("one").unwrap().unwrap();
    assert_eq!(seen.calls, 2);
    let fields: Vec<(&str, u64)> = seen
        .fields()
        .map(|(name, count)| (&**name, count))
        .collect();
    assert_eq!(fields, [("a", 2), ("b", 1)]);
    let prune = |before, dry_run| {
        let prune = Prune {
            before: at(before),
            newest: 0,
            unfinished: false,
            dry_run,
        };
        store.prune(&prune, &me()).unwrap();
        ["one", "two"].map(|digest| store.seen_answers(digest).unwrap().is_some())
    };
    assert_eq!(prune(150, true), [true, true]);
    assert_eq!(prune(150, false), [true, false]);
    assert_eq!(prune(300, false), [false, false]);
}
