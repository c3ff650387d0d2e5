//! Tests of the plans that are learned from traces.

use std::fmt::Write as _;

use planwright_core::{Catalog, Tool, Value};
use planwright_learn::{FindingKind, LearnedPlan, Trace, TraceAnswer, TracedCall, generalize};

use crate::readers::golden;

/// Returns a catalog of tools; the names of those that only read begin with `get`, `find`, `search` or `list`.
pub(crate) fn catalog(names: &[&str]) -> Catalog {
    names
        .iter()
        .map(|name| {
            let (server, name) = name.split_once('.').unwrap_or(("unknown", name));
            let mut tool = Tool::new(server, name);
            let reads = ["get", "find", "search", "list", "weather"];
            tool.annotations.read_only = reads.iter().any(|word| name.starts_with(word));
            tool.annotations.trusted = true;
            tool
        })
        .collect()
}

/// Learns from traces and returns the plan in lines, with the inputs and the findings.
fn learned(mut traces: Vec<Trace>, names: &[&str]) -> String {
    let catalog = catalog(names);
    for trace in &mut traces {
        assert_eq!(trace.resolve(&catalog), Vec::<std::sync::Arc<str>>::new());
    }
    text(&generalize(&traces, &catalog))
}

pub(crate) fn text(learned: &LearnedPlan) -> String {
    let lines = planwright_dialects::by_name("lines").unwrap();
    let (printed, losses) = lines.print(&learned.plan);
    let mut text = printed.unwrap_or_else(|| panic!("{losses:?}"));
    text.push_str("---\n");
    for input in &learned.inputs {
        let values: Vec<String> = input
            .values
            .iter()
            .map(|value| value.as_ref().map_or("-".to_owned(), Value::to_json))
            .collect();
        writeln!(text, "{}: {}", input.name, values.join(", ")).unwrap();
    }
    for finding in &learned.findings {
        let mark = if finding.undecided {
            "undecided"
        } else {
            "note"
        };
        writeln!(text, "{mark}: {}", finding.message).unwrap();
    }
    writeln!(text, "complete: {}", learned.is_complete()).unwrap();
    text
}

/// A trace of calls `(tool, arguments, answer)`, each in a round of its own.
pub(crate) fn trace(calls: &[(&str, &str, &str)]) -> Trace {
    let calls = calls.iter().enumerate();
    Trace {
        name: "trace".to_owned(),
        calls: calls
            .map(|(round, (tool, args, answer))| TracedCall {
                tool: (*tool).into(),
                args: Value::from_json(args).unwrap(),
                answer: TraceAnswer::Output(Value::from_json(answer).unwrap()),
                round,
            })
            .collect(),
        ..Trace::default()
    }
}

#[test]
fn references_inputs_and_templates_are_recovered() {
    let traces = [golden("openai-refund"), golden("openai-refund.2")].concat();
    insta::assert_snapshot!(learned(
        traces,
        &["orders.get_order", "orders.refund", "mail.send"]
    ));
}

#[test]
fn a_single_trace_leaves_constants_open() {
    insta::assert_snapshot!(learned(
        golden("openai-refund"),
        &["orders.get_order", "orders.refund", "mail.send"]
    ));
}

#[test]
fn items_of_the_responses_api_are_traces() {
    let traces = [golden("openai-responses"), golden("openai-responses.2")].concat();
    insta::assert_snapshot!(learned(traces, &["unknown.weather", "slack.post"]));
}

#[test]
fn repeated_calls_become_a_loop() {
    let traces = [golden("anthropic-close"), golden("anthropic-close.2")].concat();
    insta::assert_snapshot!(learned(
        traces,
        &["tracker.search_tickets", "tracker.close_ticket"]
    ));
}

#[test]
fn a_condition_that_agrees_with_all_traces_becomes_when() {
    insta::assert_snapshot!(learned(
        golden("otel-check-in"),
        &["find_booking", "bring_cot", "check_in"]
    ));
}

