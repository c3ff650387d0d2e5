//! Random plans: calls of tools of all kinds, loops, fallbacks, steps that ask first.

use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::Arc;
use std::time::Duration;

use planwright_core::check::{CheckContext, CheckedPlan, Policy, check};
use planwright_core::flow::{FlowPattern, FlowPolicy, Guard, OnViolation};
use planwright_core::plan::{
    Alternative, Approval, Field, ForEach, Form, Node, OnError, Read, Reference, Retry, Source,
};
use planwright_core::{Catalog, Place, Plan, Step, StepId, Tool, Value};
use planwright_engine::schedule::ConcurrencyLimits;
use planwright_engine::{Guards, Rate, RunOptions};

use super::world::Chance;

/// Tools: one that only reads, one that may be called twice, two that must not be.
pub(super) const TOOLS: [&str; 4] = ["read", "put", "pay", "send"];

/// The catalog of the simulated server.
pub(super) fn catalog() -> Catalog {
    TOOLS
        .iter()
        .map(|name| {
            let mut tool = Tool::new("s", *name);
            tool.annotations.trusted = true;
            tool.annotations.read_only = *name == "read";
            tool.annotations.idempotent = *name == "put";
            tool.approval = *name == "send";
            tool
        })
        .collect()
}

/// A random sound plan.
pub(super) fn plan(chance: &mut Chance) -> CheckedPlan {
    let count = 2 + chance.below(9);
    let steps = (0..count).map(|index| step(index, chance)).collect();
    let plan = Plan {
        steps,
        ..Plan::default()
    };
    let catalog = catalog();
    // Every argument is guarded, so a run compares the origins of all texts with those that the analysis names.
    let flow = FlowPolicy {
        guard: vec![Guard::Rule(FlowPattern::parse("s.*").unwrap().into())],
        violation: if chance.happens(20) {
            OnViolation::Ask
        } else {
            OnViolation::Warn
        },
        ..FlowPolicy::default()
    };
    let policy = Policy::new().with_flow(flow);
    let context = CheckContext::new(&catalog).with_policy(&policy);
    let (checked, diagnostics) = check(plan, &context);
    checked.unwrap_or_else(|| panic!("rejected: {diagnostics:#?}"))
}

fn step(index: u64, chance: &mut Chance) -> Step {
    let mut fields = vec![field(
        "n",
        Node::literal(Value::from(index), Place::NOWHERE),
    )];
    for _ in 0..chance.below(3) {
        if index > 0 {
            let on = format!("s{}", chance.below(index));
            if fields.iter().all(|field| *field.key != *on) {
                fields.push(field(&on, reference(Source::Step(StepId::new(&*on)))));
            }
        }
    }
    let loops = chance.happens(20);
    if loops {
        fields.push(field("item", reference(Source::Item)));
    }
    let tool = TOOLS[usize::try_from(chance.below(4)).unwrap()];
    let id = format!("s{index}");
    let mut step = Step::call(id.as_str(), tool, Node::object(fields, Place::NOWHERE));
    if loops {
        let items = Value::list((0..=chance.below(4)).map(Value::from));
        step.for_each = Some(ForEach {
            item_name: None,
            with_item: false,
            over: Node::literal(items, Place::NOWHERE),
            max_parallel: None,
        });
    }
    if chance.happens(10) {
        step.approval = Approval::Ask;
    }
    if matches!(tool, "read" | "put") && chance.happens(40) {
        let retry = Retry::new(NonZeroU32::new(3).unwrap());
        step.retry = Some(retry.with_delay(Duration::from_millis(50)));
    }
    if chance.happens(10) {
        step.timeout = Some(Duration::from_secs(7));
    }
    step.on_error = match chance.below(10) {
        0 => OnError::Continue,
        1 => OnError::Output(Node::literal(Value::from("instead"), Place::NOWHERE)),
        _ => OnError::Fail,
    };
    step
}

/// Random options, with few slots, so that the order of starting matters.
pub(super) fn options(chance: &mut Chance) -> RunOptions {
    let mut guards = Guards::new().calls(100_000).same_call(100_000);
    let mut of_guards = chance.of("guards");
    if of_guards.happens(30) {
        let calls = NonZeroU32::new(u32::try_from(1 + of_guards.below(5)).unwrap()).unwrap();
        let per = Duration::from_millis(1 + of_guards.below(2000));
        guards = guards.rate("s", Rate { calls, per });
    }
    RunOptions {
        guards,
        limits: ConcurrencyLimits {
            total: NonZeroUsize::new(usize::try_from(1 + chance.below(4)).unwrap()).unwrap(),
            ..ConcurrencyLimits::default()
        },
        attempt_timeout: Some(Duration::from_secs(5)),
        ..RunOptions::default()
    }
}

fn field(key: &str, value: Node) -> Field {
    Field {
        key: Arc::from(key),
        value,
    }
}

fn reference(source: Source) -> Node {
    Node::reference(Reference {
        text: Arc::from("r"),
        place: Place::NOWHERE,
        form: Form::First(vec![Alternative::Read(Read::whole(source))]),
    })
}
