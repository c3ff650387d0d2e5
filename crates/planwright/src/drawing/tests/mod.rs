//! Pictures of small plans.

mod flow;
mod images;
mod lanes;
mod pictures;
mod remarks;
mod shapes;
mod words;

use std::num::NonZeroU32;

use planwright_core::plan::{
    Action, Approval, Concurrency, Field, ForEach, Input, InputKind, Method, Name, Node, OnError,
    OnFailure, Output, Read, Reference, Repeat, Retry, SlotKind, SlotPath, Source, Targets, Writes,
};
use planwright_core::{
    Catalog, CheckContext, CheckedPlan, Place, Plan, Step, StepId, Tool, Value, check,
};

use super::{Drawing, Mark, Style, Symbols};

/// A step that reads the whole outputs of `reads`.
fn step(id: &str, tool: &str, reads: &[&str]) -> Step {
    let fields = reads
        .iter()
        .map(|read| Field {
            key: (*read).into(),
            value: of_step(read),
        })
        .collect();
    Step::call(id, tool, Node::object(fields, Place::NOWHERE))
}

fn of_step(id: &str) -> Node {
    let read = Read::whole(Source::Step(StepId::new(id)));
    Node::reference(Reference::read(read, format!("${{{id}}}"), Place::NOWHERE))
}

fn of_slot(kind: SlotKind, key: &str) -> Node {
    let path = vec![planwright_core::plan::Segment::key(key)];
    let read = Read::part(Source::Slot(kind), path);
    Node::reference(Reference::read(
        read,
        format!("${{{kind}.{key}}}"),
        Place::NOWHERE,
    ))
}

fn name(text: &str) -> Name {
    Name {
        text: text.into(),
        place: Place::NOWHERE,
    }
}

fn after(mut step: Step, names: &[&str]) -> Step {
    step.after = names.iter().map(|text| name(text)).collect();
    step
}

fn writes(mut step: Step, targets: &[&str], one: bool) -> Step {
    let paths = targets
        .iter()
        .map(|key| SlotPath {
            kind: SlotKind::State,
            keys: vec![(*key).into()],
            place: Place::NOWHERE,
        })
        .collect();
    step.writes = Some(Writes {
        targets: if one {
            Targets::OneOf(paths)
        } else {
            Targets::All(paths)
        },
        method: Method::Set,
        place: Place::NOWHERE,
    });
    step
}

fn plan(steps: Vec<Step>) -> Plan {
    Plan {
        steps,
        ..Plan::default()
    }
}

fn catalog(plan: &Plan) -> Catalog {
    let mut catalog = Catalog::new();
    for step in &plan.steps {
        if let Some(tool) = step.tool()
            && catalog.tools().all(|known| known.name != tool.text)
        {
            catalog.add(Tool::new("server", &*tool.text));
        }
    }
    catalog
}

fn checked(plan: Plan) -> CheckedPlan {
    let catalog = catalog(&plan);
    let (checked, findings) = check(plan, &CheckContext::new(&catalog));
    checked.unwrap_or_else(|| panic!("{findings:?}"))
}

/// The graph of `steps` without its heading.
fn graph(steps: Vec<Step>) -> String {
    body(&Drawing::of(&checked(plan(steps))).text(&Style::default()))
}

fn body(text: &str) -> String {
    text.split_once("\n\n")
        .map_or(text, |(_, body)| body)
        .to_owned()
}

fn branches() -> Plan {
    let mut suggest = step("suggest", "suggest", &[]);
    suggest.args = Node::object(
        vec![Field {
            key: "what".into(),
            value: of_slot(SlotKind::State, "suggestion"),
        }],
        Place::NOWHERE,
    );
    let reads = |id: &str, tool: &str, key: &str| {
        let fields = vec![Field {
            key: "at".into(),
            value: of_slot(SlotKind::State, key),
        }];
        Step::call(id, tool, Node::object(fields, Place::NOWHERE))
    };
    plan(vec![
        writes(
            step("weather", "get_weather", &[]),
            &["sunny", "not_sunny"],
            true,
        ),
        writes(reads("park", "find_park", "sunny"), &["suggestion"], false),
        writes(
            reads("movie", "find_movie", "not_sunny"),
            &["suggestion"],
            false,
        ),
        suggest,
    ])
}

/// A plan with everything that a note can say.
fn remarkable() -> Plan {
    let mut each = step("weather", "get_weather", &[]);
    each.title = Some("Ask for the weather everywhere".into());
    each.for_each = Some(ForEach {
        item_name: None,
        with_item: false,
        over: of_slot(SlotKind::Inputs, "cities"),
        max_parallel: NonZeroU32::new(4),
    });
    let mut poll = step("poll", "get_status", &["weather"]);
    poll.repeat = Some(Repeat {
        until: of_step("poll"),
        max: NonZeroU32::new(10).unwrap(),
    });
    poll.timeout = Some(std::time::Duration::from_millis(1500));
    let mut warn = step("warn", "notify", &["poll"]);
    warn.when = Some(of_step("poll"));
    warn.approval = Approval::Ask;
    warn.concurrency = Concurrency::Alone;
    warn.on_error = OnError::Continue;
    warn.retry = NonZeroU32::new(3).map(Retry::new);
    let mut rest = step("rest", "put", &["warn"]);
    rest.on_error = OnError::Output(Node::literal(Value::Null, Place::NOWHERE));
    let summary = Step::new(
        StepId::new("summary"),
        Action::Value(of_step("poll")),
        Node::default(),
    );
    Plan {
        name: Some("watch-weather".into()),
        title: Some("Watch the weather".into()),
        inputs: vec![
            Input {
                name: "cities".into(),
                kind: InputKind::Input,
                schema: Value::Null,
                default: Some(Value::list(["Tokyo", "London"].map(Value::from))),
                place: Place::NOWHERE,
            },
            Input {
                name: "limit".into(),
                kind: InputKind::Input,
                schema: Value::Null,
                default: None,
                place: Place::NOWHERE,
            },
        ],
        output: Output::Steps(vec![name("summary"), name("warn")]),
        on_failure: OnFailure::Stop,
        ..plan(vec![each, poll, warn, rest, summary])
    }
}
