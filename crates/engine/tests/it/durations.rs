//! Learned durations, and their effect on runs.

use std::collections::BTreeSet;
use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::Arc;
use std::time::Duration;

use planwright_core::expression::EvaluationLimits;
use planwright_core::plan::{
    Alternative, ForEach, Form, Name, Node, NodeKind, Read, Reference, Segment, Source,
};
use planwright_core::{Place, Plan, Step, StepId, Value};
use planwright_engine::backend::{Backends, Function, Functions, ToolError, ToolOutput};
use planwright_engine::run::{Assumption, estimate};
use planwright_engine::schedule::ConcurrencyLimits;
use planwright_engine::{Durations, Engine, RunOptions, RunStatus};

use crate::drive::{drive, sound};

const SECOND: Duration = Duration::from_secs(1);

/// A step that calls `tool` after `on`.
fn step(id: &str, tool: &str, on: &[&str]) -> Step {
    let args = Node::literal(Value::empty_object(), Place::NOWHERE);
    let mut step = Step::call(id, tool, args);
    step.after = on
        .iter()
        .map(|on| Name {
            text: Arc::from(*on),
            place: Place::NOWHERE,
        })
        .collect();
    step
}

fn over(mut step: Step, items: usize) -> Step {
    step.for_each = Some(ForEach {
        item_name: None,
        with_item: false,
        over: Node::literal(Value::list((0..items).map(|_| Value::Null)), Place::NOWHERE),
        max_parallel: None,
    });
    step
}

fn output_of(step: &str) -> Node {
    let read = Read::whole(Source::Step(StepId::new(step)));
    Node::reference(Reference::read(
        read,
        format!("${{{step}}}"),
        Place::NOWHERE,
    ))
}

fn plan(steps: Vec<Step>) -> Plan {
    Plan {
        steps,
        ..Plan::default()
    }
}

/// The learned means of `t` and `u`, in seconds.
fn known(t: u64, u: u64) -> Durations {
    let mut durations = Durations::new();
    for (tool, seconds) in [("t", t), ("u", u)] {
        let took = Duration::from_secs(seconds);
        durations.observe(&"s".into(), &Arc::from(tool), took);
    }
    durations
}

fn check_order(steps: Vec<Step>, durations: Durations, width: usize, expected: &[&str]) {
    let mut options = RunOptions {
        durations,
        ..RunOptions::default()
    };
    options.limits.total = NonZeroUsize::new(width).unwrap();
    let driven = drive(sound(plan(steps)), options, &BTreeSet::new(), &mut |_| 0);
    let began: Vec<&str> = driven
        .log
        .iter()
        .filter_map(|entry| entry.strip_prefix('+'))
        .collect();
    assert_eq!(began, expected);
}

#[test]
fn what_takes_longer_starts_first() {
    let steps = || vec![step("a", "t", &[]), step("b", "u", &[])];
    check_order(steps(), Durations::new(), 1, &["a", "b"]);
    check_order(steps(), known(9, 1), 1, &["a", "b"]);
    // Three calls share two slots: the long one must not start last.
    let steps = || {
        vec![
            step("a", "t", &[]),
            step("b", "t", &[]),
            step("c", "u", &[]),
        ]
    };
    check_order(steps(), known(1, 3), 2, &["c", "a", "b"]);
    check_order(steps(), known(3, 1), 2, &["a", "b", "c"]);
}

#[test]
fn a_long_list_leaves_room_for_a_long_chain() {
    let mut steps = vec![over(step("list", "t", &[]), 6), step("one", "u", &[])];
    steps.push(step("two", "u", &["one"]));
    // Six items take three waves of two; the chain takes two calls as long as two waves.
    let expected = ["one", "list", "list", "two", "list", "list", "list", "list"];
    check_order(steps, known(1, 2), 2, &expected);
}

#[tokio::test(start_paused = true)]
async fn only_good_answers_are_learned_from() {
    let tools = Functions::named("s")
        .with(Function::raw("t", |_| async {
            tokio::time::sleep(2 * SECOND).await;
            Ok(ToolOutput::default())
        }))
        .with(Function::raw("u", |_| async {
            tokio::time::sleep(SECOND).await;
            Err(ToolError::tool("no", Value::Null))
        }));
    let engine = Engine::new(Backends::new().with("s", tools));
    let both = sound(plan(vec![step("a", "t", &[]), step("b", "u", &[])]));
    let summary = engine.run("r".parse().unwrap(), both).await;
    assert_eq!(summary.status, RunStatus::Failed);
    let learned = summary.durations.of("s", "t").unwrap();
    assert!(learned.mean.abs_diff(2 * SECOND) < Duration::from_millis(10));
    assert_eq!(summary.durations.of("s", "u"), None);
    assert_eq!(engine.durations(), summary.durations);

    let again = sound(plan(vec![step("a", "t", &[]), step("b", "t", &["a"])]));
    engine.run("r".parse().unwrap(), again).await;
    assert_eq!(engine.durations().of("s", "t").unwrap().calls, 3);
}

