//! Round trips: a plan that a dialect can express is unchanged after printing and reading.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::golden::{assert_survives_printing, sound_plan};

/// Text of pieces that are special in some dialect.
fn text() -> impl Strategy<Value = String> {
    let pieces = [
        "a", " ", "$", "$$", "{", "}", "${", "$ref:", "$ref", ".", "[", "\"", "\\", "é", "\n",
    ];
    prop::collection::vec(prop::sample::select(pieces.to_vec()), 0..6).prop_map(|all| all.concat())
}

fn name() -> impl Strategy<Value = String> {
    let names = [
        "a",
        "b",
        "first-name",
        "odd key",
        "x.y",
        "é",
        "0",
        "12",
        "a b.c",
        "$",
        "in",
        "}",
    ];
    prop::sample::select(names.to_vec()).prop_map(str::to_owned)
}

/// A value with leaves from `leaf` and keys from `key`.
fn value(leaf: BoxedStrategy<Value>, key: BoxedStrategy<String>) -> impl Strategy<Value = Value> {
    leaf.prop_recursive(3, 12, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::vec((key.clone(), inner), 0..4).prop_map(|fields| {
                Value::Object(fields.into_iter().collect::<Map<String, Value>>())
            }),
        ]
    })
}

fn object(leaf: BoxedStrategy<Value>, key: BoxedStrategy<String>) -> impl Strategy<Value = Value> {
    prop::collection::vec((key.clone(), value(leaf, key)), 0..4)
        .prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<String, Value>>()))
}

fn plain() -> BoxedStrategy<Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        Just(json!(1.5)),
    ]
    .boxed()
}