/// Learns from traces of the tools `find`, `get_more` and `change`, and returns the kinds of findings.
pub(crate) fn kinds(traces: &[Trace]) -> (LearnedPlan, Vec<FindingKind>) {
    let catalog = catalog(&["find", "get_more", "change", "other"]);
    let learned = generalize(traces, &catalog);
    let kinds = learned
        .findings
        .iter()
        .map(|finding| finding.kind)
        .collect();
    (learned, kinds)
}

#[test]
fn a_value_in_several_places_is_read_where_they_agree() {
    let (learned, found) = kinds(&[
        trace(&[
            ("find", "{}", r#"{"owner": "ab-771", "editor": "ab-771"}"#),
            ("change", r#"{"user": "ab-771"}"#, "1"),
        ]),
        trace(&[
            ("find", "{}", r#"{"owner": "ab-204", "editor": "ab-204"}"#),
            ("change", r#"{"user": "ab-204"}"#, "1"),
        ]),
    ]);
    assert_eq!(found, [FindingKind::AgreeingReferences]);
    assert!(!learned.is_complete() && learned.inputs.is_empty());
    assert!(
        text(&learned).contains("${[find.owner].filter(same, find.owner == find.editor)[0]}"),
        "{}",
        text(&learned)
    );
    // Nothing proves that the place of a single trace is the right one.
    let (learned, found) = kinds(&[trace(&[
        ("find", "{}", r#"{"owner": "ab-771", "editor": "ab-771"}"#),
        ("change", r#"{"user": "ab-771"}"#, "1"),
    ])]);
    assert_eq!(
        found,
        [FindingKind::AmbiguousReference, FindingKind::SingleTrace]
    );
    assert_eq!(&*learned.inputs[0].name, "user");
}

/// Returns a trace with a request.
pub(crate) fn asked(request: &str, calls: &[(&str, &str, &str)]) -> Trace {
    Trace {
        request: Some(request.to_owned()),
        ..trace(calls)
    }
}

#[test]
fn an_item_is_selected_by_words_that_all_requests_say() {
    let order = |keyboard: &str, lamp: &str| {
        format!(
            r#"{{"items": [{{"id": "{lamp}", "name": "Floor Lamp", "options": {{"color": "black"}}}},
                {{"id": "{keyboard}", "name": "Mechanical Keyboard", "options": {{"color": "black"}}}}]}}"#
        )
    };
    let session = |keyboard: &str, lamp: &str| {
        asked(
            "Return the mechanical keyboard, the black one.",
            &[
                ("find", "{}", &order(keyboard, lamp)),
                ("change", &format!(r#"{{"item": "{keyboard}"}}"#), "1"),
            ],
        )
    };
    let traces = vec![
        session("1151293680", "4202497723"),
        session("9408160950", "4602305039"),
    ];
    insta::assert_snapshot!(learned(traces, &["find", "change"]));
}

#[test]
fn the_values_of_objects_with_data_as_keys_are_items() {
    let session = |one: &str, other: &str, brand: &str| {
        let answer = format!(
            r#"{{"cards": {{"card_{one}": {{"id": "card_{one}", "brand": "visa"}}, "card_{other}": {{"id": "card_{other}", "brand": "{brand}"}}}}}}"#
        );
        asked(
            "Pay with the visa card.",
            &[
                ("find", "{}", &answer),
                ("change", &format!(r#"{{"card": "card_{one}"}}"#), "1"),
            ],
        )
    };
    let (plan, found) = kinds(&[
        session("4421", "5530", "amex"),
        session("7710", "1203", "jcb"),
    ]);
    assert_eq!(found, []);
    assert!(
        text(&plan).contains("find.cards.values().filter(each, each.brand == "),
        "{}",
        text(&plan)
    );
    // Two of them have the brand in one trace.
    let (plan, found) = kinds(&[
        session("4421", "5530", "visa"),
        session("7710", "1203", "jcb"),
    ]);
    assert_eq!(found, [FindingKind::UnknownOrigin]);
    assert_eq!(plan.inputs.len(), 1);
}

#[test]
fn an_end_of_a_list_is_an_input() {
    // The cheapest offer is the first one of each list, and would not be in a list of another order.
    let session = |first: usize, length: usize| {
        let offers: Vec<String> = (first..first + length)
            .map(|id| format!(r#"{{"id": "ab-{id}", "price": {id}}}"#))
            .collect();
        trace(&[
            (
                "find",
                "{}",
                &format!(r#"{{"offers": [{}]}}"#, offers.join(", ")),
            ),
            ("change", &format!(r#"{{"offer": "ab-{first}"}}"#), "1"),
        ])
    };
    let (learned, found) = kinds(&[session(100, 3), session(200, 5), session(300, 4)]);
    assert_eq!(found, [FindingKind::PositionalReference]);
    assert_eq!(&*learned.inputs[0].name, "offer");
}

#[test]
fn short_numbers_need_three_different_values() {
    let session = |count: u32| {
        trace(&[
            ("find", "{}", &format!(r#"{{"stock": {count}}}"#)),
            ("change", &format!(r#"{{"count": {count}}}"#), "1"),
        ])
    };
    let (learned, _) = kinds(&[session(12), session(15)]);
    assert_eq!(learned.inputs.len(), 1);
    let (learned, _) = kinds(&[session(12), session(15), session(31)]);
    assert_eq!(learned.inputs.len(), 0);
    // In several places they are an input, however many traces agree.
    let session = |count: u32| {
        trace(&[
            (
                "find",
                "{}",
                &format!(r#"{{"stock": {count}, "day": {count}}}"#),
            ),
            ("change", &format!(r#"{{"count": {count}}}"#), "1"),
        ])
    };
    let (learned, found) = kinds(&[session(12), session(15), session(31)]);
    assert_eq!(found, [FindingKind::AmbiguousReference]);
    assert_eq!(learned.inputs.len(), 1);
}

#[test]
fn redacted_values_are_inputs_that_are_undecided() {
    let session = |user: &str, token: &str| {
        trace(&[
            (
                "find",
                &format!(r#"{{"user": "{user}", "pin": "[redacted]"}}"#),
                &format!(r#"{{"token": "{token}"}}"#),
            ),
            ("change", r#"{"header": "Bearer [redacted]"}"#, "1"),
        ])
    };
    // The mask of an answer is not the origin of that of an argument.
    for traces in [
        vec![
            session("ab-1001", "[redacted]"),
            session("ab-1002", "[redacted]"),
        ],
        vec![session("ab-1001", "[redacted]")],
    ] {
        let (learned, found) = kinds(&traces);
        assert!(!learned.is_complete());
        let count = found
            .iter()
            .filter(|kind| **kind == FindingKind::RedactedValue);
        assert_eq!(count.count(), 2, "{found:?}");
        for name in ["pin", "header"] {
            let input = learned
                .plan
                .inputs
                .iter()
                .find(|input| &*input.name == name);
            let input = input.unwrap();
            assert_eq!(input.default, None);
            assert_eq!(input.schema.to_json(), r#"{"writeOnly":true}"#);
        }
    }
    // In a loop as well.
    let session = |first: usize, count: usize| {
        let mut calls = vec![("find", "{}".to_owned(), r#"{"n": 1}"#.to_owned())];
        for id in first..first + count {
            let args = format!(r#"{{"user": "ab-{id}", "pin": "[redacted]"}}"#);
            calls.push(("change", args, "1".to_owned()));
        }
        let calls: Vec<(&str, &str, &str)> = calls
            .iter()
            .map(|(tool, args, answer)| (*tool, &**args, &**answer))
            .collect();
        trace(&calls)
    };
    let (learned, found) = kinds(&[session(1001, 2), session(2001, 3)]);
    assert!(found.contains(&FindingKind::RedactedValue), "{found:?}");
    assert!(!learned.is_complete());
}

#[test]
fn constants_after_untrusted_data_are_undecided() {
    let session = |order: &str| {
        trace(&[
            ("find", "{}", &format!(r#"{{"id": "{order}"}}"#)),
            (
                "change",
                &format!(r#"{{"order": "{order}", "to": "acct-99"}}"#),
                "1",
            ),
        ])
    };
    let mut traces = [session("ab-1001"), session("ab-2002")];
    assert_eq!(kinds(&traces).1, []);
    traces[1].is_exposed = true;
    assert_eq!(kinds(&traces).1, [FindingKind::UntrustedConstant]);
}

#[test]
fn a_condition_that_one_absence_proves_is_undecided() {
    let session = |due: bool| {
        let answer = format!(r#"{{"due": {due}}}"#);
        let calls = [("find", "{}", &*answer), ("change", "{}", "1")];
        trace(if due { &calls[..] } else { &calls[..1] })
    };
    let (learned, found) = kinds(&[session(true), session(true), session(false)]);
    assert_eq!(found, [FindingKind::SingleTrace]);
    assert!(learned.plan.steps[1].when.is_some());
    let all = [session(true), session(true), session(false), session(false)];
    assert_eq!(kinds(&all).1, []);
}

#[test]
fn a_failed_read_with_other_arguments_is_undecided() {
    let session = |id: &str| {
        let mut trace = trace(&[
            ("find", r#"{"kind": "direct"}"#, "1"),
            (
                "find",
                r#"{"kind": "one_stop"}"#,
                &format!(r#"{{"id": "{id}"}}"#),
            ),
            ("change", &format!(r#"{{"id": "{id}"}}"#), "1"),
        ]);
        trace.calls[0].answer = TraceAnswer::Failed("none".to_owned());
        trace
    };
    let (learned, found) = kinds(&[session("ab-1001"), session("ab-2002")]);
    assert_eq!(found, [FindingKind::FailedCall; 2]);
    assert!(!learned.is_complete());
}

#[test]
fn the_search_for_loops_of_several_calls_is_bounded() {
    // Pairs of tools in turn, each pair once more: all of them are bodies that no loop repeats.
    let names: Vec<String> = (0..200).map(|number| format!("tool_{number}")).collect();
    let mut calls = Vec::new();
    for pair in names.chunks(2) {
        for _ in 0..2 {
            for name in pair {
                calls.push((&**name, r#"{"a": "x"}"#, "1"));
            }
        }
    }
    let (learned, _) = kinds(&[trace(&calls)]);
    assert_eq!(learned.calls[0].len(), calls.len());
    assert!(!learned.is_complete());
}

#[test]
fn a_limit_that_all_requests_say_becomes_a_condition() {
    let session = |price: u32| {
        let answer = format!(r#"{{"price": {price}}}"#);
        let calls = [
            ("find", "{}", &*answer),
            ("change", r#"{"note": "dear"}"#, "1"),
        ];
        let made = if price > 100 { &calls[..] } else { &calls[..1] };
        asked("Mark it if it costs more than 100 EUR.", made)
    };
    // Each number of the answers may be on the right side by chance.
    let (learned, found) = kinds(&[session(120), session(80), session(400), session(20)]);
    assert_eq!(found, [FindingKind::PossibleLimit]);
    assert!(!learned.is_complete());
    assert!(
        text(&learned).contains("[find.price > 100].filter(same, find.price != 100)[0]"),
        "{}",
        text(&learned)
    );
    // A single trace on one side may be there by chance.
    let (_, found) = kinds(&[session(120), session(80), session(20)]);
    assert_eq!(found, [FindingKind::OptionalCall]);
}

/// A session over items: for each of them `get_more` and `change`, one after the other.
fn interleaved(first: usize, count: usize) -> Trace {
    let ids: Vec<usize> = (first..first + count).collect();
    let items: Vec<String> = ids
        .iter()
        .map(|id| format!(r#"{{"id": "ab-{id}"}}"#))
        .collect();
    let mut calls = vec![(
        "find",
        "{}".to_owned(),
        format!(r#"{{"items": [{}]}}"#, items.join(", ")),
    )];
    for id in ids {
        calls.push((
            "get_more",
            format!(r#"{{"id": "ab-{id}"}}"#),
            format!(r#"{{"owner": "user-{}"}}"#, id * 7),
        ));
        calls.push((
            "change",
            format!(
                r#"{{"id": "ab-{id}", "owner": "user-{}", "state": "closed"}}"#,
                id * 7
            ),
            "1".to_owned(),
        ));
    }
    let calls: Vec<(&str, &str, &str)> = calls
        .iter()
        .map(|(tool, args, answer)| (*tool, &**args, &**answer))
        .collect();
    trace(&calls)
}

#[test]
fn calls_in_turn_become_a_loop_with_several_steps() {
    let (plan, found) = kinds(&[interleaved(100, 3), interleaved(200, 2)]);
    assert_eq!(found, []);
    assert_eq!(plan.plan.steps.len(), 2);
    let native = planwright_dialects::by_name("native").unwrap();
    let (printed, losses) = native.print(&plan.plan);
    insta::assert_snapshot!(printed.unwrap_or_else(|| panic!("{losses:?}")));
    // The number is the same, and there is a list for it.
    let (plan, found) = kinds(&[interleaved(100, 3), interleaved(200, 3)]);
    assert_eq!(found, []);
    assert_eq!(plan.plan.steps.len(), 2);
    // Nothing says what the calls are repeated for, so there is no loop.
    let without_list = |first| {
        let mut trace = interleaved(first, 2);
        trace.calls.remove(0);
        trace
    };
    let (plan, _) = kinds(&[without_list(100), without_list(200)]);
    assert_eq!(plan.plan.steps.len(), 4);
    assert!(plan.plan.steps.iter().all(|step| step.for_each.is_none()));
}

#[test]
fn an_item_among_several_is_an_input() {
    let (learned, found) = kinds(&[
        trace(&[
            ("find", "{}", r#"{"ids": ["ab-771", "ab-100"]}"#),
            ("change", r#"{"user": "ab-771"}"#, "1"),
        ]),
        trace(&[
            ("find", "{}", r#"{"ids": ["ab-204", "ab-200"]}"#),
            ("change", r#"{"user": "ab-204"}"#, "1"),
        ]),
    ]);
    assert_eq!(found, [FindingKind::PositionalReference]);
    assert_eq!(&*learned.inputs[0].name, "user");
}

#[test]
fn the_item_that_the_request_names_is_selected() {
    let named = |request: &str, items: &str, user: &str| Trace {
        request: Some(request.to_owned()),
        ..trace(&[
            ("find", "{}", items),
            ("change", &format!(r#"{{"user": "{user}"}}"#), "1"),
        ])
    };
    let traces = [
        named(
            "Change Ana Ruiz, please",
            r#"{"users": [{"id": "ab-771", "name": "Ana Ruiz"}, {"id": "ab-100", "name": "Tom Berg"}]}"#,
            "ab-771",
        ),
        named(
            "Change Eva Dahl",
            r#"{"users": [{"id": "ab-204", "name": "Per Holm"}, {"id": "ab-305", "name": "Eva Dahl"}]}"#,
            "ab-305",
        ),
    ];
    insta::assert_snapshot!(learned(traces.to_vec(), &["find", "change"]));
}

#[test]
fn common_values_are_never_references() {
    for (one, other) in [
        ("true", "false"),
        ("0", "1"),
        (r#""""#, r#""yes""#),
        ("7", "9"),
    ] {
        let call = |value: &str| {
            let args = format!(r#"{{"flag": {value}}}"#);
            let answer = format!(r#"{{"flag": {value}}}"#);
            trace(&[("find", "{}", &answer), ("change", &args, "1")])
        };
        let (learned, _) = kinds(&[call(one), call(other)]);
        assert_eq!(learned.inputs.len(), 1, "{one} and {other}");
    }
}

#[test]
fn contradictory_traces_leave_calls_out() {
    let with = |answer: &str| {
        trace(&[
            ("find", "{}", answer),
            ("change", r#"{"user": "ab-771"}"#, "1"),
        ])
    };
    let without = |answer: &str| trace(&[("find", "{}", answer)]);
    // No condition agrees.
    let (learned, found) = kinds(&[with(r#"{"open": true}"#), without(r#"{"open": true}"#)]);
    assert_eq!(found, [FindingKind::OptionalCall]);
    assert_eq!(learned.plan.steps.len(), 1);
    assert!(!learned.is_complete());
    // Two conditions agree.
    let (_, found) = kinds(&[
        with(r#"{"open": true, "due": true}"#),
        without(r#"{"open": false, "due": false}"#),
    ]);
    assert_eq!(found, [FindingKind::OptionalCall]);
    // One condition agrees. The calls of a single trace would leave their constants open.
    let (learned, found) = kinds(&[
        with(r#"{"open": true}"#),
        without(r#"{"open": false}"#),
        with(r#"{"open": true}"#),
        without(r#"{"open": false}"#),
    ]);
    assert_eq!(found, []);
    assert!(learned.plan.steps[1].when.is_some());
}

#[test]
fn optional_arguments_and_lost_answers_are_undecided() {
    let (learned, found) = kinds(&[
        trace(&[("change", r#"{"user": "ab-771", "note": "soon"}"#, "1")]),
        trace(&[("change", r#"{"user": "ab-771"}"#, "1")]),
    ]);
    assert_eq!(found, [FindingKind::OptionalArgument]);
    assert!(!learned.is_complete());
    let mut lost = trace(&[("change", "{}", "1")]);
    lost.calls[0].answer = TraceAnswer::Missing;
    let (_, found) = kinds(&[lost.clone(), lost.clone()]);
    assert_eq!(
        found,
        [
            FindingKind::MissingAnswer,
            FindingKind::MissingAnswer,
            FindingKind::SingleTrace
        ]
    );
    lost.calls[0].answer = TraceAnswer::Failed("no".to_owned());
    let (learned, found) = kinds(&[lost.clone(), lost]);
    assert_eq!(found, [FindingKind::FailedCall; 2]);
    assert!(learned.plan.steps.is_empty());
}

#[test]
fn calls_over_values_that_nothing_lists_take_a_list_as_input() {
    let calls = |users: &[&str]| {
        let args: Vec<String> = users
            .iter()
            .map(|user| format!(r#"{{"user": "{user}", "role": "guest"}}"#))
            .collect();
        let calls: Vec<(&str, &str, &str)> =
            args.iter().map(|args| ("change", &**args, "1")).collect();
        trace(&calls)
    };
    let (learned, found) = kinds(&[
        calls(&["ab-1001", "ab-1002"]),
        calls(&["ab-2001", "ab-2002", "ab-2003"]),
    ]);
    assert_eq!(found, [FindingKind::InputLoop]);
    assert_eq!(
        learned.inputs[0].values[0].as_ref().unwrap().to_json(),
        r#"["ab-1001","ab-1002"]"#
    );
    let step = &learned.plan.steps[0];
    // Changes stay in the recorded order.
    assert_eq!(
        step.for_each.as_ref().unwrap().max_parallel.unwrap().get(),
        1
    );
}

#[test]
fn changes_stay_in_the_recorded_order() {
    let (learned, _) = kinds(&[trace(&[
        ("find", r#"{"q": "a"}"#, "1"),
        ("get_more", r#"{"q": "b"}"#, "1"),
        ("change", r#"{"q": "c"}"#, "1"),
        ("other", r#"{"q": "d"}"#, "1"),
        ("find", r#"{"q": "e"}"#, "1"),
    ])]);
    let after: Vec<Vec<&str>> = learned
        .plan
        .steps
        .iter()
        .map(|step| step.after.iter().map(|name| &*name.text).collect())
        .collect();
    let none: Vec<&str> = Vec::new();
    assert_eq!(
        after,
        [
            none.clone(),
            none,
            vec!["find", "get_more"],
            vec!["change"],
            vec!["other"]
        ]
    );
}
