//! Large plans that are short to write: their cost grows linearly with their size.

use std::sync::Arc;

use planwright_core::expression::{EvaluationLimits, parse_form};
use planwright_core::plan::{
    Action, Field, ForEach, Input, InputKind, Name, Node, NodeKind, Output, PlanCall, PlanTarget,
    Reference, TextPart,
};
use planwright_core::{Place, Plan, Step, StepId, Value};
use planwright_engine::backend::ErrorKind;
use planwright_engine::run::{RunMachine, StepSummary, estimate};
use planwright_engine::schedule::ConcurrencyLimits;
use planwright_engine::{Bound, Durations, Guards, RunOptions, RunSummary, StepStatus};

use crate::drive::sound;

/// The summary of a run of `plan`, which makes no calls.
fn ran(plan: Plan, options: RunOptions) -> RunSummary {
    let mut run = RunMachine::new("run".parse().unwrap(), sound(plan), options);
    let mut effects = Vec::new();
    run.start(&mut effects);
    run.proceed(&mut effects);
    assert!(run.is_done());
    run.summary()
}

#[test]
fn many_variables() {
    const COUNT: usize = 30_000;
    let inputs = (0..COUNT).map(|number| Input {
        name: Arc::from(format!("v{number}")),
        kind: InputKind::Variable,
        schema: Value::Null,
        default: Some(Value::from(number as u64)),
        place: Place::NOWHERE,
    });
    let mut step = Step::call("a", "t", Node::object(Vec::new(), Place::NOWHERE));
    step.when = Some(Node::literal(false.into(), Place::NOWHERE));
    let plan = Plan {
        inputs: inputs.collect(),
        steps: vec![step],
        ..Plan::default()
    };
    let summary = ran(plan, RunOptions::default());
    let names = summary.vars.as_object().unwrap();
    assert_eq!(names.len(), COUNT);
    assert_eq!(names.get_index(7).unwrap().0.as_ref(), "v7");
}

fn reference(text: &str) -> Reference {
    Reference {
        text: Arc::from(text),
        place: Place::NOWHERE,
        form: parse_form(text).unwrap(),
    }
}

/// A node of references and of texts between them, which begin with `'`.
fn text(parts: &[&str]) -> Node {
    let parts = parts.iter().map(|part| match part.strip_prefix('\'') {
        Some(literal) => TextPart::Literal(Arc::from(literal)),
        None => TextPart::Reference(reference(part)),
    });
    node(NodeKind::Text(parts.collect()))
}

fn node(kind: NodeKind) -> Node {
    Node {
        kind,
        place: Place::NOWHERE,
    }
}

fn read(text: &str) -> Node {
    Node::reference(reference(text))
}

fn computed(id: &str, value: Node) -> Step {
    let nothing = Node::object(Vec::new(), Place::NOWHERE);
    Step::new(StepId::new(id), Action::Value(value), nothing)
}

/// Runs a plan whose variable `a` has 1000 letters and whose variable `l` has 100 numbers, once for each item of
/// `items` if there are any, with the given memory budget.
fn check_computed(mut each: Step, items: usize, limit: usize, expected: StepStatus) -> StepSummary {
    let variable = |name: &str, default: Value| Input {
        name: Arc::from(name),
        kind: InputKind::Variable,
        schema: Value::Null,
        default: Some(default),
        place: Place::NOWHERE,
    };
    each.for_each = (items > 0).then(|| ForEach {
        item_name: None,
        with_item: false,
        over: Node::literal(
            Value::list((0..items).map(|number| Value::from(number as u64))),
            Place::NOWHERE,
        ),
        max_parallel: None,
    });
    let objects = (0..100_u64).map(|number| Value::object([("n", Value::from(number))]));
    let plan = Plan {
        inputs: vec![
            variable("a", Value::text("a".repeat(1000))),
            variable("l", Value::list(objects)),
        ],
        steps: vec![each],
        ..Plan::default()
    };
    let options = RunOptions {
        computed_bytes: limit,
        ..RunOptions::default()
    };
    let mut summary = ran(plan, options);
    let step = summary.steps.remove(0);
    assert_eq!(step.status, expected, "{:?}", step.error);
    step
}

