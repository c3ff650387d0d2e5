//! Properties: a plan that is learned from its own traces makes the same calls with other inputs.

use std::fmt::Write as _;

use planwright_core::check::{CheckContext, check};
use planwright_core::{Catalog, Object, Value};
use planwright_engine::{Engine, RunId};
use planwright_learn::replay::TraceBackend;
use planwright_learn::{Trace, TraceFormat, generalize, read};
use proptest::prelude::*;

use crate::plans::{catalog, trace};

/// A session of generated work over data that follow from a seed: each call reads a word of the request or a part of an earlier answer.
fn session(seed: u64, sources: &[(usize, bool)], items: usize) -> Trace {
    let word =
        |kind: &str, number: usize| format!("{kind}-{}", seed * 1000 + 7 * number as u64 + 100_000);
    let mut calls: Vec<(&str, String, String)> = Vec::new();
    for (number, (source, reads)) in sources.iter().enumerate() {
        let value = match source.checked_rem(number.max(1)) {
            Some(earlier) if number > 0 && *source % 3 != 0 => word("id", earlier),
            _ => word("word", number),
        };
        let tool = if *reads { "get_more" } else { "change" };
        let args = format!(r#"{{"value": "{value}", "text": "about {value}", "kind": "fixed"}}"#);
        let answer = format!(r#"{{"id": "{}", "n": {number}}}"#, word("id", number));
        calls.push((tool, args, answer));
    }
    let mut list = String::new();
    for item in 0..items {
        let comma = if item == 0 { "" } else { ", " };
        write!(list, r#"{comma}{{"key": "{}"}}"#, word("item", item)).unwrap();
    }
    calls.push(("find", "{}".to_owned(), format!(r#"{{"items": [{list}]}}"#)));
    for item in 0..items {
        calls.push((
            "other",
            format!(r#"{{"key": "{}"}}"#, word("item", item)),
            "null".to_owned(),
        ));
    }
    let calls: Vec<(&str, &str, &str)> = calls
        .iter()
        .map(|(tool, args, answer)| (*tool, &**args, &**answer))
        .collect();
    trace(&calls)
}

/// A session that makes `length` calls for each item, one item after the other; each call reads the item or the answer before.
fn in_turn(seed: u64, items: usize, length: usize) -> Trace {
    let word = |kind: &str, item: usize| format!("{kind}-{}", seed * 1000 + item as u64 + 100_000);
    let list: Vec<String> = (0..items)
        .map(|item| format!(r#"{{"key": "{}"}}"#, word("item", item)))
        .collect();
    let mut calls: Vec<(&str, String, String)> = vec![(
        "find",
        "{}".to_owned(),
        format!(r#"{{"items": [{}]}}"#, list.join(", ")),
    )];
    for item in 0..items {
        for (number, tool) in ["get_more", "change", "other"]
            .into_iter()
            .take(length)
            .enumerate()
        {
            let read = match number {
                0 => word("item", item),
                _ => word(&format!("id{}", number - 1), item),
            };
            calls.push((
                tool,
                format!(r#"{{"read": "{read}", "key": "{}"}}"#, word("item", item)),
                format!(r#"{{"id": "{}"}}"#, word(&format!("id{number}"), item)),
            ));
        }
    }
    let calls: Vec<(&str, &str, &str)> = calls
        .iter()
        .map(|(tool, args, answer)| (*tool, &**args, &**answer))
        .collect();
    trace(&calls)
}

/// Runs the plan that is learned from two sessions over the answers of a third one.
fn runs_the_same_calls(traces: &[Trace], other: &Trace, inputs: &Object, catalog: &Catalog) {
    let learned = generalize(traces, catalog);
    let context = CheckContext::new(catalog).with_inputs(inputs);
    let (checked, found) = check(learned.plan.clone(), &context);
    let checked = checked.unwrap_or_else(|| panic!("{found:?}"));
    let answers = TraceBackend::new(&other.calls, catalog);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    runtime.block_on(async {
        let engine = Engine::new(answers.clone());
        let (handle, mut events) = engine.start(RunId::random(), checked);
        while events.recv().await.is_some() {}
        drop(handle);
    });
    assert!(
        answers.report().is_same(),
        "{:?}\n{:?}",
        answers.report(),
        learned.plan
    );
}

const GOLDEN: [&str; 4] = [
    include_str!("../golden/openai-refund.json"),
    include_str!("../golden/openai-responses.json"),
    include_str!("../golden/anthropic-close.json"),
    include_str!("../golden/otel-check-in.json"),
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn damaged_traces_are_read_or_refused(
        golden in 0..GOLDEN.len(),
        replacements in prop::collection::vec((any::<prop::sample::Index>(), r#"[\[\]{}",:0-9a-z]{0,6}"#), 1..6),
    ) {
        let mut text: Vec<char> = GOLDEN[golden].chars().collect();
        for (at, new) in replacements {
            let at = at.index(text.len());
            let end = text.len().min(at + new.len().max(1));
            text.splice(at..end, new.chars());
        }
        let text: String = text.into_iter().collect();
        let catalog = Catalog::new();
        for format in TraceFormat::ALL {
            if let Ok(traces) = read("damaged", &text, format) {
                let learned = generalize(&traces, &catalog);
                prop_assert_eq!(learned.calls.len(), traces.len());
            }
        }
    }

    #[test]
    fn a_body_of_several_calls_is_repeated_for_other_items(
        counts in [2_usize..5, 2..5, 0..6],
        length in 2_usize..4,
    ) {
        let catalog = catalog(&["find", "get_more", "change", "other"]);
        let sessions: Vec<Trace> = (1..).zip(counts).map(|(seed, items)| in_turn(seed, items, length)).collect();
        let learned = generalize(&sessions[..2], &catalog);
        prop_assert!(learned.is_complete(), "{:?}", learned.findings);
        runs_the_same_calls(&sessions[..2], &sessions[2], &Object::default(), &catalog);
    }

    #[test]
    fn other_inputs_lead_to_the_same_calls(
        sources in prop::collection::vec((0_usize..40, any::<bool>()), 1..7),
        counts in [2_usize..5, 2..5, 0..6],
    ) {
        let catalog = catalog(&["find", "get_more", "change", "other"]);
        let sessions: Vec<Trace> = (1..).zip(counts).map(|(seed, items)| session(seed, &sources, items)).collect();
        let learned = generalize(&sessions[..2], &catalog);
        prop_assert!(learned.is_complete(), "{:?}", learned.findings);
        // The third session has the inputs of the first one with the words of its own data.
        let third: Object = learned
            .inputs_of(0)
            .into_iter()
            .map(|(name, value)| {
                let text = value.as_text().unwrap();
                let (kind, number) = text.rsplit_once('-').unwrap();
                let number: u64 = number.parse().unwrap();
                (name, Value::from(format!("{kind}-{}", number + 2000)))
            })
            .collect();
        runs_the_same_calls(&sessions[..2], &sessions[2], &third, &catalog);
    }
}
