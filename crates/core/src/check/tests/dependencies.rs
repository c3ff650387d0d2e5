//! Dependencies between steps.

use super::fixture::CheckFixture;
use crate::check::{CheckedPlan, DependencyKind, dependencies};
use crate::plan::{Output, Read, Segment, SlotKind, Source};

/// Compares the dependencies of each step, and then its first waits.
#[track_caller]
fn check(fixture: &CheckFixture, text: &str, expected: &[(&str, &str)]) {
    let (checked, diagnostics) = fixture.check(text);
    let checked = checked.unwrap_or_else(|| panic!("{diagnostics:?}"));
    let found: Vec<(String, String)> = checked
        .steps()
        .iter()
        .map(|step| {
            let dependencies: Vec<String> = step
                .dependencies
                .iter()
                .map(|dependency| {
                    let kind = match dependency.kind {
                        DependencyKind::Data => "data",
                        DependencyKind::Slot => "slot",
                        DependencyKind::Order => "order",
                        DependencyKind::Listed => "listed",
                    };
                    let mark = if dependency.optional { "?" } else { "" };
                    format!("{}:{kind}{mark}", dependency.on)
                })
                .collect();
            let first: Vec<String> = step
                .initial_dependencies
                .iter()
                .map(u32::to_string)
                .collect();
            (dependencies.join(" "), first.join(" "))
        })
        .collect();
    let found: Vec<(&str, &str)> = found.iter().map(|(one, two)| (&**one, &**two)).collect();
    assert_eq!(found, expected, "in {text}");
}

#[test]
fn references_make_dependencies_wherever_they_stand() {
    let fixture = CheckFixture::with_tools(r#"{"e": {}}"#);
    check(
        &fixture,
        r#"{"steps": [
            {"id": "a", "tool": "e"}, {"id": "b", "tool": "e", "after": ["a"]},
            {"id": "c", "tool": "e", "args": {"x": [{"y": "to ${a.v} and ${b}"}], "z": "${a}"}, "after": ["a"]},
            {"id": "d", "value": {"v": "${c}"}, "when": "${a.v > b.v}", "for_each": "${b.list}", "on_error": "${a}"},
            {"id": "e", "tool": "e", "until": "${e.n > a.n}"},
            {"id": "f", "tool": "e", "args": {"v": "${results.a.success}"}}
        ]}"#,
        &[
            ("", ""),
            ("0:order", "0"),
            ("0:data 0:order 1:data", "0 1"),
            ("0:data 1:data 2:data", "0 1 2"),
            ("0:data", "0"),
            ("0:data", "0"),
        ],
    );
}

#[test]
fn later_alternatives_are_not_waited_for_at_first() {
    let fixture = CheckFixture::with_tools(r#"{"e": {}}"#);
    check(
        &fixture,
        r#"{"steps": [
            {"id": "a", "tool": "e"}, {"id": "b", "tool": "e"},
            {"id": "c", "tool": "e", "args": {"v": "${a.v ?? b.v ?? 7}"}},
            {"id": "d", "tool": "e", "args": {"v": "${a.v ?? b.v}", "w": "${b}"}},
            {"id": "e", "tool": "e", "args": {"v": "${all(a, b)}"}}
        ]}"#,
        &[
            ("", ""),
            ("", ""),
            ("0:data 1:data?", "0"),
            ("0:data 1:data", "0 1"),
            ("0:data 1:data", "0 1"),
        ],
    );
}

#[test]
fn slots_are_waited_for_where_they_overlap() {
    let fixture = CheckFixture::with_tools(r#"{"e": {}}"#);
    check(
        &fixture,
        r#"{"steps": [
            {"id": "a", "tool": "e", "writes": "state.user"},
            {"id": "b", "tool": "e", "writes": "state.user.name", "after": ["a"]},
            {"id": "c", "tool": "e", "writes": "state.other && data.user"},
            {"id": "r1", "value": "${slots.state.user}"},
            {"id": "r2", "value": "${slots.state.user.age}"},
            {"id": "r3", "value": "${slots.state.user.name.first}"},
            {"id": "r4", "value": "${slots.state}"},
            {"id": "r5", "value": "${slots.data.user}"},
            {"id": "r6", "value": "${slots.state.other[0].x}"}
        ]}"#,
        &[
            ("", ""),
            ("0:order", "0"),
            ("", ""),
            ("0:slot 1:slot", "0 1"),
            ("0:slot", "0"),
            ("0:slot 1:slot", "0 1"),
            ("0:slot 1:slot 2:slot", "0 1 2"),
            ("2:slot", "2"),
            ("2:slot", "2"),
        ],
    );
}

