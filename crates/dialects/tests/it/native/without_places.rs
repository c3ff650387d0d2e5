//! Plans without the parts that do not count in comparisons.

use planwright_core::plan::{
    Action, Alternative, Form, Missing, Name, Node, NodeKind, OnError, Output, PlanTarget, Read,
    Reference, Segment, Step, Targets, TextPart,
};
use planwright_core::{Place, Plan, Sources};

/// `plan` without places and without the texts of references.
pub(crate) fn without_places(plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    clear_plan(&mut plan);
    plan
}

fn clear_plan(plan: &mut Plan) {
    plan.place = Place::NOWHERE;
    plan.sources = Sources::default();
    for input in &mut plan.inputs {
        input.place = Place::NOWHERE;
    }
    for content in &mut plan.contents {
        content.place = Place::NOWHERE;
    }
    for schema in &mut plan.slot_schemas {
        schema.place = Place::NOWHERE;
    }
    match &mut plan.output {
        Output::All => {}
        Output::Steps(names) => names.iter_mut().for_each(clear_name),
        Output::Value(node) => clear_node(node),
    }
    plan.steps.iter_mut().for_each(clear_step);
}

fn clear_name(name: &mut Name) {
    name.place = Place::NOWHERE;
}

fn clear_step(step: &mut Step) {
    step.place = Place::NOWHERE;
    match &mut step.action {
        Action::Tool(name) => clear_name(name),
        Action::Value(node) => clear_node(node),
        Action::Plan(call) => match &mut call.target {
            PlanTarget::Named(name) => clear_name(name),
            PlanTarget::Inline(plan) => clear_plan(plan),
        },
    }
    clear_node(&mut step.args);
    step.positional.iter_mut().for_each(clear_node);
    step.after.iter_mut().for_each(clear_name);
    step.when.iter_mut().for_each(clear_node);
    if let Some(for_each) = &mut step.for_each {
        clear_node(&mut for_each.over);
    }
    if let Some(repeat) = &mut step.repeat {
        clear_node(&mut repeat.until);
    }
    if let Some(writes) = &mut step.writes {
        writes.place = Place::NOWHERE;
        let (Targets::All(paths) | Targets::OneOf(paths)) = &mut writes.targets;
        for path in paths {
            path.place = Place::NOWHERE;
        }
    }
    if let OnError::Output(node) = &mut step.on_error {
        clear_node(node);
    }
    if let Some(undo) = &mut step.undo {
        clear_name(&mut undo.tool);
        clear_node(&mut undo.args);
    }
}

fn clear_node(node: &mut Node) {
    node.place = Place::NOWHERE;
    match &mut node.kind {
        NodeKind::Literal(_) => {}
        NodeKind::Reference(reference) => clear_reference(reference),
        NodeKind::Text(parts) => {
            for part in parts {
                if let TextPart::Reference(reference) = part {
                    clear_reference(reference);
                }
            }
        }
        NodeKind::List(items) => items.iter_mut().for_each(clear_node),
        NodeKind::Object(fields) => {
            for field in fields {
                clear_node(&mut field.value);
            }
        }
    }
}

fn clear_reference(reference: &mut Reference) {
    reference.place = Place::NOWHERE;
    reference.text = "".into();
    // Without `[*]` there are no items whose fields could be missing.
    let simplify = |read: &mut Read| {
        if read.missing == Missing::NullInItems && !read.path.contains(&Segment::Each) {
            read.missing = Missing::Fail;
        }
    };
    match &mut reference.form {
        Form::All(reads) => reads.iter_mut().for_each(simplify),
        Form::First(alternatives) => {
            for alternative in alternatives {
                if let Alternative::Read(read) = alternative {
                    simplify(read);
                }
            }
        }
    }
}