#[test]
fn what_steps_compute_is_bounded() {
    let check = |value: Node, items: usize, needed: usize| {
        let step = computed("each", value);
        check_computed(step.clone(), items, needed * 2, StepStatus::Succeeded);
        let step = check_computed(step, items, needed / 2, StepStatus::Failed);
        let error = step.error.unwrap();
        assert_eq!(error.kind, ErrorKind::Budget);
        let expected = format!(
            "the computed values of the run exceed the limit of {} bytes",
            needed / 2
        );
        assert!(error.message.contains(&expected), "{}", error.message);
    };
    check(text(&["vars.a", "'!"]), 1000, 1_000_000);
    check(read("vars.a + '!'"), 1000, 1_000_000);
    check(text(&["vars.a"; 1000]), 0, 1_000_000);
    check(text(&["vars.l"; 1000]), 0, 891_000);
    let list = |value: Node| node(NodeKind::List(vec![value; 1000]));
    check(list(text(&["vars.a", "'!"])), 0, 1_000_000);
    let place = size_of::<Value>();
    check(read("vars.l[*].n"), 1000, 100 * 1000 * place);
    check(
        list(Node::literal(Value::Null, Place::NOWHERE)),
        1000,
        1000 * 1000 * place,
    );
}

#[test]
fn what_plans_of_items_begin_with_counts_as_computed() {
    let inputs = (0..1000).map(|number| Input {
        name: Arc::from(format!("i{number}")),
        kind: InputKind::Input,
        schema: Value::Null,
        default: Some(Value::Null),
        place: Place::NOWHERE,
    });
    let inner = Plan {
        inputs: inputs.collect(),
        steps: vec![computed("a", Node::literal(Value::Null, Place::NOWHERE))],
        ..Plan::default()
    };
    let action = Action::Plan(PlanCall {
        target: PlanTarget::Inline(Box::new(inner)),
        scopes: Vec::new(),
    });
    let step = || {
        Step::new(
            StepId::new("each"),
            action.clone(),
            Node::object(Vec::new(), Place::NOWHERE),
        )
    };
    check_computed(step(), 1000, 1000 * 1000 * 500, StepStatus::Succeeded);
    check_computed(step(), 1000, 1000 * 1000 * 50, StepStatus::Failed);
}

#[test]
fn what_is_handed_on_is_not_computed() {
    for value in [read("vars.a"), read("vars.l"), read("vars.l[0]")] {
        check_computed(computed("each", value), 1000, 100, StepStatus::Succeeded);
    }
    let chosen = read("index % 2 == 0 ? vars.a : vars.l");
    check_computed(computed("each", chosen), 1000, 100, StepStatus::Succeeded);
}

#[test]
fn an_estimate_of_many_items_behind_many_steps() {
    const STEPS: usize = 8000;
    const ITEMS: usize = 32_000;
    let call = |id: &str| Step::call(id, "t", Node::object(Vec::new(), Place::NOWHERE));
    let mut steps: Vec<Step> = (0..STEPS).map(|step| call(&format!("s{step}"))).collect();
    let mut each = call("each");
    let names = steps.iter().map(|step| Name {
        text: Arc::clone(step.id.text()),
        place: Place::NOWHERE,
    });
    each.after = names.collect();
    each.for_each = Some(ForEach {
        item_name: None,
        with_item: false,
        over: Node::literal(Value::list(vec![Value::Null; ITEMS]), Place::NOWHERE),
        max_parallel: None,
    });
    steps.push(each);
    let plan = sound(Plan {
        steps,
        ..Plan::default()
    });
    let durations = Durations::new();
    let evaluation = EvaluationLimits::default();
    let estimate = estimate(
        &plan,
        &durations,
        &ConcurrencyLimits::default(),
        &evaluation,
    );
    assert_eq!(estimate.calls, STEPS + ITEMS);
    let rounds = (STEPS + ITEMS) / 16;
    assert_eq!(estimate.expected.as_secs(), rounds as u64);
    assert_eq!(estimate.path.len(), 2);
}

/// Steps that double a list: `s0` has 100 numbers, `s{times}` would come to about `200 << times` bytes.
fn doubling(times: usize) -> Vec<Step> {
    let first = Value::list((0..100_u64).map(|_| Value::from(1)));
    let mut steps = vec![computed("s0", Node::literal(first, Place::NOWHERE))];
    for number in 1..=times {
        let before = format!("steps.s{}", number - 1);
        let twice = node(NodeKind::List(vec![read(&before), read(&before)]));
        steps.push(computed(&format!("s{number}"), twice));
    }
    steps
}