/// A list of writers that was visited is skipped, and not confused with another.
#[test]
fn many_slots_are_waited_for_in_any_read_order() {
    const SLOTS: usize = 8;
    let fixture = CheckFixture::with_tools(r#"{"e": {}}"#);
    let writers: Vec<String> = (0..SLOTS)
        .map(|n| format!(r#"{{"id": "w{n}", "tool": "e", "writes": "state.s{n}.part"}}"#))
        .collect();
    let parts = (0..SLOTS).map(|n| format!(r#""${{slots.state.s{n}.other}}""#));
    let wholes = (0..SLOTS).map(|n| format!(r#""${{slots.state.s{n}}}""#));
    let reads: Vec<String> = parts.chain(wholes).collect();
    let (writers, reads) = (writers.join(","), reads.join(","));
    let all: Vec<String> = (0..SLOTS).map(|n| format!("{n}:slot")).collect();
    let first: Vec<String> = (0..SLOTS).map(|n| n.to_string()).collect();
    let (all, first) = (all.join(" "), first.join(" "));
    let mut expected = vec![("", ""); SLOTS];
    expected.push((&all, &first));
    check(
        &fixture,
        &format!(r#"{{"steps": [{writers}, {{"id": "r", "value": [{reads}]}}]}}"#),
        &expected,
    );
}

#[test]
fn listed_steps_wait_for_the_one_before() {
    let fixture = CheckFixture::with_tools(r#"{"e": {}}"#);
    check(
        &fixture,
        r#"{"listed": true, "steps": [{"id": "a", "tool": "e"}, {"id": "b", "tool": "e"}, {"id": "c", "value": "${a}"}]}"#,
        &[("", ""), ("0:listed", "0"), ("0:data 1:listed", "0 1")],
    );
}

#[test]
fn a_sub_plan_reads_shared_slots() {
    let fixture = CheckFixture::with_tools(r#"{"e": {}}"#)
        .plan("inner", r#"{"steps": [{"id": "x", "tool": "e", "args": {"v": "${slots.state.a}", "w": "${slots.state.own}"}}, {"id": "y", "tool": "e", "writes": "state.own"}]}"#)
        .plan("outer", r#"{"steps": [{"id": "z", "plan": "inner", "scopes": ["state"]}]}"#);
    check(
        &fixture,
        r#"{"steps": [
            {"id": "w", "tool": "e", "writes": "state.a"}, {"id": "v", "tool": "e", "writes": "state.own"},
            {"id": "p", "plan": "inner", "scopes": ["state"], "writes": "state.res"},
            {"id": "q", "plan": "outer", "scopes": ["state"], "writes": "state.res2"}
        ]}"#,
        &[("", ""), ("", ""), ("0:slot", "0"), ("0:slot", "0")],
    );
}

#[test]
fn a_plan_can_be_extended() {
    let fixture = CheckFixture::with_tools(r#"{"e": {}}"#);
    let (first, _) = fixture.check(r#"{"steps": [{"id": "a", "tool": "e"}]}"#);
    let first = first.expect("a sound plan");
    let more = super::fixture::plan_called(
        "more.json",
        r#"{"steps": [{"id": "b", "tool": "e", "args": {"v": "${a}"}}]}"#,
    );
    let (second, diagnostics) = first.extend(more, &fixture.context());
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    let second = second.expect("a sound plan");
    assert_eq!(second.steps().len(), 2);
    assert_eq!(second.step_index("a"), Some(0));
    assert_eq!(second.step_index("b"), Some(1));
    assert_eq!(second.steps()[1].initial_dependencies, [0]);
    assert_ne!(first.digest(), second.digest());
    let again = super::fixture::plan(r#"{"steps": [{"id": "a", "tool": "e"}]}"#);
    let (none, diagnostics) = second.extend(again, &fixture.context());
    assert!(none.is_none());
    assert_eq!(diagnostics.len(), 1);
}

#[test]
fn output_of_an_extension_replaces_the_first() {
    let fixture = CheckFixture::with_tools(r#"{"e": {}}"#);
    let mut plan =
        super::fixture::plan(r#"{"steps": [{"id": "a", "tool": "e"}], "output": {"v": "${a}"}}"#);
    plan.instances = vec!["one".into(), "two".into()];
    let (first, diagnostics) = fixture.check_plan(plan);
    let first = first.unwrap_or_else(|| panic!("{diagnostics:?}"));
    let extended = |text: &str| {
        let mut more = super::fixture::plan_called("more.json", text);
        more.instances = vec!["two".into(), "three".into()];
        let (second, diagnostics) = first.extend(more, &fixture.context());
        second.unwrap_or_else(|| panic!("{diagnostics:?}"))
    };
    let silent = extended(r#"{"steps": [{"id": "b", "tool": "e"}]}"#);
    assert!(matches!(silent.plan().output, Output::Value(_)));
    let names: Vec<&str> = silent.plan().instances.iter().map(|name| &**name).collect();
    assert_eq!(names, ["one", "two", "three"]);
    let outspoken = extended(r#"{"steps": [{"id": "b", "tool": "e"}], "output": ["b"]}"#);
    assert!(matches!(outspoken.plan().output, Output::Steps(_)));
}

#[test]
fn dependencies_are_known_before_any_check() {
    let text = r#"{"listed": true, "steps": [
        {"id": "a", "tool": "e", "writes": "state.x"}, {"id": "b", "value": "${slots.state.x}", "after": ["a"]},
        {"id": "c", "tool": "e", "args": {"v": "${a ?? b}"}}
    ]}"#;
    let (checked, diagnostics) = CheckFixture::with_tools(r#"{"e": {}}"#).check(text);
    let checked = checked.unwrap_or_else(|| panic!("{diagnostics:?}"));
    let known: Vec<_> = checked
        .steps()
        .iter()
        .map(|step| step.dependencies.clone())
        .collect();
    assert_eq!(dependencies(&super::fixture::plan(text)), known);
}

#[test]
fn a_read_has_its_producers() {
    let (checked, diagnostics) = CheckFixture::with_tools(r#"{"e": {}}"#).check(
        r#"{"steps": [{"id": "a", "tool": "e"}, {"id": "b", "tool": "e", "writes": "state.x"}, {"id": "c", "tool": "e", "writes": "state.x.y", "after": ["b"]}]}"#,
    );
    let checked: CheckedPlan = checked.unwrap_or_else(|| panic!("{diagnostics:?}"));
    let producers = |source, keys: &[&str]| {
        let path = keys.iter().map(|key| Segment::key(*key)).collect();
        checked.producers(&Read::part(source, path))
    };
    assert_eq!(producers(Source::Step("c".into()), &["v"]), [2]);
    assert_eq!(producers(Source::Step("z".into()), &[]), Vec::<u32>::new());
    assert_eq!(producers(Source::Slot(SlotKind::State), &["x"]), [1, 2]);
    assert_eq!(producers(Source::Slot(SlotKind::State), &["x", "z"]), [1]);
    assert_eq!(producers(Source::Index, &[]), Vec::<u32>::new());
}

#[test]
fn a_digest_is_of_the_meaning() {
    let fixture = CheckFixture::with_tools(r#"{"e": {}}"#)
        .plan("p", r#"{"steps": [{"id": "x", "tool": "e"}]}"#);
    let other = CheckFixture::with_tools(r#"{"e": {}}"#)
        .plan("p", r#"{"steps": [{"id": "y", "tool": "e"}]}"#);
    let digest = |fixture: &CheckFixture, text: &str| {
        let (checked, diagnostics) = fixture.check(text);
        checked
            .unwrap_or_else(|| panic!("{diagnostics:?}"))
            .digest()
            .to_owned()
    };
    let one = digest(
        &fixture,
        r#"{"steps": [{"id": "a", "tool": "e", "args": {"x": 1, "y": 2}}]}"#,
    );
    assert_eq!(one.len(), 64);
    assert_eq!(
        one,
        digest(
            &fixture,
            r#"{"steps": [{"tool": "e", "args": {"y": 2, "x": 1}, "id": "a"}]}"#
        )
    );
    assert_ne!(
        one,
        digest(
            &fixture,
            r#"{"steps": [{"id": "a", "tool": "e", "args": {"x": 1, "y": "2"}}]}"#
        )
    );
    assert_ne!(
        one,
        digest(
            &fixture,
            r#"{"steps": [{"id": "b", "tool": "e", "args": {"x": 1, "y": 2}}]}"#
        )
    );
    let run = r#"{"steps": [{"id": "a", "plan": "p"}]}"#;
    assert_ne!(digest(&fixture, run), digest(&other, run));
}

#[test]
fn a_step_digest_covers_its_meaning_only() {
    let fixture = CheckFixture::with_tools(r#"{"e": {}}"#)
        .plan("p", r#"{"steps": [{"id": "x", "tool": "e"}]}"#)
        .plan("q", r#"{"steps": [{"id": "y", "tool": "e"}]}"#);
    let digest = |text: &str, step: usize| {
        let (checked, diagnostics) = fixture.check(text);
        let checked = checked.unwrap_or_else(|| panic!("{diagnostics:?}"));
        checked.step_digest(step)
    };
    let alone = digest(
        r#"{"steps": [{"id": "b", "tool": "e", "args": {"x": 1}}]}"#,
        0,
    );
    let behind =
        r#"{"steps": [{"id": "a", "tool": "e"}, {"id": "b", "tool": "e", "args": {"x": 1}}]}"#;
    assert!(alone.is_some());
    assert_eq!(alone, digest(behind, 1));
    assert_ne!(alone, digest(behind, 0));
    assert_ne!(
        alone,
        digest(
            r#"{"steps": [{"id": "b", "tool": "e", "args": {"x": 2}}]}"#,
            0
        )
    );
    assert_eq!(digest(behind, 2), None);
    let runs = |plan: &str| {
        digest(
            &format!(r#"{{"steps": [{{"id": "a", "plan": "{plan}"}}]}}"#),
            0,
        )
    };
    assert_ne!(runs("p"), runs("q"));
}

#[test]
fn a_digest_ignores_missing_rules_without_effect() {
    use crate::plan::{Missing, Node, Path, Read, Reference, Segment, Source};
    use crate::{Place, Plan, Step, StepId, Value};

    let fixture = CheckFixture::with_tools(r#"{"e": {}}"#);
    let digest = |path: &Path, missing: Missing| {
        let source = Source::Step(StepId::new("a"));
        let read = Read::part(source, path.clone()).or_missing(missing);
        let value = Node::reference(Reference::read(read, "", Place::NOWHERE));
        let key = "v".into();
        let args = Node::object(vec![crate::plan::Field { key, value }], Place::NOWHERE);
        let none = Node::literal(Value::empty_object(), Place::NOWHERE);
        let steps = vec![Step::call("a", "e", none), Step::call("b", "e", args)];
        let plan = Plan {
            steps,
            ..Plan::default()
        };
        let (checked, diagnostics) = crate::check(plan, &fixture.context());
        let checked = checked.unwrap_or_else(|| panic!("{diagnostics:?}"));
        checked.digest().to_owned()
    };
    let (field, each) = (Segment::key("x"), Segment::Each);
    let cases = [
        (vec![], [true, true]),
        (vec![field.clone()], [true, false]),
        (vec![field.clone(), each.clone()], [true, false]),
        (vec![each.clone(), each.clone()], [true, false]),
        (vec![each, field], [false, false]),
    ];
    for (path, alike) in cases {
        let plain = digest(&path, Missing::Fail);
        let others = [Missing::NullInItems, Missing::Null];
        let found = others.map(|missing| digest(&path, missing) == plain);
        assert_eq!(found, alike, "{path:?}");
    }
}

#[test]
fn whatever_has_a_meaning_is_in_the_digest() {
    let fixture = CheckFixture::with_tools(r#"{"e": {}}"#).inputs(r#"{"i": 1}"#);
    let one = |step: &str| {
        format!(
            r#"{{"steps": [{{"id": "a", "tool": "e"}}, {{"id": "b", "tool": "e"}}, {{"id": "s", {step}}}]}}"#
        )
    };
    let steps = [
        r#""tool": "e""#,
        r#""value": null"#,
        r#""tool": "e", "args": {}"#,
        r#""tool": "e", "args": {"v": null}"#,
        r#""tool": "e", "args": {"v": true}"#,
        r#""tool": "e", "args": {"v": false}"#,
        r#""tool": "e", "args": {"v": 1}"#,
        r#""tool": "e", "args": {"v": "1"}"#,
        r#""tool": "e", "args": {"v": []}"#,
        r#""tool": "e", "args": {"v": ["a", "b"]}"#,
        // The digest must not depend on the byte that tags a text.
        r#""tool": "e", "args": {"v": ["a\u0003b"]}"#,
        r#""tool": "e", "args": {"v": {"k": {}}}"#,
        r#""tool": "e", "args": {"v": "${a}"}"#,
        r#""tool": "e", "args": {"v": "${b}"}"#,
        r#""tool": "e", "args": {"v": "${a.x?}"}"#,
        r#""tool": "e", "args": {"v": "${a.x}"}"#,
        r#""tool": "e", "args": {"v": "${a.y}"}"#,
        r#""tool": "e", "args": {"v": "${a[1]}"}"#,
        r#""tool": "e", "args": {"v": "${a[2]}"}"#,
        r#""tool": "e", "args": {"v": "${a[*]}"}"#,
        r#""tool": "e", "args": {"v": "${results.a}"}"#,
        r#""tool": "e", "args": {"v": "${a ?? b}"}"#,
        r#""tool": "e", "args": {"v": "${b ?? a}"}"#,
        r#""tool": "e", "args": {"v": "${a ?? 1}"}"#,
        r#""tool": "e", "args": {"v": "${all(a, b)}"}"#,
        r#""tool": "e", "args": {"v": "${a + b}"}"#,
        r#""tool": "e", "args": {"v": "${a - b}"}"#,
        r#""tool": "e", "args": {"v": "is ${a}"}"#,
        r#""tool": "e", "args": {"v": "is ${b}"}"#,
        r#""tool": "e", "args": {"v": "as ${a}"}"#,
        r#""tool": "e", "args": {"v": ["${a}"]}"#,
        r#""tool": "e", "args": {"v": ["${b}"]}"#,
        r#""tool": "e", "args": {"v": {"w": "${a}"}}"#,
        r#""tool": "e", "args": {"v": {"x": "${a}"}}"#,
        r#""tool": "e", "args": {"v": "${slots.state}"}"#,
        r#""tool": "e", "args": {"v": "${slots.data}"}"#,
        r#""tool": "e", "after": ["a"]"#,
        r#""tool": "e", "after": ["b"]"#,
        r#""tool": "e", "when": "${a}""#,
        r#""tool": "e", "when": "${b}""#,
        r#""tool": "e", "for_each": [1]"#,
        r#""tool": "e", "for_each": [2]"#,
        r#""tool": "e", "for_each": [1], "with_item": true"#,
        r#""tool": "e", "for_each": [1], "args": {"v": "${item}"}"#,
        r#""tool": "e", "for_each": [1], "args": {"v": "${index}"}"#,
        r#""tool": "e", "until": "${s}""#,
        r#""tool": "e", "until": "${last}""#,
        r#""tool": "e", "until": "${s}", "max": 4"#,
        r#""tool": "e", "on_error": null"#,
        r#""tool": "e", "on_error": 1"#,
        r#""tool": "e", "attempts": 2"#,
        r#""tool": "e", "attempts": 3"#,
        r#""tool": "e", "instance": "one""#,
        r#""tool": "e", "instance": "two""#,
        r#""tool": "e", "writes": "state.x""#,
        r#""tool": "e", "writes": "data.x""#,
        r#""tool": "e", "writes": "state.y""#,
        r#""tool": "e", "writes": "state.x.y""#,
        r#""tool": "e", "writes": "state.x && state.y""#,
        r#""tool": "e", "writes": "state.x || state.y""#,
        r#""tool": "e", "writes": "state.x", "method": "push""#,
        r#""plan": {"steps": [{"id": "x", "tool": "e"}]}"#,
        r#""plan": {"steps": [{"id": "y", "tool": "e"}]}"#,
        r#""plan": {"steps": [{"id": "x", "tool": "e"}]}, "scopes": ["state"]"#,
        r#""plan": {"steps": [{"id": "x", "tool": "e"}]}, "scopes": ["data"]"#,
    ];
    let around = [
        r#""listed": true"#,
        r#""sharing": true"#,
        r#""output": []"#,
        r#""output": ["a"]"#,
        r#""output": {"v": "${a}"}"#,
        r#""output": {"v": "${a.x}"}"#,
        r#""state": {"x": 1}"#,
        r#""state": {"x": 2}"#,
        r#""data": {"x": 1}"#,
        r#""state@one": {"x": 1}"#,
        r#""state@two": {"x": 1}"#,
        r#""inputs": {"i": {}}"#,
        r#""inputs": {"i": {"type": "integer"}}"#,
        r#""inputs": {"i": {"default": 1}}"#,
        r#""variables": {"i": 1}"#,
        r#""variables": {"i": 2}"#,
    ];
    let around = around
        .iter()
        .map(|more| format!(r#"{{{more}, "steps": [{{"id": "a", "tool": "e"}}]}}"#));
    let mut seen = std::collections::HashMap::new();
    for text in steps.iter().map(|step| one(step)).chain(around) {
        let (checked, diagnostics) = fixture.check(&text);
        let checked = checked.unwrap_or_else(|| panic!("{diagnostics:?} in {text}"));
        let other = seen.insert(checked.digest().to_owned(), text.clone());
        assert_eq!(other, None, "as {text}");
    }
}
