//! Writes a plan as Concierge.

use std::collections::HashSet;
use std::sync::Arc;

use planwright_core::plan::{Ordering, Source, Step};
use planwright_core::{Diagnostics, Plan, Value};

use super::reference::Writer;
use crate::document::quote;
use crate::printing::{Feature, ObjectBuilder, Unsaid, report_nested, report_unsaid, write_node};

const SAYABLE: &[Feature] = &[Feature::ListedOrder, Feature::Stop, Feature::MarkedSharing];

/// Writes `plan`. Independent steps lose nothing but time in listed order; that is a warning.
pub(super) fn print(plan: &Plan) -> (Option<String>, Diagnostics) {
    let mut unsaid = Unsaid::new("concierge", plan);
    let mut sayable = SAYABLE.to_vec();
    if plan.ordering == Ordering::Dataflow {
        // Listed order keeps what `after` asks for, as long as it asks for earlier steps only.
        sayable.push(Feature::After);
    }
    report_unsaid(plan, &sayable, &mut unsaid);
    let mut earlier: HashSet<&str> = HashSet::new();
    let mut steps = Vec::with_capacity(plan.steps.len());
    for step in &plan.steps {
        report_nested(&step.args, &mut unsaid);
        report_later(step, &earlier, &mut unsaid);
        steps.push(write_step(step, &mut unsaid));
        earlier.insert(step.id.as_str());
    }
    let mut root = ObjectBuilder::default();
    root.field("steps", steps);
    unsaid.finish(&root.build())
}

fn write_step(step: &Step, unsaid: &mut Unsaid<'_>) -> Value {
    let mut object = ObjectBuilder::default();
    object.field("id", Arc::clone(step.id.text()));
    object.optional("tool", step.tool().map(|tool| Arc::clone(&tool.text)));
    object.field("args", write_node(&step.args, &Writer, unsaid));
    object.build()
}

fn report_later(step: &Step, earlier: &HashSet<&str>, unsaid: &mut Unsaid<'_>) {
    for name in &step.after {
        if !earlier.contains(&*name.text) {
            let what = format!(
                "that a step comes after {}, which is listed later",
                quote(&name.text)
            );
            unsaid.error(name.place, &what);
        }
    }
    step.args.each_reference(&mut |reference| {
        for read in reference.reads() {
            if let Source::Step(target) = &read.source
                && !earlier.contains(target.as_str())
            {
                let target = quote(target.as_str());
                let what = format!("a reference to {target}, which is not listed earlier");
                unsaid.error(reference.place, &what);
            }
        }
    });
}
