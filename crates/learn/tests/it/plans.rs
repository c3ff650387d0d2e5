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

fn text(learned: &LearnedPlan) -> String {
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
fn kinds(traces: &[Trace]) -> (LearnedPlan, Vec<FindingKind>) {
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
fn a_value_in_several_places_is_an_input() {
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
    assert_eq!(found, [FindingKind::AmbiguousReference]);
    assert_eq!(&*learned.inputs[0].name, "user");
    assert!(learned.is_complete());
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
