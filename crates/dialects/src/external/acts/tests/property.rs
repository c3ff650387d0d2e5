//! Property tests of the dialect.

use planwright_core::plan::{Keyword, Method};
use planwright_core::{Plan, Value};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::{described, diagnostics, parsed};
use crate::acts::Acts;
use crate::acts::expression::{escape, read, unescape};
use crate::acts::reference::method_word;
use crate::dialect::Dialect;
use crate::parse::{ParseResult, ReadOptions, parse};
use crate::registry::{dialect, dialects};

/// The plan without its places.
fn meaning(plan: &Plan) -> String {
    let written = format!("{plan:?}");
    let mut parts = written.split("Place(");
    let mut meaning = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(')').unwrap_or(part.len());
        meaning.push_str(&part[end..]);
    }
    meaning
}

fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-c]",
        "[a-z_][a-zA-Z0-9_-]{0,5}",
        "[0-9]{1,2}",
        Just("größe".to_owned())
    ]
}

/// A key that cannot follow a dot.
fn odd_key() -> impl Strategy<Value = String> {
    r#" [a.†|&"\\\[\] é]{0,4}"#.prop_map(|key| format!("[{}]", Value::from(key).to_json()))
}

fn place(kinds: &'static [&'static str]) -> impl Strategy<Value = String> {
    let key = prop_oneof![4 => word().prop_map(|key| format!(".{key}")), 1 => odd_key()];
    (prop::sample::select(kinds), vec(key, 0..3))
        .prop_map(|(kind, keys)| format!("†{kind}{}", keys.concat()))
}

fn expression(kinds: &'static [&'static str]) -> impl Strategy<Value = String> {
    (
        vec(place(kinds), 1..4),
        prop::sample::select(&[" || ", " && "][..]),
    )
        .prop_map(|(places, operator)| places.join(operator))
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof!["[†a-c|&. ]{0,8}", ".{0,6}"]
}

fn literal() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any_text().prop_map(|text| Value::from(escape(&text))),
    ]
}

fn argument() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        literal(),
        expression(&["input", "state", "data"]).prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::list),
            vec((any_text(), inner), 0..3).prop_map(Value::object),
        ]
    })
}

fn call() -> impl Strategy<Value = Value> {
    let tool = prop_oneof!["[a-b]", "[a-b]#[2-3]", "[a-z]{1,4}"];
    let meta = (
        option::of(expression(&["state", "data"])),
        option::of(prop::sample::select(Method::ALL)),
        option::of(prop::sample::select(&["n1", "n2"][..])),
        option::of(".{0,5}"),
    );
    let action = prop_oneof![
        4 => Just(Vec::new()),
        1 => "[a-z]{1,4}".prop_map(|name| vec![("_activity", Value::from(name))]),
        1 => "[a-z]{1,4}".prop_map(|name| vec![
            ("_delegate", Value::from(name)),
            ("_scopes", Value::list([Value::from("state"), Value::from("input")])),
        ]),
        1 => Just(vec![("_delegate", Value::from("anonymous"))]),
        1 => argument().prop_map(|value| vec![("_output", value)]),
    ];
    let parameters = vec(("[a-z]{1,3}|__[a-z]?", argument()), 0..3);
    (tool, parameters, meta, action).prop_map(|(tool, parameters, meta, action)| {
        let (path, method, instance, note) = meta;
        let mut fields = vec![("_tool".to_owned(), Value::from(tool))];
        fields.extend(parameters);
        let mut add = |key: &str, value: Option<Value>| {
            fields.extend(value.map(|value| (key.to_owned(), value)));
        };
        let method = path.as_ref().and(method);
        add("_outputPath", path.map(Value::from));
        add(
            "_outputMethod",
            method.map(|method| method_word(method).into()),
        );
        add("_instance", instance.map(Value::from));
        add("_reasoningForCall", note.map(Value::from));
        for (key, value) in action {
            add(key, Some(value));
        }
        Value::object(fields)
    })
}

