//! Sub-plans.

use super::fixture::CheckFixture;
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
