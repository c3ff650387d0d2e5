//! The meaning of a plan as text, without places.

use std::fmt::Write;

use planwright_core::Plan;
use planwright_core::plan::{
    Action, Alternative, Concurrency, Form, Missing, Mode, Node, NodeKind, OnError, OnFailure,
    Ordering, Output, PlanTarget, Read, Reference, Segment, Sharing, Source, Step, Targets,
    TextPart,
};

/// The meaning of `plan`, one line for each part.
pub(crate) fn meaning(plan: &Plan) -> String {
    let mut lines = Vec::new();
    let texts = [
        ("name", &plan.name),
        ("title", &plan.title),
        ("description", &plan.description),
    ];
    for (word, text) in texts {
        lines.extend(text.as_ref().map(|text| format!("{word}: {text}")));
    }
    let modes = [
        (plan.ordering == Ordering::Listed, "listed order"),
        (plan.on_failure == OnFailure::Stop, "stops at a failure"),
        (plan.sharing == Sharing::MarkedOnly, "shares where marked"),
        (plan.mode == Mode::Show, "to be shown"),
    ];
    lines.extend(
        modes
            .iter()
            .filter(|(used, _)| *used)
            .map(|(_, word)| (*word).to_owned()),
    );
    for input in &plan.inputs {
        let default = input.default.as_ref().map(ToString::to_string);
        lines.push(format!(
            "{:?} {} = {} (schema {})",
            input.kind,
            input.name,
            default.as_deref().unwrap_or("required"),
            input.schema
        ));
    }
    if !plan.metadata.is_null() {
        lines.push(format!("metadata: {}", plan.metadata));
    }
    lines.extend(slots(plan));
    lines.extend(plan.steps.iter().map(step));
    match &plan.output {
        Output::All => {}
        Output::Steps(names) => {
            let names: Vec<&str> = names.iter().map(|name| &*name.text).collect();
            lines.push(format!("output: {names:?}"));
        }
        Output::Value(value) => lines.push(format!("output: {}", node(value))),
    }
    lines.join("\n")
}

/// The initial values and the schemas of slots, by instance.
fn slots(plan: &Plan) -> Vec<String> {
    let mut lines = Vec::new();
    for content in &plan.contents {
        let instance = content.instance.as_deref().unwrap_or("all");
        lines.push(format!("{} of {instance}: {}", content.kind, content.value));
    }
    for slots in &plan.slot_schemas {
        lines.push(format!("{} (schema {})", slots.kind, slots.schema));
    }
    if !plan.instances.is_empty() {
        lines.push(format!("instances: {:?}", plan.instances));
    }
    lines
}

fn step(step: &Step) -> String {
    let mut line = format!("step {:?}", step.id.as_str());
    if let Some(title) = &step.title {
        write!(line, " ({title})").unwrap();
    }
    match &step.action {
        Action::Tool(name) => write!(line, " calls {}", name.text).unwrap(),
        Action::Value(value) => write!(line, " gives {}", node(value)).unwrap(),
        Action::Plan(call) => {
            match &call.target {
                PlanTarget::Named(name) => write!(line, " runs {}", name.text).unwrap(),
                PlanTarget::Inline(plan) => write!(line, " runs {{{}}}", meaning(plan)).unwrap(),
            }
            write!(line, " seeing {:?}", call.scopes).unwrap();
        }
    }
    write!(line, " with {}", node(&step.args)).unwrap();
    for argument in &step.positional {
        write!(line, " and {}", node(argument)).unwrap();
    }
    for name in &step.after {
        write!(line, ", after {:?}", &*name.text).unwrap();
    }
    if let Some(writes) = &step.writes {
        let paths: Vec<String> = writes
            .targets
            .paths()
            .iter()
            .map(|path| format!("{}{:?}", path.kind, path.keys))
            .collect();
        let between = match &writes.targets {
            Targets::All(_) => " and ",
            Targets::OneOf(_) => " or ",
        };
        write!(line, ", {:?} {}", writes.method, paths.join(between)).unwrap();
    }
    if let Some(instance) = &step.instance {
        write!(line, ", for {instance}").unwrap();
    }
    if let Some(note) = &step.note {
        write!(line, ", because {note}").unwrap();
    }
    if let Some(undo) = &step.undo {
        write!(
            line,
            ", undone by {} with {}",
            undo.tool.text,
            node(&undo.args)
        )
        .unwrap();
    }
    match &step.on_error {
        OnError::Fail => {}
        other => write!(line, ", on error {other:?}").unwrap(),
    }
    if let Some(retry) = step.retry {
        let delay = retry.stated().nth(1).map(|(_, policy)| policy.delay);
        write!(line, ", {} attempts {delay:?}", retry.attempts()).unwrap();
    }
    if let Some(timeout) = step.timeout {
        write!(line, ", within {timeout:?}").unwrap();
    }
    if step.concurrency == Concurrency::Alone {
        line.push_str(", alone");
    }
    line
}

/// A value with its references as `‹…›`.
fn node(value: &Node) -> String {
    match &value.kind {
        NodeKind::Literal(value) => value.to_json(),
        NodeKind::Reference(one) => reference(one),
        NodeKind::Text(parts) => {
            let parts: Vec<String> = parts
                .iter()
                .map(|part| match part {
                    TextPart::Literal(text) => format!("{text:?}"),
                    TextPart::Reference(one) => reference(one),
                })
                .collect();
            parts.join("+")
        }
        NodeKind::List(items) => {
            let items: Vec<String> = items.iter().map(node).collect();
            format!("[{}]", items.join(","))
        }
        NodeKind::Object(fields) => {
            let fields: Vec<String> = fields
                .iter()
                .map(|field| format!("{:?}:{}", &*field.key, node(&field.value)))
                .collect();
            format!("{{{}}}", fields.join(","))
        }
    }
}

fn reference(reference: &Reference) -> String {
    let (parts, sign): (Vec<String>, &str) = match &reference.form {
        Form::All(reads) => (reads.iter().map(read).collect(), " && "),
        Form::First(alternatives) => {
            let alternatives = alternatives.iter().map(|alternative| match alternative {
                Alternative::Read(one) => read(one),
                Alternative::Literal(value) => value.to_json(),
                Alternative::Expression(expression) => expression.text().to_string(),
            });
            (alternatives.collect(), " ?? ")
        }
    };
    format!("‹{}›", parts.join(sign))
}

fn read(read: &Read) -> String {
    let mut text = match &read.source {
        Source::Step(id) => format!("output of {:?}", id.as_str()),
        Source::Result(id) => format!("result of {:?}", id.as_str()),
        Source::Slot(kind) => kind.to_string(),
        other => format!("{other:?}"),
    };
    for segment in &read.path {
        match segment {
            Segment::Key(key) => write!(text, " {key:?}").unwrap(),
            Segment::Index(index) => write!(text, " [{index}]").unwrap(),
            Segment::Each => text.push_str(" [*]"),
        }
    }
    if read.missing != Missing::Fail {
        write!(text, " missing: {:?}", read.missing).unwrap();
    }
    text
}
