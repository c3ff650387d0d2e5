//! Any graph, any order of completion, any limit: the same outcome, no step before its data, none lost, none run
//! twice.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use planwright_core::plan::{
    Alternative, Field, Form, Keyword, Method, Name, Node, OnError, Read, Reference, Segment,
    SlotKind, SlotPath, Source, Targets, Writes,
};
use planwright_core::{Place, Plan, Step, StepId, Value};
use planwright_engine::{RunOptions, StepStatus};
use proptest::prelude::*;
use proptest::sample::Index;

use crate::drive::{drive, sound};

/// A step of a random plan, in numbers.
#[derive(Clone, Debug)]
pub(crate) struct Seed {
    whole: Vec<Index>,
    parts: Vec<Index>,
    fallback: Option<Index>,
    after: Option<Index>,
    reads_slot: Option<u8>,
    writes_slot: Option<(u8, Method)>,
    on_error: u8,
    fails: bool,
}

pub(crate) fn seed() -> impl Strategy<Value = Seed> {
    (
        prop::collection::vec(any::<Index>(), 0..3),
        prop::collection::vec(any::<Index>(), 0..2),
        prop::option::weighted(0.2, any::<Index>()),
        prop::option::weighted(0.2, any::<Index>()),
        prop::option::weighted(0.3, 0_u8..3),
        prop::option::weighted(0.4, (0_u8..3, prop::sample::select(Method::ALL))),
        0_u8..6,
        prop::bool::weighted(0.1),
    )
        .prop_map(
            |(whole, parts, fallback, after, reads_slot, writes_slot, on_error, fails)| Seed {
                whole,
                parts,
                fallback,
                after,
                reads_slot,
                writes_slot,
                on_error,
                fails,
            },
        )
}

fn reference(form: Form) -> Node {
    Node::reference(Reference {
        text: Arc::from("r"),
        place: Place::NOWHERE,
        form,
    })
}

fn read(read: Read) -> Node {
    reference(Form::First(vec![Alternative::Read(read)]))
}

fn id(index: usize) -> StepId {
    StepId::new(format!("s{index}"))
}

/// The plan: references point to earlier steps; the first half writes slots, the second half reads them.
pub(crate) fn plan(seeds: &[Seed]) -> (Plan, BTreeSet<String>) {
    let half = seeds.len() / 2;
    let mut failing = BTreeSet::new();
    let steps = seeds.iter().enumerate().map(|(index, seed)| {
        let mut fields = Vec::new();
        let mut add = |node: Node| {
            let key = Arc::from(format!("a{}", fields.len()));
            fields.push(Field { key, value: node });
        };
        add(Node::literal(Value::from(index as u64), Place::NOWHERE));
        if index > 0 {
            for on in &seed.whole {
                add(read(Read::whole(Source::Step(id(on.index(index))))));
            }
            for on in &seed.parts {
                let path = vec![Segment::key("args"), Segment::key("a0")];
                add(read(Read::part(Source::Step(id(on.index(index))), path)));
            }
            if let Some(on) = &seed.fallback {
                let path = vec![Segment::key("nowhere")];
                let lost = Read::part(Source::Step(id(on.index(index))), path);
                add(reference(Form::First(vec![
                    Alternative::Read(lost),
                    Alternative::Literal(Value::from("else")),
                ])));
            }
        }
        if let (true, Some(slot)) = (index >= half, seed.reads_slot) {
            let path = vec![Segment::key(format!("slot{slot}"))];
            add(read(Read::part(Source::Slot(SlotKind::State), path)));
        }
        let args = Node::object(fields, Place::NOWHERE);
        let mut step = Step::call(format!("s{index}"), "t", args);
        if let (true, Some(on)) = (index > 0, &seed.after) {
            step.after.push(Name {
                text: Arc::clone(id(on.index(index)).text()),
                place: Place::NOWHERE,
            });
        }
        if let (true, Some((slot, method))) = (index < half, seed.writes_slot) {
            step.writes = Some(Writes {
                targets: Targets::All(vec![SlotPath {
                    kind: SlotKind::State,
                    keys: vec![Arc::from(format!("slot{slot}"))],
                    place: Place::NOWHERE,
                }]),
                method,
                place: Place::NOWHERE,
            });
        }
        step.on_error = match seed.on_error {
            0 => OnError::Continue,
            1 => OnError::Output(Node::literal(Value::from("instead"), Place::NOWHERE)),
            _ => OnError::Fail,
        };
        if seed.fails {
            failing.insert(format!("s{index}"));
        }
        step
    });
    let steps = steps.collect();
    let plan = Plan {
        steps,
        ..Plan::default()
    };
    (plan, failing)
}

