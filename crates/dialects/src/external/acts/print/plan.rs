//! Writes the calls of a plan.

use std::collections::HashSet;
use std::sync::Arc;

use planwright_core::plan::{Action, Method, Output, PlanTarget, Step, Targets};
use planwright_core::{Diagnostics, Object, Plan, Value};

use super::super::REFERENCE_FORM;
use super::context;
use super::output_slots::{ActsWriter, OutputSlots, slot_operand, slot_writes};
use crate::document::quote;
use crate::external::acts::expression::{ActsExpression, Operator};
use crate::external::acts::names::{StepIds, word_for};
use crate::external::acts::parse::ANONYMOUS;
use crate::external::acts::reference::METHODS;
use crate::printing::{
    Feature, LossReport, ObjectBuilder, report_order, report_unsupported, write_node,
};

const SUPPORTED: &[Feature] = &[
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

/// Writes `plan`. A reference to a step becomes a reference to the state that the step writes; only data orders steps.
pub(in crate::external::acts) fn print(plan: &Plan) -> (Option<String>, Diagnostics) {
    let mut losses = LossReport::new("acts", plan);
    losses.report_foreign_references(plan, REFERENCE_FORM);
    report_unsupported(plan, SUPPORTED, &mut losses);
    let output_slots = OutputSlots::of(plan, &mut losses);
    let writer = ActsWriter {
        output_slots: &output_slots,
    };
    let mut ids = StepIds::default();
    let instances: HashSet<&Arc<str>> = plan.instances.iter().collect();
    let calls: Vec<Value> = plan
        .steps
        .iter()
        .enumerate()
        .map(|(position, step)| {
            report_order(plan, position, &mut losses);
            context::report_unknown_instance(
                step.instance.as_ref(),
                step.place,
                &instances,
                &mut losses,
            );
            let name = ids.name_for(step.id.text()).unwrap_or_else(|| {
                let what = format!("the id {} of a step", quote(step.id.as_str()));
                losses.error(step.place, &what);
                Arc::clone(step.id.text())
            });
            ids.next(&name);
            let link = output_slots.targets_of(position);
            write_call(step, name, link, &writer, &mut losses)
        })
        .collect();
    let mut root = context::write(plan, calls, &mut losses);
    if let Output::Value(node) = &plan.output {
        let output = write_node(node, &writer, &mut losses);
        if output.is_null() {
            losses.error(node.place, "that the plan gives back `null`");
        }
        root.field("output", output);
    }
    losses.finish(&root.build())
}

fn write_call(
    step: &Step,
    name: Arc<str>,
    link: Option<&Targets>,
    writer: &ActsWriter<'_>,
    losses: &mut LossReport<'_>,
) -> Value {
    let mut object = ObjectBuilder::default();
    object.field("_tool", Arc::clone(&name));
    object.optional("_reasoningForCall", step.note.clone());
    if let Action::Tool(tool) = &step.action
        && tool.text != name
    {
        object.field("_activity", Arc::clone(&tool.text));
    }
    for (key, value) in parameters(step, writer, losses) {
        object.field(&key, value);
    }
    write_action(step, &mut object, writer, losses);
    write_targets(step, link, &mut object, losses);
    object.optional("_instance", step.instance.clone());
    object.build()
}

/// The parameters, with their names as the dialect writes them.
fn parameters(step: &Step, writer: &ActsWriter<'_>, losses: &mut LossReport<'_>) -> Object {
    let args = write_node(&step.args, writer, losses);
    let Value::Object(fields) = &args else {
        losses.error(step.args.place, "arguments that are no object");
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
    writer: &ActsWriter<'_>,
    losses: &mut LossReport<'_>,
) {
    match &step.action {
        Action::Tool(_) => {}
        Action::Value(node) => {
            let output = write_node(node, writer, losses);
            if output.is_null() {
                // The reader takes `null` for an absent field.
                losses.error(step.place, "a step whose value is `null`");
            }
            object.field("_output", output);
        }
        Action::Plan(call) => {
            match &call.target {
                PlanTarget::Named(name) if &*name.text == ANONYMOUS => {
                    let what = format!("a plan called `{ANONYMOUS}`");
                    losses.error(name.place, &what);
                }
                PlanTarget::Named(name) => {
                    object.field("_delegate", Arc::clone(&name.text));
                }
                PlanTarget::Inline(_) => {
                    losses.error(step.place, "a plan that stands inside of a step");
                }
            }
            if !call.scopes.is_empty() {
                let words = call.scopes.iter().map(|kind| {
                    if word_for(*kind).is_none() {
                        let what = format!("that a plan sees the `{kind}` of its caller");
                        losses.error(step.place, &what);
                    }
                    Value::from(word_for(*kind).unwrap_or_default())
                });
                object.field("_scopes", Value::list(words));
            }
        }
    }
}

/// Writes the slots of the step, including `link`, the slot through which other steps read its output.
fn write_targets(
    step: &Step,
    link: Option<&Targets>,
    object: &mut ObjectBuilder,
    losses: &mut LossReport<'_>,
) {
    let writes = slot_writes(step);
    let method = writes.map_or(Method::Set, |writes| writes.method);
    let Some(targets) = link.or_else(|| writes.map(|writes| &writes.targets)) else {
        return;
    };
    losses.report_single_choice(targets, step.place);
    let operator = match targets {
        Targets::All(_) => Operator::All,
        Targets::OneOf(_) => Operator::First,
    };
    let paths = targets.paths().iter();
    let operands = paths
        .filter_map(|path| slot_operand(path, losses))
        .collect();
    let expression = ActsExpression { operator, operands };
    object.field("_outputPath", expression.to_string());
    let name = METHODS.iter().find(|(_, known)| *known == method);
    if let (Some((name, _)), true) = (name, method != Method::Set) {
        object.field("_outputMethod", *name);
    }
}