fn message() -> impl Strategy<Value = Value> {
    let kind = prop::sample::select(&["input", "state", "data"][..]);
    let fields = vec(("[a-z]{1,3}|type|schema|state|_x", literal()), 0..3);
    let instance = option::of(prop::sample::select(&["n1", "n2"][..]));
    let slots = (kind, fields, instance, any::<bool>()).prop_map(
        |(kind, fields, instance, with_schema)| {
            let mut message = vec![("type", Value::from(kind))];
            message.extend(instance.map(|instance| ("_instance", Value::from(instance))));
            message.push((kind, Value::object(fields)));
            if with_schema {
                message.push(("schema", Value::object([("type", Value::from("object"))])));
            }
            Value::object(message)
        },
    );
    let preserved = any_text()
        .prop_map(|text| Value::object([("type", Value::from("text")), ("text", text.into())]));
    let plan = Just(Value::object([
        ("type", Value::from("plan")),
        ("plan", Value::list([])),
        ("mode", "lazy".into()),
    ]));
    prop_oneof![3 => slots, 1 => preserved, 1 => plan]
}

fn plan() -> impl Strategy<Value = Value> {
    let mode = option::of(prop::sample::select(&["eager", "lazy"][..]));
    (
        vec(message(), 0..4),
        vec(call(), 0..4),
        option::of(argument()),
        mode,
    )
        .prop_map(|(messages, calls, output, mode)| {
            let instances = ["n1", "n2"].map(|name| {
                Value::object([("type", Value::from("state")), ("_instance", name.into())])
            });
            let mut fields = vec![
                (
                    "context",
                    Value::list(instances.into_iter().chain(messages)),
                ),
                ("calls", Value::list(calls)),
            ];
            fields.extend(output.map(|output| ("output", output)));
            fields.extend(mode.map(|mode| ("mode", mode.into())));
            Value::object(fields)
        })
}

/// Values with keys and texts that have a meaning here.
fn hostile_value() -> impl Strategy<Value = Value> {
    let words = [
        "context",
        "calls",
        "output",
        "plan",
        "mode",
        "meta",
        "type",
        "input",
        "state",
        "data",
        "schema",
        "kind",
        "_instance",
        "_tool",
        "_outputPath",
        "_outputMethod",
        "_delegate",
        "_scopes",
        "_activity",
        "_output",
        "_reasoningForCall",
        "_odd",
        "__",
        "_",
        "a",
        "†state",
    ];
    let texts = [
        "plan",
        "input",
        "state",
        "data",
        "text",
        "lazy",
        "a",
        "",
        "anonymous",
        "push",
        "†state.a",
        "†data",
        "†input.a",
        "†state.a || †state.b",
        "†state.a && †data",
        "†a || b && †",
        "††",
        "†",
        "† state",
        "†state.a.",
        "a #2",
        "a#2",
    ];
    let leaf = prop_oneof![
        6 => prop::sample::select(texts.to_vec()).prop_map(Value::from),
        1 => prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
        ],
    ];
    leaf.prop_recursive(6, 60, 6, move |inner| {
        let key = prop::sample::select(words.to_vec());
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::list),
            vec((key, inner), 0..6).prop_map(Value::object),
        ]
    })
}

/// Returns true if there is a diagnostic that is not about a text which looks like a reference of another system: a random
/// text such as `&a` does.
fn has_unexpected(result: &ParseResult) -> bool {
    let mut diagnostics = result.diagnostics.iter();
    diagnostics.any(|found| !found.message.contains("in other systems"))
}

