//! The sources of the arguments of a call: where each value in it came from, by the references of the plan.

use planwright_core::place::{PointerSegment, push_pointer_segment};
use planwright_core::plan::{Node, NodeKind, Reference, SlotKind, Source, TextPart};
use planwright_core::{CheckedPlan, CheckedStep, Step};
use planwright_engine::event::Address;
use serde::Serialize;

use crate::drawing::graph::{origin, reference_text};

/// The source of a part of the arguments of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ArgumentSource {
    /// The part of the arguments, as a JSON pointer; `#1` and so on for arguments without names.
    pub pointer: String,
    /// The source: the id of a step, or a name such as `inputs.city`.
    pub from: String,
    /// The kind of the source: `step`, `input`, `slot`, `item`, `position`, `round`, `environment` or `secret`.
    pub origin: &'static str,
    /// The reference as written in the plan.
    pub expression: String,
}

/// The sources of the arguments of the step at `at`, in the order of the arguments. Literal values have no source. Empty if the
/// plan has no such step.
pub fn argument_sources(plan: &CheckedPlan, at: &Address) -> Vec<ArgumentSource> {
    let mut found = Vec::new();
    let Some((step, _)) = step_at(plan, at) else {
        return found;
    };
    if let planwright_core::plan::Action::Value(value) = &step.action {
        collect("", value, &mut found);
    }
    collect("", &step.args, &mut found);
    for (index, node) in step.positional.iter().enumerate() {
        collect(&format!("#{}", index + 1), node, &mut found);
    }
    found
}

/// The step at `at`, which may be one of a plan that a step runs.
pub fn step_at<'a>(plan: &'a CheckedPlan, at: &Address) -> Option<(&'a Step, &'a CheckedStep)> {
    let plan = match at.inside.as_deref() {
        Some(outer) => step_at(plan, outer)?.1.plan.as_ref()?,
        None => plan,
    };
    let mut steps = plan.plan().steps.iter().zip(plan.steps());
    steps.find(|(step, _)| step.id == at.step)
}

fn collect(pointer: &str, node: &Node, found: &mut Vec<ArgumentSource>) {
    match &node.kind {
        NodeKind::Literal(_) => {}
        NodeKind::Reference(reference) => add(pointer, reference, found),
        NodeKind::Text(parts) => {
            for part in parts {
                match part {
                    TextPart::Literal(_) => {}
                    TextPart::Reference(reference) => add(pointer, reference, found),
                }
            }
        }
        NodeKind::List(items) => {
            for (index, item) in items.iter().enumerate() {
                collect(&inner(pointer, &PointerSegment::Index(index)), item, found);
            }
        }
        NodeKind::Object(fields) => {
            for field in fields {
                let segment = PointerSegment::Key(field.key.clone());
                collect(&inner(pointer, &segment), &field.value, found);
            }
        }
    }
}

fn inner(pointer: &str, segment: &PointerSegment) -> String {
    let mut inner = pointer.to_owned();
    push_pointer_segment(&mut inner, segment);
    inner
}

fn add(pointer: &str, reference: &Reference, found: &mut Vec<ArgumentSource>) {
    for read in reference.reads() {
        let kind = match &read.source {
            Source::Step(_) | Source::Result(_) => "step",
            Source::Slot(SlotKind::Inputs) => "input",
            Source::Slot(SlotKind::Vars | SlotKind::State | SlotKind::Data) => "slot",
            Source::Item => "item",
            Source::Index => "position",
            Source::Last => "round",
            Source::ExternalValue(planwright_core::plan::ExternalValue::Environment, _) => {
                "environment"
            }
            Source::ExternalValue(planwright_core::plan::ExternalValue::Secrets, _) => "secret",
        };
        let source = ArgumentSource {
            pointer: pointer.to_owned(),
            from: origin(read),
            origin: kind,
            expression: reference_text(reference),
        };
        if !found.contains(&source) {
            found.push(source);
        }
    }
}
