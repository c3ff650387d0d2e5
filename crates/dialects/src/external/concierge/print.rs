//! Writes a plan in the Concierge dialect.

use std::collections::HashSet;
use std::sync::Arc;

use planwright_core::plan::{Missing, Ordering, Reference, Segment, Source, Step};
use planwright_core::{Diagnostics, Place, Plan, Value};

use super::REFERENCE_FORM;
use super::parse::KEY;
use crate::document::quote;
use crate::printing::{
    Feature, LossReport, ObjectBuilder, WriteReferences, report_nested, report_unsupported,
    write_node,
};

const SUPPORTED: &[Feature] = &[Feature::ListedOrder, Feature::Stop, Feature::MarkedSharing];

/// Writes `plan`. In listed order, independent steps lose nothing but time; that is a warning.
pub(super) fn print(plan: &Plan) -> (Option<String>, Diagnostics) {
    let mut losses = LossReport::new("concierge", plan);
    losses.report_foreign_references(plan, REFERENCE_FORM);
    let mut supported = SUPPORTED.to_vec();
    if plan.ordering == Ordering::Dataflow {
        // Listed order satisfies `after`, as long as it names earlier steps only.
        supported.push(Feature::After);
    }
    report_unsupported(plan, &supported, &mut losses);
    let mut earlier: HashSet<&str> = HashSet::new();
    let mut steps = Vec::with_capacity(plan.steps.len());
    for step in &plan.steps {
        report_nested(&step.args, &mut losses);
        report_later(step, &earlier, &mut losses);
        steps.push(write_step(step, &mut losses));
        earlier.insert(step.id.as_str());
    }
    let mut root = ObjectBuilder::default();
    root.field("steps", steps);
    losses.finish(&root.build())
}

fn write_step(step: &Step, losses: &mut LossReport<'_>) -> Value {
    let mut object = ObjectBuilder::default();
    object.field("id", Arc::clone(step.id.text()));
    object.optional("tool", step.tool().map(|tool| Arc::clone(&tool.text)));
    object.field("args", write_node(&step.args, &ConciergeWriter, losses));
    object.build()
}

fn report_later(step: &Step, earlier: &HashSet<&str>, losses: &mut LossReport<'_>) {
    for name in &step.after {
        if !earlier.contains(&*name.text) {
            let what = format!(
                "that a step comes after {}, which is listed later",
                quote(&name.text)
            );
            losses.error(name.place, &what);
        }
    }
    step.args.each_reference(&mut |reference| {
        for read in reference.reads() {
            if let Source::Step(target) = &read.source
                && !earlier.contains(target.as_str())
            {
                let target = quote(target.as_str());
                let what = format!("a reference to {target}, which is not listed earlier");
                losses.error(reference.place, &what);
            }
        }
    });
}

/// A writer of references.
pub(super) struct ConciergeWriter;

impl WriteReferences for ConciergeWriter {
    fn write_whole(&self, reference: &Reference, losses: &mut LossReport<'_>) -> Value {
        let Some(read) = reference.as_read() else {
            losses.error(
                reference.place,
                "alternatives or expressions in a reference",
            );
            return Value::Null;
        };
        let Source::Step(step) = &read.source else {
            let what = format!("what {} refers to", quote(&reference.text));
            losses.error(reference.place, &what);
            return Value::Null;
        };
        if read.missing == Missing::Null && !read.path.is_empty() {
            losses.warning(reference.place, "that a missing value gives `null`");
        }
        let segments = read.path.iter().map(|segment| match segment {
            Segment::Key(key) => Value::Text(Arc::clone(key)),
            Segment::Index(index) => Value::from(*index),
            Segment::Each => {
                losses.error(reference.place, "a path that maps over a list");
                Value::Null
            }
        });
        let path = Value::list(segments);
        let payload = Value::object([(Arc::clone(step.text()), path)]);
        Value::object([(KEY, payload)])
    }

    fn write_inside(&self, reference: &Reference, losses: &mut LossReport<'_>) -> String {
        losses.error(reference.place, "a reference inside of a text");
        String::new()
    }

    fn escape_text(&self, text: &str, _before_marker: bool) -> String {
        text.to_owned()
    }

    fn report_text(&self, text: &str, is_key: bool, place: Place, losses: &mut LossReport<'_>) {
        if is_key && text.trim_start_matches('$') == KEY {
            let what = format!("a literal key {}", quote(text));
            losses.error_with_help(place, &what, "Concierge has no escape for it");
        }
    }
}
