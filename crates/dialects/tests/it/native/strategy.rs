//! Arbitrary plans with all features.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use planwright_core::expression::parse_form;
use planwright_core::plan::{
    Action, Approval, Concurrency, Field, ForEach, Idempotency, InitialValues, Input, InputKind,
    Keyword, Method, Mode, Name, Node, NodeKind, OnError, OnFailure, Ordering, Output, PlanCall,
    PlanTarget, Reference, Repeat, Retry, Sharing, SlotKind, SlotPath, SlotSchema, Step, Targets,
    TextPart, Undo, Writes,
};
use planwright_core::{Place, Plan, StepId, Value};
use proptest::prelude::*;

fn word() -> impl Strategy<Value = Arc<str>> {
    let words = [
        "a",
        "b",
        "first-name",
        "odd key",
        "x.y",
        "*",
        "é",
        "0",
        "12",
        "$",
        "${",
        "$${a}",
        "}",
        "value",
        "state",
        "",
        "inputs",
    ];
    prop::sample::select(words.to_vec()).prop_map(Arc::from)
}

fn id() -> impl Strategy<Value = Arc<str>> {
    prop::sample::select(vec![
        "a",
        "b",
        "rows",
        "fetch-user",
        "odd id",
        "${x",
        "7",
        "größe",
    ])
    .prop_map(Arc::from)
}

fn name() -> impl Strategy<Value = Name> {
    id().prop_map(|text| Name {
        text,
        place: Place::NOWHERE,
    })
}

fn plain() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        word().prop_map(Value::Text),
    ];
    leaf.prop_recursive(2, 6, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::vec((word(), inner), 0..3).prop_map(Value::object),
        ]
    })
}

fn object() -> impl Strategy<Value = Value> {
    prop::collection::vec((word(), plain()), 0..3).prop_map(Value::object)
}

fn reference() -> impl Strategy<Value = Reference> {
    let forms = [
        "a",
        "a.b[0]",
        "rows[*].id",
        "rows[*?].id",
        "a.b?",
        "inputs.city",
        "slots.state[\"odd key\"].x",
        "results[\"odd id\"].error.message",
        "item.x",
        "index",
        "last",
        "a.x ?? b.y ?? \"}${'\"",
        "a ?? {\"k\": [null]}",
        "all(a, slots.data.x)",
        "a.n + 1 > 3",
        "rows.filter(r, r.on).map(r, r.id)",
        "{'a': a.x, \"}\": '{'}",
    ];
    prop::sample::select(forms.to_vec()).prop_map(|text| Reference {
        text: "".into(),
        place: Place::NOWHERE,
        form: parse_form(text).unwrap(),
    })
}

fn node() -> impl Strategy<Value = Node> {
    let text =
        (word(), reference(), word(), reference()).prop_map(|(before, one, between, two)| {
            let parts = [
                TextPart::Literal(before),
                TextPart::Reference(one),
                TextPart::Literal(between),
                TextPart::Reference(two),
            ];
            let is_empty =
                |part: &TextPart| matches!(part, TextPart::Literal(text) if text.is_empty());
            Node {
                kind: NodeKind::Text(parts.into_iter().filter(|part| !is_empty(part)).collect()),
                place: Place::NOWHERE,
            }
        });
    let leaf = prop_oneof![
        plain().prop_map(|value| Node::literal(value, Place::NOWHERE)),
        reference().prop_map(Node::reference),
        text,
    ];
    leaf.prop_recursive(2, 6, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3)
                .prop_map(|items| Node::list(items, Place::NOWHERE)),
            fields(inner),
        ]
    })
}

fn fields(value: impl Strategy<Value = Node>) -> impl Strategy<Value = Node> {
    prop::collection::btree_map(word(), value, 0..3).prop_map(|fields| {
        let fields = fields
            .into_iter()
            .map(|(key, value)| Field { key, value })
            .collect();
        Node::object(fields, Place::NOWHERE)
    })
}

