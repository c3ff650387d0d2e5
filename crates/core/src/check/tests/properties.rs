//! Properties of all plans, with and without errors.

use proptest::prelude::*;
use serde_json::json;

use super::fixture::CheckFixture;
use crate::check::passes::graph::DependencyGraph;

/// Generates valid and invalid references.
fn any_text() -> impl Strategy<Value = String> {
    let step = || (0_u8..5).prop_map(|step| format!("s{step}"));
    let slot = || prop::sample::select(vec!["a", "b", "a.x", "b.y"]);
    prop_oneof![
        Just("plain".to_owned()),
        step().prop_map(|step| format!("${{{step}}}")),
        (step(), step()).prop_map(|(one, other)| format!("${{{one}.text ?? {other}.rows[0]}}")),
        step().prop_map(|step| format!("is ${{{step}.rows[*].id}}")),
        slot().prop_map(|slot| format!("${{slots.state.{slot}}}")),
        step().prop_map(|step| format!("${{results.{step}.error.message}}")),
        prop::sample::select(vec![
            "${item}",
            "${index}",
            "${last.x}",
            "${inputs.city}",
            "${slots.state}"
        ])
        .prop_map(str::to_owned),
    ]
}

fn any_step(position: usize) -> impl Strategy<Value = serde_json::Value> {
    let parts = (
        prop::sample::select(vec!["e", "e", "e", "typed", "typed", "typed", "gone"]),
        prop::option::of(any_text()),
        prop::option::of(any_text()),
        prop::option::of(0_u8..5),
        prop::option::of(any_text()),
        prop::option::of(any_text()),
        prop::option::of(prop::sample::select(vec![
            "state.a",
            "state.b",
            "state.a || state.b",
            "state.a.x && state.c",
        ])),
    );
    parts.prop_map(move |(tool, text, count, after, list, until, writes)| {
        let mut step = json!({"id": format!("s{position}"), "tool": tool, "args": {}});
        if let Some(text) = text {
            step["args"]["text"] = json!(text);
        }
        if let Some(count) = count {
            step["args"]["list"] = json!([count, 1]);
        }
        if let Some(after) = after {
            step["after"] = json!([format!("s{after}")]);
        }
        if let Some(list) = list {
            step["for_each"] = json!([list, 1]);
        }
        if let Some(until) = until {
            step["until"] = json!(until);
        }
        if let Some(writes) = writes {
            step["writes"] = json!(writes);
        }
        step
    })
}

fn any_plan() -> impl Strategy<Value = String> {
    let steps = [
        any_step(0).boxed(),
        any_step(1).boxed(),
        any_step(2).boxed(),
        any_step(3).boxed(),
    ];
    (steps, any::<bool>()).prop_map(|(steps, listed)| {
        let mut plan = json!({"input": {"city": "Oslo"}, "steps": steps});
        if listed {
            plan["listed"] = json!(true);
        }
        plan.to_string()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn sound_plans_can_be_run_to_their_end(text in any_plan()) {
        let fixture = CheckFixture::with_tools(r#"{"e": {}, "typed": {
            "in": {"type": "object", "properties": {"text": {"type": "string"}, "list": {"type": "array", "items": {"type": "integer"}}}},
            "out": {"type": "object", "properties": {"text": {"type": "string"}, "rows": {"type": "array", "items": {"type": "object"}}}, "additionalProperties": false}}}"#);
        let (checked, diagnostics) = fixture.check(&text);
        prop_assert_eq!(checked.is_none(), diagnostics.has_errors());
        for diagnostic in &diagnostics {
            prop_assert!(!diagnostic.message.is_empty());
            prop_assert!(!diagnostic.message.ends_with('.'));
        }
        if let Some(checked) = checked {
            let edges = checked.steps().iter().map(|step| {
                step.dependencies.iter().map(|dependency| dependency.on).collect()
            });
            prop_assert_eq!(DependencyGraph::new(edges.collect()).cyclic_components(), Vec::<Vec<u32>>::new());
            for step in checked.steps() {
                prop_assert!(step.initial_dependencies.is_sorted_by(|one, next| one < next));
                for wait in &step.initial_dependencies {
                    let known = step.dependencies.iter().any(|dependency| dependency.on == *wait && !dependency.optional);
                    prop_assert!(known);
                }
            }
        }
    }
}