/// The outcome of a run, without times.
fn essence(summary: &planwright_engine::RunSummary) -> String {
    let steps: Vec<String> = summary
        .steps
        .iter()
        .map(|step| {
            format!(
                "{} {} {:?} {:?} {:?}",
                step.at,
                step.status.as_str(),
                step.output,
                step.error,
                step.reason
            )
        })
        .collect();
    format!(
        "{:?} {} {} {}",
        summary.status,
        summary.output,
        summary.state,
        steps.join("\n")
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn the_outcome_depends_on_the_plan_alone(
        seeds in prop::collection::vec(seed(), 1..24),
        choices in prop::collection::vec(any::<Index>(), 1..40),
        total in 1_usize..8,
        known in prop::collection::vec(0_u64..100_000, 0..3),
    ) {
        let (plan, failing) = plan(&seeds);
        let plan = sound(plan);
        let one_by_one = drive(plan.clone(), RunOptions::default(), &failing, &mut |_| 0);
        let mut options = RunOptions::default();
        options.limits.total = NonZeroUsize::new(total).unwrap();
        for (tool, millis) in ["t", "u"].into_iter().zip(known) {
            let took = Duration::from_millis(millis);
            options.durations.observe(&"s".into(), &Arc::from(tool), took);
        }
        let mut choices = choices.iter().cycle();
        let any_order = drive(plan.clone(), options, &failing, &mut |open| {
            choices.next().unwrap().index(open)
        });
        prop_assert_eq!(essence(&one_by_one.summary), essence(&any_order.summary));
        prop_assert!(any_order.maximum <= total);

        // None is lost: every step that has not run has a reason. None runs twice: one call each.
        for step in &any_order.summary.steps {
            let calls = any_order.log.iter().filter(|entry| **entry == format!("+{}", step.at.step)).count();
            match step.status {
                StepStatus::Succeeded | StepStatus::Failed => prop_assert!(calls <= 1),
                _ => {
                    prop_assert_eq!(calls, 0);
                    prop_assert!(step.reason.is_some());
                }
            }
        }
        // No step before its data.
        for checked in plan.steps() {
            let began = any_order.log.iter().position(|entry| *entry == format!("+s{}", checked.index));
            let Some(began) = began else { continue };
            for on in &checked.initial_dependencies {
                let ended = any_order.log.iter().position(|entry| *entry == format!("-s{on}"));
                prop_assert!(ended.is_none_or(|ended| ended < began));
            }
        }
    }

    #[test]
    fn a_value_survives_any_path_of_references(value in value(), hops in 1_usize..12) {
        let mut steps = vec![Step::new(
            StepId::new("v0"),
            planwright_core::plan::Action::Value(Node::literal(value.clone(), Place::NOWHERE)),
            Node::default(),
        )];
        for hop in 1..=hops {
            let from = StepId::new(format!("v{}", hop - 1));
            let node = read(Read::whole(Source::Step(from)));
            let id = StepId::new(format!("v{hop}"));
            let action = planwright_core::plan::Action::Value(node);
            steps.push(Step::new(id, action, Node::default()));
        }
        let last = read(Read::whole(Source::Step(StepId::new(format!("v{hops}")))));
        let field = Field { key: Arc::from("value"), value: last };
        steps.push(Step::call("call", "t", Node::object(vec![field], Place::NOWHERE)));
        let plan = sound(Plan { steps, ..Plan::default() });
        let driven = drive(plan, RunOptions::default(), &BTreeSet::new(), &mut |_| 0);
        let sent = driven.summary.calls[0].args.get("value").unwrap();
        prop_assert_eq!(sent, &value);
        prop_assert_eq!(sent.to_json(), value.to_json());
    }
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>()
            .prop_filter_map("finite", planwright_core::Number::from_f64)
            .prop_map(Value::Number),
        ".*".prop_map(Value::from),
        Just(Value::from("${x}")),
    ];
    leaf.prop_recursive(4, 64, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((".*", inner), 0..6)
                .prop_map(|fields| Value::object(fields.into_iter())),
        ]
    })
}
