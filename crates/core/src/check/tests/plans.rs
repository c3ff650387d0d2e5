//! Sub-plans.

use proptest::prelude::*;
use serde_json::json;

use super::fixture::CheckFixture;
use crate::check::passes::cycles::DependencyGraph;
use crate::check::{Limits, Policy};

const TOOLS: &str = r#"{"e": {}}"#;

#[test]
fn plans_by_name() {
    let fixture = CheckFixture::with_tools(TOOLS)
        .plan("summary", r#"{"inputs": {"text": {"type": "string"}, "most": {"type": "integer", "default": 3}}, "steps": [{"id": "x", "tool": "e", "args": {"t": "${inputs.text}", "m": "${inputs.most}"}}]}"#)
        .plan("faulty", r#"{"steps": [{"id": "x", "tool": "gone"}]}"#);
    fixture.expect(
        r#"{"steps": [{"id": "p", "plan": "summary", "args": {"text": "t"}}]}"#,
        &[],
    );
    fixture.expect(
        r#"{"steps": [{"id": "p", "plan": "sumary", "args": {"text": "t"}}]}"#,
        &["PW0207 at /steps/0/plan: there is no plan `sumary` in the library (did you mean `summary`?)"],
    );
    fixture.expect(
        r#"{"steps": [{"id": "p", "plan": "faulty"}, {"id": "q", "plan": "faulty"}]}"#,
        &["PW0201 at /steps/0/tool of `faulty`: there is no tool `gone` (the only tool is `e`)"],
    );
    fixture.expect(
        r#"{"steps": [{"id": "p", "plan": "summary", "args": {"txt": "t", "most": "five"}}, {"id": "q", "plan": "summary", "args": {"text": "${p}", "most": "${p} and more"}}]}"#,
        &[
            "PW0502 at /steps/0/args: the plan `summary` needs the argument `text` (it takes text)",
            "PW0503 at /steps/0/args/txt: the plan `summary` has no input `txt` (did you mean `text`?)",
            r#"PW0501 at /steps/0/args/most: the argument `most` of the plan `summary` does not fit: `"five"` is text, not an integer"#,
            "PW0504 at /steps/1/args/most: the argument `most` of the plan `summary` takes an integer, but a reference inside of text gives text (a reference that stands alone keeps its type)",
        ],
    );
    CheckFixture::default().expect(
        r#"{"steps": [{"id": "p", "plan": "x"}]}"#,
        &["PW0207 at /steps/0/plan: there is no plan `x` in the library (the library is empty)"],
    );
    let mut fixture = CheckFixture::default();
    fixture.library.mention("other");
    fixture.library.add_unreadable("broken");
    fixture.expect(
        r#"{"steps": [{"id": "p", "plan": "oter"}, {"id": "q", "plan": "zzzzz"}, {"id": "r", "plan": "broken"}]}"#,
        &[
            "PW0207 at /steps/0/plan: there is no plan `oter` in the library (did you mean `other`?)",
            "PW0207 at /steps/1/plan: there is no plan `zzzzz` in the library (the plans are `broken`, `other`)",
            "PW0207 at /steps/2/plan: the plan `broken` in the library cannot be read (fix the errors in it)",
        ],
    );
}

#[test]
fn plans_that_stand_in_a_step() {
    let fixture = CheckFixture::with_tools(TOOLS);
    fixture.expect(
        r#"{"steps": [{"id": "p", "plan": {"inputs": {"a": {}}, "steps": [{"id": "x", "tool": "gone", "args": {"v": "${inputs.a}"}}]}, "args": {"a": 1}}]}"#,
        &["PW0201 at /steps/0/plan/steps/0/tool: there is no tool `gone` (the only tool is `e`)"],
    );
    // A sub-plan cannot refer to the steps around it.
    fixture.expect(
        r#"{"steps": [{"id": "a", "tool": "e"}, {"id": "p", "plan": {"steps": [{"id": "x", "tool": "e", "args": {"v": "${a}"}}]}}]}"#,
        &["PW0204 at /steps/1/plan/steps/0/args/v: `${a}` refers to the step `a`, which is not in the plan (the only step is `x`; a plan in a step gets what it needs as arguments)"],
    );
    // The arguments of a delegate are its inputs.
    fixture.expect(
        r#"{"steps": [{"id": "p", "plan": {"steps": [{"id": "x", "tool": "e", "args": {"v": "${inputs.text}"}}]}, "args": {"text": 1}}]}"#,
        &[],
    );
    fixture.expect(
        r#"{"steps": [{"id": "p", "plan": {"steps": [{"id": "x", "tool": "e"}], "output": ["x"]}}, {"id": "s", "tool": "e", "args": {"a": "${p.x}", "b": "${p.z}"}}]}"#,
        &["?PW0406 at /steps/1/args/b: `${p.z}` reads the field `z` in the output of `p`, which the schema does not list (the only field is `x`)"],
    );
}

#[test]
fn plans_that_run_themselves() {
    CheckFixture::with_tools(TOOLS)
        .plan("loop", r#"{"steps": [{"id": "again", "plan": "loop"}]}"#)
        .expect(
            r#"{"steps": [{"id": "p", "plan": "loop"}]}"#,
            &["PW0208 at /steps/0/plan of `loop`: the plan `loop` runs itself: `loop` → `loop` (a plan that repeats something says `repeat` or `for_each`)"],
        );
    CheckFixture::with_tools(TOOLS)
        .plan("a", r#"{"steps": [{"id": "x", "plan": "b"}, {"id": "y", "plan": "b"}]}"#)
        .plan("b", r#"{"steps": [{"id": "x", "plan": "c"}, {"id": "y", "plan": "c"}]}"#)
        .plan("c", r#"{"steps": [{"id": "x", "plan": {"steps": [{"id": "y", "plan": "b"}]}}]}"#)
        .expect(
            r#"{"steps": [{"id": "p", "plan": "a"}]}"#,
            &["PW0208 at /steps/0/plan/steps/0/plan of `c`: the plan `b` runs itself: `b` → `c` → `b` (a plan that repeats something says `repeat` or `for_each`)"],
        );
}

#[test]
fn depth_is_limited() {
    let limits = Limits {
        max_depth: 1,
        ..Limits::default()
    };
    let mut fixture = CheckFixture::with_tools(TOOLS);
    fixture.policy = Policy::new().with_limits(limits);
    fixture.expect(
        r#"{"steps": [{"id": "p", "plan": {"steps": [{"id": "x", "tool": "e"}]}}]}"#,
        &[],
    );
    fixture.expect(
        r#"{"steps": [{"id": "p", "plan": {"steps": [{"id": "q", "plan": {"steps": [{"id": "x", "tool": "e"}]}}]}}]}"#,
        &["PW0704 at /steps/0/plan/steps/0/plan: plans run plans more than 1 deep (nest fewer plans)"],
    );
}

/// A cached plan may be too deep in another place.
#[test]
fn depth_counts_for_each_use_of_a_plan() {
    let limits = Limits {
        max_depth: 2,
        ..Limits::default()
    };
    let mut fixture = CheckFixture::with_tools(TOOLS)
        .plan("a", r#"{"steps": [{"id": "x", "plan": "b"}]}"#)
        .plan("b", r#"{"steps": [{"id": "x", "plan": "c"}]}"#)
        .plan("c", r#"{"steps": [{"id": "x", "tool": "e"}]}"#);
    fixture.policy = Policy::new().with_limits(limits);
    fixture.expect(
        r#"{"steps": [{"id": "p", "plan": "b"}, {"id": "q", "plan": "b"}]}"#,
        &[],
    );
    fixture.expect(
        r#"{"steps": [{"id": "p", "plan": "b"}, {"id": "q", "plan": "a"}]}"#,
        &["PW0704 at /steps/0/plan of `a`: plans run plans more than 2 deep (nest fewer plans)"],
    );
}

#[test]
fn steps_of_inner_plans_count() {
    let limits = Limits {
        max_steps: 7,
        ..Limits::default()
    };
    let mut fixture = CheckFixture::with_tools(TOOLS)
        .plan(
            "a",
            r#"{"steps": [{"id": "x", "plan": "b"}, {"id": "y", "plan": "b"}]}"#,
        )
        .plan(
            "b",
            r#"{"steps": [{"id": "x", "tool": "e"}, {"id": "y", "tool": "e"}]}"#,
        );
    fixture.policy = Policy::new().with_limits(limits);
    fixture.expect(r#"{"steps": [{"id": "p", "plan": "a"}]}"#, &[]);
    fixture.expect(
        r#"{"steps": [{"id": "p", "plan": "a"}, {"id": "q", "tool": "e"}]}"#,
        &["PW0701: the plan has 8 steps with those of all plans and instances that it runs, more than the 7 that are allowed (let fewer steps run plans, or make fewer instances)"],
    );
}

#[test]
fn missing_arguments() {
    CheckFixture::with_tools(TOOLS)
        .plan("summary", r#"{"inputs": {"text": {"type": "string"}}, "steps": [{"id": "x", "tool": "e", "args": {"t": "${inputs.text}"}}]}"#)
        .expect(
            r#"{"steps": [{"id": "p", "plan": "summary"}]}"#,
            &["PW0502 at /steps/0: the plan `summary` needs the argument `text` (it takes text)"],
        );
}

#[test]
fn depth_of_plans_by_name() {
    let mut fixture = CheckFixture::with_tools(TOOLS)
        .plan("inner", r#"{"steps": [{"id": "x", "tool": "e"}]}"#)
        .plan("outer", r#"{"steps": [{"id": "y", "plan": "inner"}]}"#);
    fixture.policy = Policy::new().with_limits(Limits {
        max_depth: 1,
        ..Limits::default()
    });
    fixture.expect(r#"{"steps": [{"id": "p", "plan": "inner"}]}"#, &[]);
    fixture.expect(r#"{"steps": [{"id": "p", "plan": "outer"}]}"#, &["PW0704 at /steps/0/plan of `outer`: plans run plans more than 1 deep (nest fewer plans)"]);
}

#[test]
fn slots_that_are_shared_need_no_writer() {
    let fixture = CheckFixture::with_tools(TOOLS).plan(
        "inner",
        r#"{"steps": [{"id": "x", "tool": "e", "args": {"v": "${slots.state.a}"}}]}"#,
    );
    fixture.expect(r#"{"steps": [{"id": "p", "plan": "inner"}]}"#, &["?PW0407 at /steps/0/args/v of `inner`: `${slots.state.a}` reads the slot `state.a`, which nothing fills (what reads it will be skipped)"]);
    fixture.expect(
        r#"{"state": {"a": 1}, "steps": [{"id": "p", "plan": "inner", "scopes": ["state"]}]}"#,
        &[],
    );
    fixture.expect(
        r#"{"state": {"a": 1}, "steps": [{"id": "p", "plan": "inner", "scopes": ["data"]}]}"#,
        &["?PW0407 at /steps/0/args/v of `inner`: `${slots.state.a}` reads the slot `state.a`, which nothing fills (what reads it will be skipped)"],
    );
}

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