fn condition() -> impl Strategy<Value = Node> {
    prop_oneof![
        any::<bool>().prop_map(|value| Node::literal(value.into(), Place::NOWHERE)),
        reference().prop_map(Node::reference),
    ]
}

fn list() -> impl Strategy<Value = Node> {
    prop_oneof![
        prop::collection::vec(node(), 0..3).prop_map(|items| Node::list(items, Place::NOWHERE)),
        reference().prop_map(Node::reference),
    ]
}

fn count() -> impl Strategy<Value = NonZeroU32> {
    (1..=u32::MAX).prop_map(|count| NonZeroU32::new(count).unwrap())
}

fn duration() -> impl Strategy<Value = Duration> {
    prop_oneof![
        (0..100_000_u64).prop_map(Duration::from_secs),
        any::<u64>().prop_map(Duration::from_nanos),
    ]
}

fn kind() -> impl Strategy<Value = SlotKind> {
    prop::sample::select(SlotKind::ALL)
}

fn writes() -> impl Strategy<Value = Writes> {
    let kinds = vec![SlotKind::Vars, SlotKind::State, SlotKind::Data];
    let path = (
        prop::sample::select(kinds),
        prop::collection::vec(word(), 0..3),
    )
        .prop_map(|(kind, keys)| SlotPath {
            kind,
            keys,
            place: Place::NOWHERE,
        })
        .boxed();
    let targets = prop_oneof![
        prop::collection::vec(path.clone(), 1..3).prop_map(Targets::All),
        prop::collection::vec(path, 2..4).prop_map(Targets::OneOf),
    ];
    let method = prop::sample::select(Method::ALL);
    (targets, method).prop_map(|(targets, method)| Writes {
        targets,
        method,
        place: Place::NOWHERE,
    })
}

fn action(depth: u32) -> BoxedStrategy<Action> {
    let target = if depth == 0 {
        name().prop_map(PlanTarget::Named).boxed()
    } else {
        prop_oneof![
            name().prop_map(PlanTarget::Named),
            plan(depth - 1).prop_map(|plan| PlanTarget::Inline(Box::new(plan))),
        ]
        .boxed()
    };
    prop_oneof![
        4 => name().prop_map(Action::Tool),
        1 => node().prop_map(Action::Value),
        1 => (target, prop::collection::vec(kind(), 0..3))
            .prop_map(|(target, scopes)| Action::Plan(PlanCall { target, scopes })),
    ]
    .boxed()
}

fn step(depth: u32) -> impl Strategy<Value = Step> {
    let option = prop::option::of::<BoxedStrategy<Arc<str>>>;
    let texts = (
        option(word().boxed()),
        option(word().boxed()),
        option(word().boxed()),
    );
    let when = prop::option::of(condition());
    let named = prop::option::of(Just(Arc::<str>::from("entry")));
    let for_each = prop::option::of((list(), prop::option::of(count()), named, any::<bool>()));
    let repeat = prop::option::of((condition(), count()));
    let on_error = prop_oneof![
        Just(OnError::Fail),
        Just(OnError::Continue),
        node().prop_map(OnError::Output)
    ];
    let retry = prop::option::of((count(), prop::option::of(duration())));
    let rest = (
        prop::option::of(writes()),
        on_error,
        retry,
        prop::option::of(duration()),
        any::<[bool; 3]>(),
    );
    let after = prop::collection::vec(name(), 0..3);
    let positional = prop_oneof![
        4 => Just(Vec::new()),
        1 => prop::collection::vec(node(), 1..3),
    ];
    let undo = prop::option::of((name(), fields(node())));
    let flow = (after, when, for_each, repeat, positional, undo);
    (id(), action(depth), fields(node()), texts, flow, rest).prop_map(
        |(id, action, args, (title, note, instance), flow, rest)| {
            let mut step = Step::new(StepId::new(id), action, args);
            (step.title, step.note, step.instance) = (title, note, instance);
            step.after = flow.0;
            step.when = flow.1;
            step.for_each = flow
                .2
                .map(|(over, max_parallel, item_name, with_item)| ForEach {
                    over,
                    max_parallel,
                    item_name,
                    with_item,
                });
            step.repeat = flow.3.map(|(until, max)| Repeat { until, max });
            step.positional = flow.4;
            step.undo = flow.5.map(|(tool, args)| Box::new(Undo { tool, args }));
            step.writes = rest.0;
            step.on_error = rest.1;
            step.retry = rest.2.map(|(attempts, delay)| {
                let retry = Retry::new(attempts);
                delay.map_or(retry, |delay| retry.with_delay(delay))
            });
            step.timeout = rest.3;
            let [approval, idempotent, alone] = rest.4;
            if approval {
                step.approval = Approval::Ask;
            }
            if idempotent {
                step.idempotency = Idempotency::Idempotent;
            }
            if alone {
                step.concurrency = Concurrency::Alone;
            }
            step
        },
    )
}

