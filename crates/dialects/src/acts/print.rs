//! Writes a plan as the Acts do.

mod context;
mod links;
mod writer;

use std::collections::HashSet;
use std::sync::Arc;

use planwright_core::plan::{Action, Method, Output, PlanTarget, Step, Targets};
use planwright_core::{Diagnostics, Object, Plan, Value};

use super::call::ANONYMOUS;
use super::expression::{Expression, Operator};
use super::kind::word_for;
use super::names::StepIds;
use super::target::METHODS;
use crate::document::quote;
use crate::printing::{Feature, ObjectBuilder, Unsaid, report_order, report_unsaid, write_node};
use links::{Links, slot_writes};
use writer::{Writer, slot_operand};

const SAYABLE: &[Feature] = &[
    Feature::Metadata,
    Feature::Inputs,
    Feature::Variables,
    Feature::Contents,
    Feature::SlotSchemas,
    Feature::Instances,
    Feature::ComputedOutput,
    Feature::ListedOrder,
    Feature::DataflowOrder,
    Feature::KeepGoing,
    Feature::OpenSharing,
    Feature::ShowMode,
    Feature::Note,
    Feature::After,
    Feature::Writes,
    Feature::Instance,
    Feature::PlanAction,
    Feature::ValueAction,
];

/// Writes `plan`. A reference to a step becomes one to the state that the step writes; there is no way to order
/// steps but by their data.
pub(super) fn print(plan: &Plan) -> (Option<String>, Diagnostics) {
    let mut unsaid = Unsaid::new("acts", plan);
    report_unsaid(plan, SAYABLE, &mut unsaid);
    let links = Links::of(plan, &mut unsaid);
    let writer = Writer { links: &links };
    let mut ids = StepIds::default();
    let instances: HashSet<&Arc<str>> = plan.instances.iter().collect();
    let calls: Vec<Value> = plan
        .steps
        .iter()
        .enumerate()
        .map(|(position, step)| {
            report_order(plan, position, &mut unsaid);
            context::report_strange(step.instance.as_ref(), step.place, &instances, &mut unsaid);
            let name = ids.name_for(step.id.text()).unwrap_or_else(|| {
                let what = format!("the id {} of a step", quote(step.id.as_str()));
                unsaid.error(step.place, &what);
                Arc::clone(step.id.text())
            });
            ids.next(&name);
            let link = links.added_by(position);
            write_call(step, name, link, &writer, &mut unsaid)
        })
        .collect();
    let mut root = context::write(plan, calls, &mut unsaid);
    if let Output::Value(node) = &plan.output {
        let output = write_node(node, &writer, &mut unsaid);
        if output.is_null() {
            unsaid.error(node.place, "that the plan gives back `null`");
        }
        root.field("output", output);
    }
    unsaid.finish(&root.build())
}

fn write_call(
    step: &Step,
    name: Arc<str>,
    link: Option<&Targets>,
    writer: &Writer<'_>,
    unsaid: &mut Unsaid<'_>,
) -> Value {
    let mut object = ObjectBuilder::default();
    object.field("_tool", Arc::clone(&name));
    object.optional("_reasoningForCall", step.note.clone());
    if let Action::Tool(tool) = &step.action
        && tool.text != name
    {
        object.field("_activity", Arc::clone(&tool.text));
    }
    for (key, value) in parameters(step, writer, unsaid) {
        object.field(&key, value);
    }
    write_action(step, &mut object, writer, unsaid);
    write_targets(step, link, &mut object, unsaid);
    object.optional("_instance", step.instance.clone());
    object.build()
}

/// The parameters, each with its name as the dialect writes it.
fn parameters(step: &Step, writer: &Writer<'_>, unsaid: &mut Unsaid<'_>) -> Object {
    let args = write_node(&step.args, writer, unsaid);
    let Value::Object(fields) = &args else {
        unsaid.error(step.args.place, "arguments that are no object");
        return Object::default();
    };
    let written = fields.iter().map(|(key, value)| {
        let key = if key.starts_with('_') {
            format!("_{key}").into()
        } else {
            Arc::clone(key)
        };
        (key, value.clone())
    });
    written.collect()
}

fn write_action(
    step: &Step,
    object: &mut ObjectBuilder,
    writer: &Writer<'_>,
    unsaid: &mut Unsaid<'_>,
) {
    match &step.action {
        Action::Tool(_) => {}
        Action::Value(node) => {
            let output = write_node(node, writer, unsaid);
            if output.is_null() {
                unsaid.error(step.place, "a step whose value is `null`");
            }
            object.field("_output", output);
        }
        Action::Plan(call) => {
            match &call.target {
                PlanTarget::Named(name) if &*name.text == ANONYMOUS => {
                    let what = format!("a plan called `{ANONYMOUS}`");
                    unsaid.error(name.place, &what);
                }
                PlanTarget::Named(name) => {
                    object.field("_delegate", Arc::clone(&name.text));
                }
                PlanTarget::Inline(_) => {
                    unsaid.error(step.place, "a plan that stands inside of a step");
                }
            }
            if !call.scopes.is_empty() {
                let words = call.scopes.iter().map(|kind| {
                    if word_for(*kind).is_none() {
                        let what = format!("that a plan sees the `{kind}` of its caller");
                        unsaid.error(step.place, &what);
                    }
                    Value::from(word_for(*kind).unwrap_or_default())
                });
                object.field("_scopes", Value::list(words));
            }
        }
    }
}

/// The slots that the step writes, `link` among them where others refer to the step.
fn write_targets(
    step: &Step,
    link: Option<&Targets>,
    object: &mut ObjectBuilder,
    unsaid: &mut Unsaid<'_>,
) {
    let writes = slot_writes(step);
    let method = writes.map_or(Method::Set, |writes| writes.method);
    let Some(targets) = link.or_else(|| writes.map(|writes| &writes.targets)) else {
        return;
    };
    unsaid.report_no_choice(targets, step.place);
    let operator = match targets {
        Targets::All(_) => Operator::All,
        Targets::OneOf(_) => Operator::First,
    };
    let paths = targets.paths().iter();
    let operands = paths
        .filter_map(|path| slot_operand(path, unsaid))
        .collect();
    let expression = Expression { operator, operands };
    object.field("_outputPath", expression.to_string());
    let name = METHODS.iter().find(|(_, known)| *known == method);
    if let (Some((name, _)), true) = (name, method != Method::Set) {
        object.field("_outputMethod", *name);
    }
}