fn check_estimate(steps: Vec<Step>, width: usize, expected: u64, path: &[&str], assumed: usize) {
    let limits = ConcurrencyLimits {
        total: NonZeroUsize::new(width).unwrap(),
        ..ConcurrencyLimits::default()
    };
    let plan = sound(plan(steps));
    let estimate = estimate(&plan, &known(1, 5), &limits, &EvaluationLimits::default());
    assert_eq!(estimate.expected, Duration::from_secs(expected));
    let calls: Vec<String> = estimate
        .path
        .iter()
        .map(|call| call.at.to_string())
        .collect();
    assert_eq!(calls, path);
    assert_eq!(
        estimate.assumptions.len(),
        assumed,
        "{:?}",
        estimate.assumptions
    );
}

#[test]
fn an_estimate_goes_by_graph_limits_and_lists() {
    let chain = || {
        vec![
            step("a", "t", &[]),
            step("b", "u", &["a"]),
            step("c", "t", &[]),
        ]
    };
    check_estimate(chain(), 2, 6, &["a", "b"], 0);
    check_estimate(chain(), 1, 7, &["a", "b"], 0);
    let list = || vec![over(step("a", "t", &[]), 10), step("b", "u", &["a"])];
    check_estimate(list(), 4, 8, &["a[0]", "b"], 0);
    let mut asks = step("a", "u", &[]);
    asks.approval = planwright_core::plan::Approval::Ask;
    let mut conditional = asks.clone();
    conditional.when = Some(output_of("b"));
    check_estimate(vec![conditional, step("b", "t", &[])], 4, 6, &["b", "a"], 2);
    asks.when = Some(Node::literal(Value::Bool(true), Place::NOWHERE));
    check_estimate(vec![asks.clone()], 4, 5, &["a"], 1);
    asks.when = Some(Node::literal(Value::Bool(false), Place::NOWHERE));
    check_estimate(vec![asks, step("b", "t", &["a"])], 4, 1, &["b"], 0);
}

#[test]
fn an_estimate_leaves_out_what_cannot_run() {
    let mut never = step("a", "u", &[]);
    never.when = Some(Node::literal(Value::Bool(false), Place::NOWHERE));
    let over_output = |id: &str, of: Node| {
        let mut step = step(id, "t", &[]);
        step.for_each = Some(ForEach {
            item_name: None,
            with_item: false,
            over: of,
            max_parallel: None,
        });
        step
    };
    let needs = over_output("b", output_of("a"));
    let mut conditional = step("c", "t", &[]);
    // The type of an item is not known, so it may be a condition.
    let item = Read::part(Source::Step("b".into()), vec![Segment::Index(0)]);
    conditional.when = Some(Node::reference(Reference::read(
        item,
        "${b[0]}",
        Place::NOWHERE,
    )));
    let steps = vec![conditional, needs, never.clone()];
    check_estimate(steps, 4, 0, &[], 0);

    let mut fallback = output_of("a");
    if let NodeKind::Reference(reference) = &mut fallback.kind
        && let Form::First(alternatives) = &mut reference.form
    {
        let items = Value::list([Value::Null, Value::Null]);
        alternatives.push(Alternative::Literal(items));
    }
    let steps = vec![never, over_output("b", fallback)];
    check_estimate(steps, 4, 1, &["b"], 1);
}

#[test]
fn the_length_of_a_list_that_is_written_is_known() {
    let list = Node {
        kind: NodeKind::List(vec![
            output_of("a"),
            Node::literal(Value::from(2_i64), Place::NOWHERE),
        ]),
        place: Place::NOWHERE,
    };
    let mut each = step("b", "u", &[]);
    each.for_each = Some(ForEach {
        item_name: None,
        with_item: false,
        over: list,
        max_parallel: NonZeroU32::new(1),
    });
    let path = ["a", "b[0]", "b[1]"];
    check_estimate(vec![step("a", "t", &[]), each], 4, 11, &path, 0);
    let mut over_output = step("b", "u", &[]);
    over_output.for_each = Some(ForEach {
        item_name: None,
        with_item: false,
        over: output_of("a"),
        max_parallel: None,
    });
    check_estimate(vec![step("a", "t", &[]), over_output], 4, 6, &["a", "b"], 1);
}

#[test]
fn what_is_not_known_is_named() {
    let plan = sound(plan(vec![step("a", "t", &[])]));
    let limits = ConcurrencyLimits::default();
    let estimated =
        |durations: &Durations| estimate(&plan, durations, &limits, &EvaluationLimits::default());
    let estimate = estimated(&Durations::new());
    let assumption = Assumption::Unknown {
        tool: "s.t".into(),
        takes: SECOND,
    };
    assert_eq!(estimate.assumptions, BTreeSet::from([assumption]));
    assert_eq!(estimate.work, SECOND);
    assert_eq!(estimate.known(), None);
    let with_history = estimated(&known(3, 1));
    assert_eq!(with_history.known(), Some(3 * SECOND));
}