fn input() -> impl Strategy<Value = Input> {
    let schema = prop_oneof![
        Just(Value::Null),
        Just(Value::object([("type", "string".into())])),
    ];
    let kind = prop::sample::select(vec![InputKind::Input, InputKind::Variable]);
    (word(), kind, schema, prop::option::of(plain())).prop_map(|(name, kind, schema, default)| {
        Input {
            name,
            kind,
            schema,
            default,
            place: Place::NOWHERE,
        }
    })
}

fn inputs() -> impl Strategy<Value = Vec<Input>> {
    prop::collection::vec(input(), 0..4).prop_map(|inputs| {
        let mut names = Vec::new();
        inputs
            .into_iter()
            .filter(|input| {
                let is_new = !names.contains(&input.name);
                names.push(input.name.clone());
                is_new
            })
            .collect()
    })
}

fn contents() -> impl Strategy<Value = Vec<InitialValues>> {
    let content =
        (kind(), prop::option::of(word()), object()).prop_map(|(kind, instance, value)| {
            InitialValues {
                kind,
                instance,
                value,
                place: Place::NOWHERE,
            }
        });
    prop::collection::vec(content, 0..4)
}

fn slot_schemas() -> impl Strategy<Value = Vec<SlotSchema>> {
    let schema = (kind(), object()).prop_map(|(kind, schema)| SlotSchema {
        kind,
        schema,
        place: Place::NOWHERE,
    });
    prop::collection::vec(schema, 0..4)
}

fn output() -> impl Strategy<Value = Output> {
    prop_oneof![
        2 => Just(Output::All),
        1 => prop::collection::vec(name(), 0..3).prop_map(Output::Steps),
        2 => node().prop_map(Output::Value),
    ]
}

/// A plan with `depth` levels of inner plans.
pub(crate) fn plan(depth: u32) -> BoxedStrategy<Plan> {
    let texts = (
        prop::option::of(word()),
        prop::option::of(word()),
        prop::option::of(word()),
    );
    let choices = (
        prop::sample::select(Ordering::ALL),
        prop::sample::select(OnFailure::ALL),
        prop::sample::select(Sharing::ALL),
        prop::sample::select(Mode::ALL),
    );
    let slots = (
        contents(),
        slot_schemas(),
        prop::collection::vec(word(), 0..3),
    );
    let steps = prop::collection::vec(step(depth), 0..3);
    (texts, choices, inputs(), slots, steps, output(), plain())
        .prop_map(|(texts, choices, inputs, slots, steps, output, metadata)| {
            let (ordering, on_failure, sharing, mode) = choices;
            Plan {
                name: texts.0,
                title: texts.1,
                description: texts.2,
                inputs,
                contents: slots.0,
                slot_schemas: slots.1,
                instances: slots.2,
                steps,
                output,
                metadata,
                ordering,
                on_failure,
                sharing,
                mode,
                ..Plan::default()
            }
        })
        .boxed()
}
