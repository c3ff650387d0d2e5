//! Writes a plan as agentle.

use std::sync::Arc;

use planwright_core::plan::{Output, Step};
use planwright_core::{Diagnostics, Plan, Value};

use super::reference::Writer;
use crate::printing::{Feature, ObjectBuilder, Unsaid, report_order, report_unsaid, write_node};

const SAYABLE: &[Feature] = &[
    Feature::SelectedOutput,
    Feature::ListedOrder,
    Feature::DataflowOrder,
    Feature::KeepGoing,
    Feature::OpenSharing,
    Feature::After,
];

/// Writes `plan`. There is no way to order steps but by their data: any other order must follow from it.
pub(super) fn print(plan: &Plan) -> (Option<String>, Diagnostics) {
    let mut unsaid = Unsaid::new("agentle", plan);
    report_unsaid(plan, SAYABLE, &mut unsaid);
    let mut steps = Vec::with_capacity(plan.steps.len());
    for (position, step) in plan.steps.iter().enumerate() {
        report_order(plan, position, &mut unsaid);
        steps.push(write_step(step, &mut unsaid));
    }
    let mut root = ObjectBuilder::default();
    root.field("steps", steps);
    if let Output::Steps(names) = &plan.output {
        if names.is_empty() {
            unsaid.error(plan.place, "that the plan gives nothing back");
        }
        let names = names.iter().map(|name| Value::Text(Arc::clone(&name.text)));
        root.field("output_steps", Value::list(names));
    }
    unsaid.finish(&root.build())
}

fn write_step(step: &Step, unsaid: &mut Unsaid<'_>) -> Value {
    let mut object = ObjectBuilder::default();
    object.field("id", Arc::clone(step.id.text()));
    object.optional("tool", step.tool().map(|tool| Arc::clone(&tool.text)));
    let arguments = write_node(&step.args, &Writer, unsaid);
    unsaid.report_excess(step.args.place, &arguments);
    object.field("arguments", arguments.to_json());
    object.build()
}
