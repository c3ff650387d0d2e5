//! Tests of the dialect of the Acts: plans are compared as readable lines.

mod diagnostics;
mod parse;
mod print;
mod property;

use std::fmt::Write as _;

use planwright_core::Plan;
use planwright_core::plan::{
    Action, Alternative, Form, Mode, Node, NodeKind, Output, PlanTarget, Read, Reference, Segment,
    Source, Step, Targets, TextPart,
};

use crate::parse::{ParseResult, ReadOptions, parse};

/// Reads `text` in this dialect.
fn parsed(text: &str) -> ParseResult {
    parse(
        text.as_bytes(),
        &ReadOptions::new("plan").in_dialect("acts"),
    )
}

/// The plan of `text`, which has no diagnostics.
#[track_caller]
fn sound(text: &str) -> Plan {
    let result = parsed(text);
    assert!(
        result.diagnostics.is_empty(),
        "{text}\n{}",
        diagnostics(&result)
    );
    result
        .plan
        .unwrap_or_else(|| panic!("there is no plan in {text}"))
}

/// The diagnostics, one per line: code, pointer, message, help, the text.
fn diagnostics(result: &ParseResult) -> String {
    let mut lines = String::new();
    for diagnostic in &result.diagnostics {
        let span = diagnostic.span.unwrap_or_default();
        let spot = result.source.get(span.start..span.end).unwrap_or_default();
        let spot: String = spot.split_whitespace().collect::<Vec<_>>().join(" ");
        let mark = if diagnostic.is_error() {
            ""
        } else {
            "warning "
        };
        let _ = writeln!(lines, "{mark}{diagnostic} [{spot}]");
    }
    lines
}

/// The meaning of `plan`, part by part.
fn described(plan: &Plan) -> String {
    let mut lines = String::new();
    if plan.mode == Mode::Show {
        lines.push_str("to be shown\n");
    }
    for content in &plan.contents {
        let instance = content
            .instance
            .as_ref()
            .map_or(String::new(), |name| format!("#{name}"));
        let _ = writeln!(lines, "{}{instance} holds {}", content.kind, content.value);
    }
    for schema in &plan.slot_schemas {
        let _ = writeln!(lines, "{} fits {}", schema.kind, schema.schema);
    }
    if !plan.instances.is_empty() {
        let _ = writeln!(lines, "instances {}", plan.instances.join(", "));
    }
    for step in &plan.steps {
        let _ = writeln!(lines, "{}", described_step(step));
    }
    if let Output::Value(node) = &plan.output {
        let _ = writeln!(lines, "gives {}", described_node(node));
    }
    if !plan.metadata.is_null() {
        let _ = writeln!(lines, "keeps {}", plan.metadata);
    }
    lines
}

fn described_step(step: &Step) -> String {
    let mut line = step.id.to_string();
    match &step.action {
        Action::Tool(name) => {
            let _ = write!(line, ": tool {}", name.text);
        }
        Action::Plan(call) => {
            if let PlanTarget::Named(name) = &call.target {
                let _ = write!(line, ": plan {}", name.text);
            }
            for kind in &call.scopes {
                let _ = write!(line, " sees {kind}");
            }
        }
        Action::Value(node) => {
            let _ = write!(line, ": value {}", described_node(node));
        }
    }
    let _ = write!(line, " {}", described_node(&step.args));
    if let Some(writes) = &step.writes {
        let between = match writes.targets {
            Targets::All(_) => " and ",
            Targets::OneOf(_) => " or ",
        };
        let slots: Vec<String> = writes
            .targets
            .paths()
            .iter()
            .map(ToString::to_string)
            .collect();
        let _ = write!(line, " -> {:?} {}", writes.method, slots.join(between));
    }
    if let Some(instance) = &step.instance {
        let _ = write!(line, " for {instance}");
    }
    if let Some(note) = &step.note {
        let _ = write!(line, " because {note}");
    }
    line
}

fn described_node(node: &Node) -> String {
    match &node.kind {
        NodeKind::Literal(value) => value.to_json(),
        NodeKind::Reference(reference) => described_reference(reference),
        NodeKind::Text(parts) => parts
            .iter()
            .map(|part| match part {
                TextPart::Literal(text) => text.to_string(),
                TextPart::Reference(reference) => described_reference(reference),
            })
            .collect(),
        NodeKind::List(items) => {
            let items: Vec<String> = items.iter().map(described_node).collect();
            format!("[{}]", items.join(","))
        }
        NodeKind::Object(fields) => {
            let fields: Vec<String> = fields
                .iter()
                .map(|field| format!("{:?}:{}", field.key, described_node(&field.value)))
                .collect();
            format!("{{{}}}", fields.join(","))
        }
    }
}

fn described_reference(reference: &Reference) -> String {
    let parts: (&str, Vec<String>) = match &reference.form {
        Form::All(reads) => (" and ", reads.iter().map(described_read).collect()),
        Form::First(alternatives) => (
            " or ",
            alternatives
                .iter()
                .map(|alternative| match alternative {
                    Alternative::Read(read) => described_read(read),
                    other => format!("{other:?}"),
                })
                .collect(),
        ),
    };
    format!("<{}>", parts.1.join(parts.0))
}

fn described_read(read: &Read) -> String {
    let source = match &read.source {
        Source::Slot(kind) => kind.to_string(),
        other => format!("{other:?}"),
    };
    let path: String = read.path.iter().map(described_segment).collect();
    format!("{source}{path}")
}

fn described_segment(segment: &Segment) -> String {
    format!(".{segment}")
}
