//! Typical plans: calls that use each other's outputs, with few other features.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use planwright_core::plan::{
    Concurrency, Field, Missing, Name, Node, NodeKind, OnError, OnFailure, Ordering, Output, Read,
    Reference, Retry, Segment, Sharing, Source, Step, TextPart,
};
use planwright_core::{Place, Plan, StepId, Value};
use proptest::prelude::*;

const IDS: [&str; 6] = ["a", "b2", "fetch-user", "odd id", "größe", "a.b"];

/// Texts that look like references of some dialect, among others.
fn word() -> impl Strategy<Value = Arc<str>> {
    let words = [
        "a",
        "x",
        "",
        "5 $",
        "${a}",
        "$${",
        "$ref:a",
        "$$ref:",
        "†state.a",
        "††",
        "a || b",
        "output_by_reference",
        "}",
        "é",
        "\"",
        "0",
        "first-name",
        "odd key",
        "x.y",
    ];
    prop::sample::select(words.to_vec()).prop_map(Arc::from)
}

fn literal() -> impl Strategy<Value = Value> {
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

/// A read of the output or the result of one of the first `earlier` steps.
fn read(earlier: usize) -> impl Strategy<Value = Reference> {
    let segment = prop_oneof![
        4 => word().prop_map(Segment::Key),
        2 => (-2i64..5).prop_map(Segment::Index),
        1 => Just(Segment::Each),
    ];
    let path = prop_oneof![
        2 => Just(Vec::new()),
        3 => prop::collection::vec(segment, 1..3),
    ];
    let missing = prop_oneof![
        5 => Just(Missing::Fail),
        1 => Just(Missing::Null),
        1 => Just(Missing::NullInItems),
    ];
    let part = prop::sample::select(vec!["data", "success", "error", "tool", "succes"]);
    let of_result = prop_oneof![6 => Just(None), 1 => part.prop_map(Some)];
    (0..earlier, path, missing, of_result).prop_map(|(step, mut path, missing, of_result)| {
        let step = StepId::new(IDS[step]);
        let source = match of_result {
            Some(part) => {
                path.insert(0, Segment::key(part));
                Source::Result(step)
            }
            None => Source::Step(step),
        };
        let maps = path.contains(&Segment::Each);
        // A whole value is never missing, and without `[*]` there are no items that could lack anything.
        let missing = match missing {
            Missing::Null if path.is_empty() => Missing::Fail,
            Missing::NullInItems if !maps => Missing::Fail,
            other => other,
        };
        let read = Read::part(source, path).or_missing(missing);
        Reference::read(read, "", Place::NOWHERE)
    })
}

fn args(earlier: usize) -> BoxedStrategy<Node> {
    let known = literal().prop_map(|value| Node::literal(value, Place::NOWHERE));
    let leaf = if earlier == 0 {
        known.boxed()
    } else {
        let text = (word(), read(earlier), word()).prop_map(|(before, one, after)| {
            let literal = |text: Arc<str>| (!text.is_empty()).then_some(TextPart::Literal(text));
            let parts = [
                literal(before),
                Some(TextPart::Reference(one)),
                literal(after),
            ];
            let mut parts: Vec<TextPart> = parts.into_iter().flatten().collect();
            if parts.len() == 1 {
                parts.push(TextPart::Literal("!".into()));
            }
            Node {
                kind: NodeKind::Text(parts),
                place: Place::NOWHERE,
            }
        });
        prop_oneof![
            4 => known,
            4 => read(earlier).prop_map(Node::reference),
            1 => text,
        ]
        .boxed()
    };
    let value = leaf.prop_recursive(2, 4, 2, |inner| {
        prop::collection::vec(inner, 0..3).prop_map(|items| Node::list(items, Place::NOWHERE))
    });
    prop::collection::btree_map(word(), value, 0..3)
        .prop_map(|fields| {
            let fields = fields.into_iter().map(|(key, value)| Field { key, value });
            Node::object(fields.collect(), Place::NOWHERE)
        })
        .boxed()
}

fn rarely(chance: u32) -> impl Strategy<Value = bool> {
    prop_oneof![
        chance => Just(true),
        40 - chance => Just(false),
    ]
}

fn step(position: usize) -> impl Strategy<Value = Step> {
    let more = (
        rarely(2),
        rarely(2),
        rarely(1),
        rarely(1),
        rarely(1),
        rarely(1),
    );
    (args(position), more).prop_map(
        move |(args, (title, after, timeout, retry, alone, lenient))| {
            let mut step = Step::call(IDS[position], "server.tool", args);
            if title {
                step.title = Some("A title".into());
            }
            if after && position > 0 {
                step.after.push(Name {
                    text: IDS[position - 1].into(),
                    place: Place::NOWHERE,
                });
            }
            if timeout {
                step.timeout = Some(Duration::from_millis(1500));
            }
            if retry {
                step.retry = NonZeroU32::new(3).map(Retry::new);
            }
            if alone {
                step.concurrency = Concurrency::Alone;
            }
            if lenient {
                step.on_error = OnError::Continue;
            }
            step
        },
    )
}

/// A plan of one to six steps.
pub(super) fn typical_plan() -> impl Strategy<Value = Plan> {
    let steps: Vec<BoxedStrategy<Step>> = (0..IDS.len()).map(|at| step(at).boxed()).collect();
    let how = (rarely(8), rarely(2), rarely(4), rarely(4));
    (steps, 1..=IDS.len(), how).prop_map(|(mut steps, count, (listed, named, stops, selects))| {
        steps.truncate(count);
        let mut plan = Plan::default();
        if listed {
            plan.ordering = Ordering::Listed;
            plan.sharing = Sharing::MarkedOnly;
        }
        if stops {
            plan.on_failure = OnFailure::Stop;
        }
        if named {
            plan.name = Some("p".into());
        }
        if selects {
            plan.output = Output::Steps(vec![Name {
                text: IDS[count - 1].into(),
                place: Place::NOWHERE,
            }]);
        }
        plan.steps = steps;
        plan
    })
}