/// Runs a plan whose last step is the first that exceeds the budget, and compares the error.
fn check_written(steps: Vec<Step>, output: Output, guards: Guards, expected: &str) -> RunSummary {
    let plan = Plan {
        steps,
        output,
        ..Plan::default()
    };
    let options = RunOptions {
        guards,
        ..RunOptions::default()
    };
    let summary = ran(plan, options);
    let failed = summary.steps.iter().find(|step| step.error.is_some());
    let failure =
        failed.map(|step| format!("{}: {}", step.at, step.error.as_ref().unwrap().message));
    let warned = summary.warnings.first().map(|found| found.message.clone());
    assert_eq!(failure.or(warned).unwrap_or_default(), expected);
    summary
}

fn nothing() -> Output {
    Output::Value(Node::literal(Value::Null, Place::NOWHERE))
}

#[test]
fn what_is_written_is_bounded_though_it_is_shared() {
    let mut steps = doubling(60);
    let message = "the values of the run exceed 67108864 bytes as written, the limit of `budgets.written_bytes` by default";
    let summary = check_written(
        steps.clone(),
        nothing(),
        Guards::new(),
        &format!("s18: {message}"),
    );
    assert!(summary.written_bytes <= Guards::WRITTEN_BYTES);
    steps.truncate(11);
    // 201 bytes doubled ten times, and the bytes before that.
    let bytes = 417_555;
    let summary = check_written(steps.clone(), nothing(), Guards::new(), "");
    assert_eq!(summary.written_bytes, bytes);
    let set = |limit: u64| Guards::new().written_bytes(Bound::set_in(limit, "planwright.toml:7"));
    // The output is `null`, which takes four bytes.
    check_written(steps.clone(), nothing(), set(bytes + 4), "");
    let message = "the limit of `planwright.toml:7` for `written_bytes`";
    let expected = format!(
        "s10: the values of the run exceed {} bytes as written, {message}",
        bytes - 1
    );
    check_written(steps.clone(), nothing(), set(bytes - 1), &expected);
    // The output is written as well, but only once the run has ended.
    let expected = format!("the values of the run exceed {bytes} bytes as written, {message}");
    let output = Output::Value(read("steps.s0"));
    let summary = check_written(steps, output, set(bytes), &expected);
    assert_eq!(summary.status.as_str(), "failed");
}

#[test]
fn each_place_counts_where_a_value_is_written() {
    let bytes = |more: Vec<Step>| {
        let mut steps = doubling(3);
        let own = check_written(steps.clone(), nothing(), Guards::new(), "").written_bytes;
        steps.extend(more);
        check_written(steps, nothing(), Guards::new(), "").written_bytes - own
    };
    let size = 201 * 8 + 3 * 7;
    let whole = || read("steps.s3");
    assert_eq!(bytes(vec![computed("a", whole())]), size);
    // Each item, and the list of all.
    let mut each = computed("a", whole());
    each.for_each = Some(ForEach {
        item_name: None,
        with_item: false,
        over: Node::literal(Value::list(vec![Value::Null; 10]), Place::NOWHERE),
        max_parallel: None,
    });
    assert_eq!(bytes(vec![each]), 2 * 10 * size + 11);
    // The plan's inputs, its step, its output, and the step that runs it.
    let inner = Plan {
        inputs: vec![Input {
            name: Arc::from("x"),
            kind: InputKind::Input,
            schema: Value::Null,
            default: None,
            place: Place::NOWHERE,
        }],
        steps: vec![computed("b", read("inputs.x"))],
        output: Output::Value(read("steps.b")),
        ..Plan::default()
    };
    let action = Action::Plan(PlanCall {
        target: PlanTarget::Inline(Box::new(inner)),
        scopes: Vec::new(),
    });
    let field = Field {
        key: Arc::from("x"),
        value: whole(),
    };
    let args = node(NodeKind::Object(vec![field]));
    let with_name = size + r#"{"x":}"#.len() as u64;
    assert_eq!(
        bytes(vec![Step::new(StepId::new("a"), action, args)]),
        with_name + 2 * size
    );
}
