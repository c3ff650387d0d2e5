//! The cycle pass.

use proptest::prelude::*;

use super::fixture::CheckFixture;
use crate::check::passes::cycles::{DependencyGraph, shortest_cycle};

#[test]
fn cyclic_components() {
    let fixture = CheckFixture::with_tools(r#"{"e": {}}"#);
    fixture.expect(
        r#"{"steps": [{"id": "alpha", "tool": "e", "args": {"v": "${beta.v}"}}, {"id": "beta", "tool": "e", "args": {"v": "${gamma.v}"}}, {"id": "gamma", "tool": "e", "args": {"v": "${alpha.v}"}}]}"#,
        &["PW0301 at /steps/0/args/v: steps wait for each other in a cycle: `alpha` → `beta` → `gamma` → `alpha` (`alpha` waits for `beta` at `/steps/0/args/v`, `beta` waits for `gamma` at `/steps/1/args/v`, `gamma` waits for `alpha` at `/steps/2/args/v`: remove one of these references)"],
    );
    fixture.expect(
        r#"{"steps": [{"id": "s", "tool": "e", "args": {"v": ["${s}"]}}]}"#,
        &["PW0301 at /steps/0/args/v/0: the step `s` waits for itself (remove its reference to itself)"],
    );
    fixture.expect(
        r#"{"steps": [{"id": "a", "tool": "e", "after": ["b"]}, {"id": "b", "tool": "e", "when": "${a.ok}"}, {"id": "c", "tool": "e", "after": ["c"]}]}"#,
        &[
            "PW0301 at /steps/0/after/0: steps wait for each other in a cycle: `a` → `b` → `a` (`a` waits for `b` at `/steps/0/after/0`, `b` waits for `a` at `/steps/1/when`: remove `b` from the `after` of `a`)",
            "PW0301 at /steps/2/after/0: the step `c` waits for itself (remove its reference to itself)",
        ],
    );
    // Cycles through slots, with any overlap.
    fixture.expect(
        r#"{"steps": [{"id": "a", "tool": "e", "args": {"v": "${slots.state.b.deep}"}, "writes": "state.a"}, {"id": "b", "tool": "e", "args": {"v": "${slots.state.a}"}, "writes": "state.b"}]}"#,
        &["PW0301 at /steps/0/args/v: steps wait for each other in a cycle: `a` → `b` → `a` (`a` waits for `b` at `/steps/0/args/v`, `b` waits for `a` at `/steps/1/args/v`: `b` is listed after `a`, which probably should not refer to it)"],
    );
    fixture.expect(
        r#"{"state": {"k": 1}, "steps": [{"id": "a", "tool": "e", "args": {"v": "${slots.state}"}, "writes": "state.a"}]}"#,
        &["PW0301 at /steps/0/args/v: the step `a` waits for itself (remove its reference to itself)"],
    );
}

#[test]
fn no_cycles() {
    let fixture = CheckFixture::with_tools(r#"{"e": {}}"#);
    // A step may refer to its own round and its own error.
    fixture.expect(
        r#"{"steps": [{"id": "a", "tool": "e", "until": "${a.done}", "on_error": {"was": "${results.a.error.message}"}}]}"#,
        &[],
    );
    // Forward references are allowed.
    fixture.expect(
        r#"{"steps": [{"id": "a", "tool": "e", "args": {"v": "${b}"}}, {"id": "b", "tool": "e"}]}"#,
        &[],
    );
    // Each instance has its own slots.
    fixture.expect(
        r#"{"steps": [{"id": "a", "tool": "e", "instance": "1", "args": {"v": "${slots.state.b}"}, "writes": "state.a"}, {"id": "b", "tool": "e", "instance": "2", "args": {"v": "${slots.state.a}"}, "writes": "state.b"}]}"#,
        &[],
    );
}

#[test]
fn a_cycle_is_placed_at_its_first_reference() {
    let fixture = CheckFixture::with_tools(r#"{"e": {}}"#);
    fixture.expect(
        r#"{"steps": [{"id": "a", "tool": "e", "args": {"u": "${c}", "v": "${b}", "w": "${b.x}"}}, {"id": "b", "value": "${a}"}, {"id": "c", "tool": "e"}]}"#,
        &["PW0301 at /steps/0/args/v: steps wait for each other in a cycle: `a` → `b` → `a` (`a` waits for `b` at `/steps/0/args/v`, `b` waits for `a` at `/steps/1/value`: `b` is listed after `a`, which probably should not refer to it)"],
    );
    fixture.expect(
        r#"{"listed": true, "steps": [{"id": "a", "tool": "e", "after": ["a"]}]}"#,
        &["PW0301 at /steps/0/after/0: the step `a` waits for itself (remove its reference to itself)"],
    );
}

#[test]
fn values_that_speak_of_themselves() {
    let check = |value: &str, expected: &[&str]| {
        CheckFixture::default().expect(
            &format!(r#"{{"steps": [{{"id": "a", "value": {value}}}]}}"#),
            expected,
        );
    };
    check(
        r#""${a}""#,
        &[
            "PW0301 at /steps/0/value: the step `a` waits for itself (remove its reference to itself)",
        ],
    );
    check(
        r#"{"x": ["${a.x}"]}"#,
        &[
            "PW0301 at /steps/0/value/x/0: the step `a` waits for itself (remove its reference to itself)",
        ],
    );
    check(
        r#""${a.x ?? a.y}""#,
        &[
            "PW0301 at /steps/0/value: the step `a` waits for itself (remove its reference to itself)",
        ],
    );
    CheckFixture::default().expect(
        r#"{"steps": [{"id": "a", "value": ["${a}", "${b}"]}, {"id": "b", "value": ["${b}", "${a}"]}]}"#,
        &["PW0301 at /steps/0/value/0: the step `a` waits for itself (remove its reference to itself)", "PW0301 at /steps/1/value/0: the step `b` waits for itself (remove its reference to itself)"],
    );
}

#[test]
fn long_cycles_are_shown_in_part() {
    let message = |length: usize| {
        let steps: Vec<String> = (0..length)
            .map(|step| {
                format!(
                    r#"{{"id": "s{step}", "value": "${{s{}}}"}}"#,
                    (step + 1) % length
                )
            })
            .collect();
        let (_, diagnostics) =
            CheckFixture::default().check(&format!(r#"{{"steps": [{}]}}"#, steps.join(", ")));
        diagnostics
            .iter()
            .map(|diagnostic| &*diagnostic.message)
            .collect::<String>()
    };
    assert!(
        message(30).ends_with("`s28` → `s29` → `s0`"),
        "{}",
        message(30)
    );
    assert!(
        message(31).ends_with("`s28` → `s29` → 1 more → `s0`"),
        "{}",
        message(31)
    );
    assert!(
        message(40).ends_with("`s28` → `s29` → 10 more → `s0`"),
        "{}",
        message(40)
    );
}

#[test]
fn a_large_component_is_reported_in_part() {
    let all: Vec<String> = (0..110).map(|step| format!(r#""${{s{step}}}""#)).collect();
    let all = all.join(", ");
    let steps: Vec<String> = (0..110)
        .map(|step| format!(r#"{{"id": "s{step}", "value": [{all}]}}"#))
        .collect();
    let (_, diagnostics) =
        CheckFixture::default().check(&format!(r#"{{"steps": [{}]}}"#, steps.join(", ")));
    assert_eq!(diagnostics.len(), 50);
}

#[test]
fn a_long_chain_does_not_exhaust_the_stack() {
    let edges: Vec<Vec<u32>> = (0..100_000)
        .map(|step| vec![(step + 1) % 100_000])
        .collect();
    let cyclic_components = DependencyGraph::new(edges).cyclic_components();
    assert_eq!(cyclic_components.len(), 1);
    assert_eq!(cyclic_components[0].len(), 100_000);
}

proptest! {
    #[test]
    fn components_agree_with_reachability(edges in prop::collection::vec(prop::collection::vec(0_u32..12, 0..3), 12)) {
        let reach = reachable(&edges);
        let graph = DependencyGraph::new(edges.clone());
        let cyclic_components = graph.cyclic_components();
        prop_assert!(cyclic_components.is_sorted_by(|one, next| one < next));
        for one in 0..12_u32 {
            for other in 0..12_u32 {
                let together = cyclic_components.iter().any(|set| set.contains(&one) && set.contains(&other));
                prop_assert_eq!(together, reach[one as usize][other as usize] && reach[other as usize][one as usize]);
            }
        }
        for component in &cyclic_components {
            let cycle = shortest_cycle(&graph, component, component[0]).expect("a component has a cycle");
            for (position, step) in cycle.iter().enumerate() {
                let next = cycle[(position + 1) % cycle.len()];
                prop_assert!(edges[*step as usize].contains(&next));
            }
        }
    }
}

/// Computes the reachability of each node from each other by at least one edge.
fn reachable(edges: &[Vec<u32>]) -> Vec<Vec<bool>> {
    let mut reach = vec![vec![false; edges.len()]; edges.len()];
    for (from, tos) in edges.iter().enumerate() {
        for to in tos {
            reach[from][*to as usize] = true;
        }
    }
    for middle in 0..edges.len() {
        let behind = reach[middle].clone();
        for row in &mut reach {
            if row[middle] {
                for (to, there) in behind.iter().enumerate() {
                    row[to] |= there;
                }
            }
        }
    }
    reach
}
