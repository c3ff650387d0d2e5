//! Properties: a plan that is learned from its own traces makes the same calls with other inputs.

use std::fmt::Write as _;

use planwright_core::check::{CheckContext, check};
use planwright_core::plan::Plan;
use planwright_core::{Catalog, Object, Value};
use planwright_dialects::ReadOptions;
use planwright_engine::{Engine, RunId};
use planwright_learn::replay::{TraceBackend, TraceComparison};
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
    let plan = generalize(traces, catalog).plan;
    let report = run(plan.clone(), other, inputs, catalog);
    assert!(report.is_same(), "{report:?}\n{plan:?}");
}

/// Runs a plan over the answers of a session, and compares their calls.
fn run(plan: Plan, other: &Trace, inputs: &Object, catalog: &Catalog) -> TraceComparison {
    let context = CheckContext::new(catalog).with_inputs(inputs);
    let (checked, found) = check(plan, &context);
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
    answers.report()
}

/// A session in which a person chooses an offer of a sorted list and a quantity, while the answer has small numbers of its own.
fn choice(seed: u64, prices: &[u32], chosen: usize, numbers: (u32, u32, u32)) -> (Trace, Object) {
    let mut prices = prices.to_vec();
    prices.sort_unstable();
    let id = |index: usize| format!("ab-{}", seed * 100 + index as u64);
    let offers: Vec<String> = prices
        .iter()
        .enumerate()
        .map(|(index, price)| format!(r#"{{"id": "{}", "price": {price}}}"#, id(index)))
        .collect();
    let (quantity, stock, day) = numbers;
    let chosen = id(chosen % prices.len());
    let answer = format!(
        r#"{{"offers": [{}], "stock": {stock}, "day": {day}}}"#,
        offers.join(", ")
    );
    let args = format!(r#"{{"offer": "{chosen}", "quantity": {quantity}}}"#);
    let session = trace(&[("find", "{}", &answer), ("change", &args, "1")]);
    let inputs = [
        ("offer", Value::from(chosen)),
        ("quantity", Value::from(quantity)),
    ];
    let inputs = inputs.map(|(name, value)| (name.into(), value));
    (session, inputs.into_iter().collect())
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
    fn a_complete_plan_makes_no_other_change(
        prices in prop::collection::vec(prop::collection::vec(10_u32..16, 1..5), 3),
        chosen in prop::array::uniform3(0_usize..2),
        numbers in prop::array::uniform3((10_u32..16, 10_u32..16, 10_u32..16)),
    ) {
        // Two equal quantities are a constant.
        prop_assume!(numbers[0].0 != numbers[1].0);
        let catalog = catalog(&["find", "change"]);
        let sessions: Vec<(Trace, Object)> = (11..)
            .zip(&prices)
            .zip(chosen.iter().zip(numbers))
            .map(|((seed, prices), (chosen, numbers))| choice(seed, prices, *chosen, numbers))
            .collect();
        let traces: Vec<Trace> = sessions.iter().map(|(trace, _)| trace.clone()).collect();
        let learned = generalize(&traces[..2], &catalog);
        prop_assert!(learned.is_complete(), "{:?}", learned.findings);
        let names = learned.inputs.iter().map(|input| input.name.clone());
        let inputs: Object = names
            .map(|name| {
                let value = sessions[2].1.get(&name).unwrap().clone();
                (name, value)
            })
            .collect();
        let report = run(learned.plan.clone(), &traces[2], &inputs, &catalog);
        let changes = report.additional.iter().any(|call| call.tool.ends_with(".change"));
        prop_assert!(report.is_same() || !changes, "{report:?}\n{:?}", learned.plan);
    }

    #[test]
    fn any_text_selects_an_item(name in ".{3,12}") {
        let catalog = catalog(&["find", "change"]);
        let session = |first: u32| {
            let answer = Value::object([(
                "items",
                Value::list([(first, &*name), (first + 1, "another one")].map(|(id, name)| {
                    Value::object([
                        ("id", Value::from(format!("ab-{id}"))),
                        ("name", Value::from(name)),
                    ])
                })),
            )]);
            let args = format!(r#"{{"id": "ab-{first}"}}"#);
            Trace {
                request: Some(format!("Take {name} now")),
                ..trace(&[("find", "{}", &answer.to_json()), ("change", &args, "1")])
            }
        };
        let sessions = [session(1000), session(2000), session(3000)];
        let learned = generalize(&sessions[..2], &catalog);
        prop_assume!(learned.inputs.is_empty());
        // The text stays the same in the printed plan.
        let native = planwright_dialects::by_name("native").unwrap();
        let (printed, losses) = native.print(&learned.plan);
        let printed = printed.unwrap_or_else(|| panic!("{losses:?}"));
        let parsed = planwright_dialects::parse_as(native, printed.as_bytes(), &ReadOptions::new("plan.json"));
        let report = run(parsed.plan.unwrap(), &sessions[2], &Object::default(), &catalog);
        prop_assert!(report.is_same(), "{report:?}\n{printed}");
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
