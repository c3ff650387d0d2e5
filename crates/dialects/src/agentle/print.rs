//! Writes a plan as agentle.

use std::collections::HashSet;
use std::sync::Arc;

use planwright_core::plan::{Ordering, Output, Source, Step};
use planwright_core::{Diagnostics, Plan, Value};

use super::reference::{Ids, Writer};
use crate::document::quote;
use crate::printing::{Feature, ObjectBuilder, Unsaid, report_unsaid, write_node};

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
    let mut unsaid = Unsaid::new("agentle", &plan.sources);
    report_unsaid(plan, SAYABLE, &mut unsaid);
    let ids: Ids<'_> = plan.steps.iter().map(|step| step.id.as_str()).collect();
    let mut steps = Vec::with_capacity(plan.steps.len());
    let mut before: Option<&Step> = None;
    for step in &plan.steps {
        report_order(step, before, plan.ordering, &mut unsaid);
        steps.push(write_step(step, &ids, &mut unsaid));
        before = Some(step);
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

fn write_step(step: &Step, ids: &Ids<'_>, unsaid: &mut Unsaid<'_>) -> Value {
    let mut object = ObjectBuilder::default();
    object.field("id", Arc::clone(step.id.text()));
    object.optional("tool", step.tool().map(|tool| Arc::clone(&tool.text)));
    let arguments = write_node(&step.args, &Writer { ids }, unsaid);
    object.field("arguments", arguments.to_json());
    object.build()
}

fn report_order(step: &Step, before: Option<&Step>, ordering: Ordering, unsaid: &mut Unsaid<'_>) {
    let sources = sources_of(step);
    for name in &step.after {
        if !sources.contains(&*name.text) {
            let (step, other) = (quote(step.id.as_str()), quote(&name.text));
            let what = format!("that step {step} comes after {other} without using its output");
            unsaid.error(name.place, &what);
        }
    }
    if let Some(before) = before.filter(|_| ordering == Ordering::Listed)
        && !sources.contains(before.id.as_str())
    {
        let (step_id, other) = (quote(step.id.as_str()), quote(before.id.as_str()));
        let what = format!("that step {step_id} comes after {other} without using its output");
        unsaid.error(step.place, &what);
    }
}

fn sources_of(step: &Step) -> HashSet<&str> {
    let mut sources = HashSet::new();
    step.args.each_reference(&mut |reference| {
        for read in reference.reads() {
            if let Source::Step(id) = &read.source {
                sources.insert(id.as_str());
            }
        }
    });
    sources
}