proptest! {
    #[test]
    fn what_is_written_reads_as_the_same_plan(value in plan()) {
        let text = value.to_json();
        let first = parsed(&text);
        prop_assert!(!has_unexpected(&first), "{text}\n{}", diagnostics(&first));
        // A text that certainly is a reference of another system is rejected.
        prop_assume!(!first.diagnostics.has_errors());
        let plan = first.plan.expect("a plan");
        let (written, losses) = Acts.print(&plan);
        prop_assert!(losses.is_empty(), "{text}\n{losses:?}");
        let written = written.expect("a text");
        let second = parsed(&written);
        prop_assert!(!has_unexpected(&second), "{written}\n{}", diagnostics(&second));
        let again = second.plan.expect("a plan");
        prop_assert_eq!(meaning(&again), meaning(&plan), "{}", written);
        // A second round trip changes nothing, not even places.
        let (twice, _) = Acts.print(&again);
        prop_assert_eq!(twice.as_deref(), Some(&*written));
        prop_assert_eq!(parsed(&written).plan.expect("a plan"), again);
    }

    #[test]
    fn the_native_dialect_can_say_all_of_it(value in plan()) {
        let first = parsed(&value.to_json());
        // A text that looks like a reference cannot be written as a text everywhere.
        prop_assume!(first.diagnostics.is_empty());
        let plan = first.plan.expect("a plan");
        let native = dialect("native").expect("the native dialect");
        let (written, losses) = native.print(&plan);
        prop_assert!(losses.is_empty(), "{losses:?}");
        let written = written.expect("a text");
        let options = ReadOptions::new("plan").in_dialect("native");
        let result = parse(written.as_bytes(), &options);
        // Ids such as `in` are a warning there.
        prop_assert!(!result.diagnostics.has_errors(), "{written}\n{}", diagnostics(&result));
        let again = result.plan.expect("a plan");
        prop_assert_eq!(described(&again), described(&plan), "{}", written);
        let (back, losses) = Acts.print(&again);
        prop_assert!(losses.is_empty(), "{losses:?}");
        prop_assert_eq!(back, Acts.print(&plan).0);
    }

    #[test]
    fn no_plan_is_too_wild(value in hostile_value()) {
        let text = value.to_json();
        let result = parsed(&text);
        prop_assert!(result.plan.is_some() || result.diagnostics.has_errors(), "{text}");
        for diagnostic in &result.diagnostics {
            let span = diagnostic.span.unwrap_or_default();
            prop_assert!(text.get(span.start..span.end).is_some(), "{text}\n{diagnostic}");
        }
        if let Some(plan) = result.plan {
            for dialect in dialects() {
                let (written, losses) = dialect.print(&plan);
                prop_assert_eq!(written.is_none(), losses.has_errors(), "{}", text);
            }
        }
    }

    #[test]
    fn every_text_has_a_way_to_be_written(text in any_text()) {
        let escaped = escape(&text);
        prop_assert_eq!(unescape(&escaped), Ok(text.clone()));
        let quoted = Value::object([("_tool", Value::from("t")), ("v", escaped.into())]).to_json();
        let result = parsed(&quoted);
        prop_assert!(!has_unexpected(&result), "{quoted}\n{}", diagnostics(&result));
        let plan = result.plan.expect("a plan");
        let arg = plan.steps[0].args.as_literal().and_then(|args| args.get("v"));
        prop_assert_eq!(arg.and_then(Value::as_text), Some(&*text));
    }

    #[test]
    fn whatever_reads_as_an_expression_is_written_the_same(text in "[†a. |&state]{0,12}|(†state|†data|†input|\\.a|\\|\\||&&| ){0,6}") {
        match read(&text) {
            Ok(expression) => {
                let written = expression.to_string();
                prop_assert_eq!(read(&written), Ok(expression), "{}", written);
            }
            Err(errors) => {
                prop_assert!(!errors.is_empty());
                for error in errors {
                    prop_assert!(text.get(error.range.clone()).is_some(), "{:?}", error);
                    if let Some(fix) = error.fix {
                        prop_assert!(read(&fix).is_ok(), "{}", fix);
                    }
                }
            }
        }
    }
}