/// Text with `${` escaped.
fn escaped() -> BoxedStrategy<String> {
    text()
        .prop_map(|text| text.replace("${", "$${").replace("$$$", "$"))
        .boxed()
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

pub(crate) fn concierge() -> impl Strategy<Value = Value> {
    let segment = prop_oneof![
        name().prop_map(Value::from),
        (-3i64..9).prop_map(Value::from)
    ];
    let path = prop::collection::vec(segment, 0..4);
    let key = prop_oneof![
        4 => name(),
        1 => Just("$output_by_reference".to_owned()),
        1 => Just("$$output_by_reference".to_owned()),
    ]
    .boxed();
    let step = |number: usize| {
        let targets: Vec<String> = (0..number).map(|earlier| format!("s{earlier}")).collect();
        let reference = if targets.is_empty() {
            Just(json!("none")).boxed()
        } else {
            (prop::sample::select(targets), path.clone())
                .prop_map(|(step, path)| json!({"output_by_reference": {step: path}}))
                .boxed()
        };
        let leaf = prop_oneof![plain(), text().prop_map(Value::from), reference].boxed();
        object(leaf, key.clone())
            .prop_map(move |args| json!({"id": format!("s{number}"), "tool": "t", "args": args}))
            .boxed()
    };
    let steps: Vec<BoxedStrategy<Value>> = (0..4).map(step).collect();
    steps.prop_map(|steps| json!({"steps": steps}))
}

pub(crate) fn mcp_cli() -> impl Strategy<Value = Value> {
    let path_text = prop::collection::vec(
        prop_oneof![
            name().prop_map(|name| format!("[{}]", quoted(&name))),
            (-3i64..9).prop_map(|index| format!("[{index}]")),
            prop::sample::select(vec![".a", ".0", ".first-name", ".odd key"])
                .prop_map(str::to_owned),
        ],
        0..3,
    );
    let default = prop_oneof![
        2 => Just(String::new()),
        1 => plain().prop_map(|value| format!(":-{value}")),
        1 => Just(":- some words".to_owned()),
        1 => Just(":-{\"a\": [\"}\"]}".to_owned()),
        1 => Just(":-${v[0]:-${r1.a:-[1]}}".to_owned()),
    ];
    let variable = prop::sample::select(vec!["r0", "r1", "v", "[\"odd.name\"]", "missing"]);
    let marker = (variable, path_text, default)
        .prop_map(|(name, path_text, default)| {
            format!("${{{name}{}{default}}}", path_text.concat())
        })
        .boxed();
    let mixed = prop::collection::vec(prop_oneof![marker.clone(), escaped()], 0..4)
        .prop_map(|parts| parts.concat())
        .prop_filter("a brace stays open", |text| {
            planwright_dialects::parse(
                json!({"steps": [{"tool": "t", "args": {"x": text}}]})
                    .to_string()
                    .as_bytes(),
                &planwright_dialects::ReadOptions::new("test").in_dialect("mcp-cli"),
            )
            .diagnostics
            .is_empty()
        });
    let leaf = prop_oneof![
        plain(),
        marker.prop_map(Value::from),
        mixed.prop_map(Value::from)
    ]
    .boxed();
    let step = (
        object(leaf, name().boxed()),
        prop::collection::vec(0usize..4, 0..3),
        prop::option::of(prop::sample::select(vec!["r0", "r1", "odd.name", "v"])),
        prop::option::of(text()),
    );
    (
        prop::collection::vec(step, 1..5),
        object(plain(), prop::sample::select(vec!["v".to_owned(), "odd.name".to_owned(), "r1".to_owned()]).boxed()),
        any::<bool>(),
    )
        .prop_map(|(steps, variables, named)| {
            let steps: Vec<Value> = steps
                .into_iter()
                .enumerate()
                .map(|(position, (args, after, result, title))| {
                    json!({"index": position, "title": title, "tool": "t", "args": args, "depends_on": after,
                           "result_variable": result})
                })
                .collect();
            let mut plan = json!({"variables": variables, "steps": steps});
            if named {
                plan["id"] = json!("p");
                plan["tags"] = json!(["x"]);
                plan["metadata"] = json!({"a": 1});
            }
            plan
        })
}

pub(crate) fn clear_ai() -> impl Strategy<Value = Value> {
    let path_text = prop::collection::vec(
        prop_oneof![
            name().prop_map(|name| format!("[{}]", quoted(&name))),
            (-3i64..9).prop_map(|index| format!("[{index}]")),
            prop::sample::select(vec![".a", ".*", "[*]", ".first-name"]).prop_map(str::to_owned),
        ],
        0..3,
    );
    let root = prop::sample::select(vec![".data", ".error", ".tool", ".success"]);
    let marker = prop_oneof![
        (0usize..4, root, path_text).prop_map(|(step, root, path_text)| format!(
            "${{step[{step}]{root}{}}}",
            path_text.concat()
        )),
        (0usize..4).prop_map(|step| format!("${{ step[{step}] }}")),
    ]
    .boxed();
    let mixed = prop::collection::vec(
        prop_oneof![
            marker.clone(),
            Just("$$${step[0]}".to_owned()),
            Just("$${".to_owned()),
            Just("a".to_owned())
        ],
        0..4,
    )
    .prop_map(|parts| parts.concat());
    let leaf = prop_oneof![
        plain(),
        marker.prop_map(Value::from),
        mixed.prop_map(Value::from)
    ]
    .boxed();
    let step = (
        object(leaf, name().boxed()),
        prop::collection::vec(0usize..4, 0..3),
        any::<Option<bool>>(),
        any::<Option<bool>>(),
        prop::option::of(1u32..),
        prop::option::of(0u32..u32::MAX),
    );
    prop::collection::vec(step, 4).prop_map(|steps| {
        let steps: Vec<Value> = steps
            .into_iter()
            .map(|(params, after, parallel, optional, timeout, retries)| {
                json!({"tool": "t", "params": params, "depends_on": after, "parallel": parallel, "optional": optional,
                       "timeout": timeout, "retry_count": retries})
            })
            .collect();
        json!({"steps": steps, "metadata": {"query": "q"}})
    })
}

pub(crate) fn agentle() -> impl Strategy<Value = Value> {
    let ids = ["a", "a.b", "odd id", "größe", "a[0]", "1"];
    let path_text = prop::collection::vec(
        prop_oneof![
            name().prop_map(|name| format!("[{}]", quoted(&name))),
            (-3i64..9).prop_map(|index| format!("[{index}]")),
            prop::sample::select(vec![".b", ".0", ".first-name", ".odd key"])
                .prop_map(str::to_owned),
        ],
        0..3,
    );
    let reference = (prop::sample::select(ids.to_vec()), path_text)
        .prop_map(|(id, path_text)| format!("$ref:{id}{}", path_text.concat()));
    let literal = text().prop_map(|text| text.replace("$ref:", "$$ref:"));
    let leaf = prop_oneof![
        plain(),
        reference.prop_map(Value::from),
        literal.prop_map(Value::from)
    ]
    .boxed();
    let step = (object(leaf, name().boxed()), any::<bool>());
    let selected = prop::sample::subsequence(ids.to_vec(), 0..=ids.len());
    (prop::collection::vec(step, ids.len()), selected).prop_map(move |(steps, selected)| {
        let steps: Vec<Value> = steps
            .into_iter()
            .zip(ids)
            .map(|((arguments, as_text), id)| {
                let arguments = if as_text {
                    Value::from(arguments.to_string())
                } else {
                    arguments
                };
                json!({"id": id, "tool": "t", "arguments": arguments})
            })
            .collect();
        json!({"steps": steps, "output_steps": selected})
    })
}

fn check(plan: &Value, name: &str) {
    let plan = sound_plan(&plan.to_string(), name);
    assert_survives_printing(&plan, name);
}

proptest! {
    #[test]
    fn through_concierge(plan in concierge()) {
        check(&plan, "concierge");
    }

    #[test]
    fn through_mcp_cli(plan in mcp_cli()) {
        check(&plan, "mcp-cli");
    }

    #[test]
    fn through_clear_ai(plan in clear_ai()) {
        check(&plan, "clear-ai");
    }

    #[test]
    fn through_agentle(plan in agentle()) {
        check(&plan, "agentle");
    }
}
