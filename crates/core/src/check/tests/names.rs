//! The name pass: unknown and ambiguous names.

use super::fixture::{CheckFixture, plan};
use crate::plan::Action;
use crate::{Lookup, Place};

#[test]
fn a_tool_whose_place_is_not_known_is_where_its_step_is() {
    let fixture = CheckFixture::with_tools(r#"{"get_weather": {}}"#);
    let mut plan = plan(r#"{"steps": [{"id": "a", "tool": "get_wether"}]}"#);
    if let Action::Tool(name) = &mut plan.steps[0].action {
        name.place = Place::NOWHERE;
    }
    let (_, diagnostics) = fixture.check_plan(plan);
    let diagnostics: Vec<_> = diagnostics.iter().collect();
    assert_eq!(diagnostics.len(), 1);
    assert_eq!(
        diagnostics[0].to_string(),
        "PW0201 at /steps/0: there is no tool `get_wether` (did you mean `get_weather`?)"
    );
    assert_eq!(diagnostics[0].fix, None);
}

#[test]
fn tools() {
    let fixture = CheckFixture::with_tools(
        r#"{"get_weather": {}, "one.search": {}, "two.search": {}, "alpha": {}, "zeta": {}}"#,
    );
    let check = |tool: &str, expected: &[&str]| {
        fixture.expect(
            &format!(r#"{{"steps": [{{"id": "a", "tool": "{tool}"}}]}}"#),
            expected,
        );
    };
    check("get_weather", &[]);
    check("test.get_weather", &[]);
    check("two.search", &[]);
    check(
        "get_wether",
        &["PW0201 at /steps/0/tool: there is no tool `get_wether` (did you mean `get_weather`?)"],
    );
    check(
        "test.get_wether",
        &[
            "PW0201 at /steps/0/tool: there is no tool `test.get_wether` (did you mean `test.get_weather`?)",
        ],
    );
    check(
        "ghost",
        &[
            "PW0201 at /steps/0/tool: there is no tool `ghost` (the tools are `alpha`, `get_weather`, `one.search`, `two.search`, `zeta`)",
        ],
    );
    check(
        "search",
        &[
            "PW0202 at /steps/0/tool: 2 servers offer a tool `search` (write one of `one.search`, `two.search`)",
        ],
    );
    check(
        "execute_plan",
        &[
            "PW0209 at /steps/0/tool: a plan cannot call the plan tool `execute_plan` (write the steps of the inner plan into this one)",
        ],
    );
    CheckFixture::with_tools(r#"{"execute_plan": {}}"#)
        .expect(r#"{"steps": [{"id": "a", "tool": "execute_plan"}]}"#, &[]);
    CheckFixture::default().expect(
        r#"{"steps": [{"id": "a", "tool": "ghost"}]}"#,
        &["PW0201 at /steps/0/tool: there is no tool `ghost` (no server offers a tool)"],
    );
}

#[test]
fn names_that_models_know() {
    let fixture = CheckFixture::with_tools(
        r#"{"one.search": {}, "two.search": {}, "a b.get.it": {}, "a_b.get_it": {}, "one.x__y": {}, "one__x.y": {}}"#,
    );
    let found = |name: &str| match fixture.catalog.find(name) {
        Lookup::Found(tool) => tool.qualified_name(),
        Lookup::Ambiguous(tools) => format!("{} tools", tools.len()),
        Lookup::Unknown => "none".to_owned(),
    };
    let cases = [
        ("one__search", "one.search"),
        ("two__search", "two.search"),
        ("search", "2 tools"),
        ("a_b__get_it", "2 tools"),
        ("x__y", "one.x__y"),
        ("one__x__y", "2 tools"),
        ("three__search", "none"),
        ("one__search_", "none"),
    ];
    for (name, wanted) in cases {
        assert_eq!(found(name), wanted, "{name}");
    }
}

#[test]
fn a_near_tool_is_offered_as_a_fix() {
    let fixture = CheckFixture::with_tools(r#"{"get_weather": {}}"#);
    let (_, diagnostics) = fixture.check(r#"{"steps": [{"id": "a", "tool": "get_wether"}]}"#);
    let fix = diagnostics
        .iter()
        .find_map(|diagnostic| diagnostic.fix.clone());
    let fix = fix.expect("a fix");
    assert_eq!(
        (&*fix.pointer, &*fix.replacement),
        ("/steps/0/tool", "get_weather")
    );
}

#[test]
fn steps() {
    let fixture = CheckFixture::with_tools(r#"{"t": {}}"#);
    fixture.expect(
        r#"{"steps": []}"#,
        &["PW0106: the plan has no steps (add at least one step)"],
    );
    fixture.expect(
        r#"{"steps": [{"id": " ", "tool": "t"}]}"#,
        &["PW0109 at /steps/0: a step's id is blank (give the step a short name)"],
    );
    fixture.expect(
        r#"{"steps": [{"id": "a", "tool": "t"}, {"id": "b", "tool": "t"}, {"id": "a", "tool": "t"}]}"#,
        &["PW0203 at /steps/2: two steps have the id `a` (the first is at `/steps/0`: give this one another id)"],
    );
    fixture.expect(
        r#"{"steps": [{"id": "fetch", "tool": "t"}, {"id": "b", "tool": "t", "after": ["fetsh"], "args": {"v": "${ghost.x}", "w": "is ${fetc}"}}], "output": ["b", "zz"]}"#,
        &[
            "PW0204 at /steps/1/after/0: the step `b` waits for `fetsh`, which is not in the plan (did you mean `fetch`?)",
            "PW0204 at /steps/1/args/v: `${ghost.x}` refers to the step `ghost`, which is not in the plan (the steps are `b`, `fetch`)",
            "PW0204 at /steps/1/args/w: `${fetc}` refers to the step `fetc`, which is not in the plan (did you mean `fetch`?)",
            "PW0204 at /output/1: the output selects `zz`, which is not in the plan (the steps are `b`, `fetch`)",
        ],
    );
    fixture.expect(
        r#"{"listed": true, "steps": [{"id": "a", "tool": "t", "args": {"v": "${b}"}}, {"id": "b", "tool": "t"}, {"id": "c", "tool": "t", "args": {"v": "${c}"}}]}"#,
        &[
            "PW0302 at /steps/0/args/v: `${b}` refers to the step `b`, which comes later (the steps run as they are listed: move `b` up)",
            "PW0301 at /steps/2/args/v: the step `c` waits for itself (remove its reference to itself)",
        ],
    );
}

#[test]
fn steps_that_come_later() {
    CheckFixture::with_tools(r#"{"t": {}}"#).expect(
        r#"{"listed": true, "steps": [{"id": "a", "tool": "t", "after": ["b"]}, {"id": "b", "tool": "t", "until": "${slots.state.x}"}, {"id": "c", "tool": "t", "writes": "state.x"}]}"#,
        &[
            "PW0302 at /steps/0/after/0: the step `a` comes after the later step `b` (the steps run as they are listed: move `b` up)",
            "PW0302 at /steps/1/until: the step `b` reads a slot that the later step `c` writes (the steps run as they are listed: move `c` up)",
        ],
    );
}

#[test]
fn all_diagnostics_are_reported_at_once() {
    CheckFixture::with_tools(r#"{"w": {"in": {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}, "k": {"enum": ["a", "b"]}}, "required": ["n", "k"]}}}"#)
        .expect(
            r#"{"steps": [{"id": "x", "tool": "w", "args": {"n": 0, "k": "c"}}, {"id": "y", "tool": "w", "args": {"n": 2}}, {"id": "z", "tool": "gone"}]}"#,
            &[
                "PW0501 at /steps/0/args/n: the argument `n` of the tool `w` does not fit: `0` is less than `1`",
                r#"PW0501 at /steps/0/args/k: the argument `k` of the tool `w` does not fit: `"c"` is none of `"a"`, `"b"`"#,
                r#"PW0502 at /steps/1/args: the tool `w` needs the argument `k` (it takes `"a"` or `"b"`)"#,
                "PW0201 at /steps/2/tool: there is no tool `gone` (the only tool is `w`)",
            ],
        );
}
