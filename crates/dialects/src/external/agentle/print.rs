//! Writes a plan in the agentle dialect.

use std::sync::Arc;

use planwright_core::plan::{Missing, Output, Reference, Segment, Source, Step};
use planwright_core::{Diagnostics, Place, Plan, Value};

use super::REFERENCE_FORM;
use super::parse::MARK;
use crate::document::quote;
use crate::printing::{
    Feature, LossReport, ObjectBuilder, WriteReferences, report_order, report_unsupported,
    write_node,
};

const SUPPORTED: &[Feature] = &[
    Feature::SelectedOutput,
    Feature::ListedOrder,
    Feature::DataflowOrder,
    Feature::KeepGoing,
    Feature::OpenSharing,
    Feature::After,
];

/// Writes `plan`. Only data orders steps, so any other order must follow from it.
pub(super) fn print(plan: &Plan) -> (Option<String>, Diagnostics) {
    let mut losses = LossReport::new("agentle", plan);
    losses.report_foreign_references(plan, REFERENCE_FORM);
    report_unsupported(plan, SUPPORTED, &mut losses);
    let mut steps = Vec::with_capacity(plan.steps.len());
    for (position, step) in plan.steps.iter().enumerate() {
        report_order(plan, position, &mut losses);
        steps.push(write_step(step, &mut losses));
    }
    let mut root = ObjectBuilder::default();
    root.field("steps", steps);
    if let Output::Steps(names) = &plan.output {
        // In this dialect, an empty list selects every step.
        if names.is_empty() {
            losses.error(plan.place, "that the plan gives nothing back");
        }
        let names = names.iter().map(|name| Value::Text(Arc::clone(&name.text)));
        root.field("output_steps", Value::list(names));
    }
    losses.finish(&root.build())
}

fn write_step(step: &Step, losses: &mut LossReport<'_>) -> Value {
    let mut object = ObjectBuilder::default();
    object.field("id", Arc::clone(step.id.text()));
    object.optional("tool", step.tool().map(|tool| Arc::clone(&tool.text)));
    let arguments = write_node(&step.args, &AgentleWriter, losses);
    // The arguments are a JSON text of their own, whose size readers limit separately.
    losses.report_oversize(step.args.place, &arguments);
    object.field("arguments", arguments.to_json());
    object.build()
}

/// A writer of references that match the pattern of the original system.
pub(super) struct AgentleWriter;

impl WriteReferences for AgentleWriter {
    fn write_whole(&self, reference: &Reference, losses: &mut LossReport<'_>) -> Value {
        let refuse = |what: &str, losses: &mut LossReport<'_>| {
            losses.error(reference.place, what);
            Value::Null
        };
        let Some(read) = reference.as_read() else {
            return refuse("alternatives or expressions in a reference", losses);
        };
        let Source::Step(step) = &read.source else {
            let what = format!("what {} refers to", quote(&reference.text));
            return refuse(&what, losses);
        };
        if !is_word(step.as_str()) {
            let what = format!("a reference to step {}", quote(step.as_str()));
            let help = "agentle reads ids of letters, digits and `_`: rename the step";
            losses.error_with_help(reference.place, &what, help);
            return Value::Null;
        }
        if read.missing != Missing::Null && !read.path.is_empty() {
            losses.warning(reference.place, "that a missing value fails the step");
        }
        let mut written = format!("{MARK}{step}");
        for segment in &read.path {
            match segment {
                Segment::Key(key) if is_word(key) => written.extend([".", key]),
                Segment::Key(key) => {
                    return refuse(&format!("the field {}", quote(key)), losses);
                }
                Segment::Index(index) if *index >= 0 => {
                    written.extend([".", &index.to_string()]);
                }
                Segment::Index(_) => return refuse("an item counted from the end", losses),
                Segment::Each => return refuse("a path that maps over a list", losses),
            }
        }
        written.into()
    }

    fn write_inside(&self, reference: &Reference, losses: &mut LossReport<'_>) -> String {
        losses.error(reference.place, "a reference inside of a text");
        String::new()
    }

    fn report_text(&self, text: &str, _is_key: bool, place: Place, losses: &mut LossReport<'_>) {
        if text.contains(MARK) {
            losses.error_with_help(place, "a literal `$ref:`", "agentle has no escape for it");
        }
    }

    fn escape_text(&self, text: &str, _before_marker: bool) -> String {
        text.to_owned()
    }
}

/// Returns true if agentle reads `name` as one id or field: its pattern has letters, digits and `_` only.
fn is_word(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
