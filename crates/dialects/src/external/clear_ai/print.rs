//! Writes a plan in the clear-ai dialect.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use planwright_core::plan::{
    Concurrency, Missing, OnError, Output, Reference, Segment, Source, Step,
};
use planwright_core::{Diagnostics, Place, Plan, Value};

use crate::document::{ReadLimits, quote};
use crate::printing::{
    Feature, LossReport, ObjectBuilder, WriteReferences, dependencies, follows_without_reading,
    report_chain, report_nested, report_unsupported, write_node,
};

const SUPPORTED: &[Feature] = &[
    Feature::Metadata,
    Feature::ListedOrder,
    Feature::DataflowOrder,
    Feature::KeepGoing,
    Feature::OpenSharing,
    Feature::After,
    Feature::ContinueOnError,
    Feature::Retry,
    Feature::Timeout,
    Feature::Alone,
];

/// Writes `plan` for the executor of clear-ai, which takes the order from `depends_on` alone and resolves only
/// references that are a whole parameter. Steps are named by their positions; listed order becomes a chain of
/// `depends_on`.
pub(super) fn print(plan: &Plan) -> (Option<String>, Diagnostics) {
    let mut losses = LossReport::new("clear-ai", plan);
    report_unsupported(plan, SUPPORTED, &mut losses);
    report_chain(plan, &mut losses);
    report_ids(plan, &mut losses);
    let mut positions: HashMap<&str, usize> = HashMap::with_capacity(plan.steps.len());
    for (position, step) in plan.steps.iter().enumerate() {
        positions.entry(step.id.as_str()).or_insert(position);
    }
    let mut steps = Vec::with_capacity(plan.steps.len());
    for (position, (step, after)) in plan.steps.iter().zip(dependencies(plan)).enumerate() {
        report_ignored(step, &mut losses);
        if follows_without_reading(plan, position) {
            let what = "that a step is skipped if the one that it comes after fails";
            let difference = "clear-ai's executor runs it unless it reads the other's output";
            losses.difference(step.place, what, difference);
        }
        report_nested(&step.args, &mut losses);
        let after = step_positions(step, &after, &positions, &mut losses);
        steps.push(write_step(step, &after, &positions, &mut losses));
    }
    let mut root = ObjectBuilder::default();
    root.field("steps", steps);
    if plan.metadata.as_object().is_some() {
        root.field("metadata", plan.metadata.clone());
    } else if !plan.metadata.is_null() {
        losses.warning(plan.place, "metadata that is no object");
    }
    losses.finish(&root.build())
}

/// Warns if the ids of steps change: a plan that returns all outputs returns them by id, and here ids are positions.
fn report_ids(plan: &Plan, losses: &mut LossReport<'_>) {
    if plan.output != Output::All {
        return;
    }
    let mut steps = plan.steps.iter().enumerate();
    let renamed = steps.find(|(position, step)| step.id.as_str() != position.to_string());
    if let Some((position, step)) = renamed {
        let id = quote(step.id.as_str());
        let what = format!("the ids of steps: the output of {id} is called `{position}`");
        losses.warning(step.place, &what);
    }
}

/// Warns about fields of the dialect that its executor ignores.
fn report_ignored(step: &Step, losses: &mut LossReport<'_>) {
    let ignored = [
        (step.on_error == OnError::Continue, "that a step may fail"),
        (step.retry.is_some(), "how often a step is tried"),
        (step.timeout.is_some(), "a step's time limit"),
        (step.company == Concurrency::Alone, "that a step runs alone"),
    ];
    for (is_used, what) in ignored {
        if is_used {
            let difference = "the field is written, but clear-ai's executor ignores it";
            losses.difference(step.place, what, difference);
        }
    }
}

/// The positions of the steps in `after`.
fn step_positions(
    step: &Step,
    after: &[Arc<str>],
    positions: &HashMap<&str, usize>,
    losses: &mut LossReport<'_>,
) -> Vec<usize> {
    let mut step_positions = Vec::with_capacity(after.len());
    for name in after {
        // A name that is no step's may be the position of one that does not exist; the checks report it.
        let written = name.parse::<usize>().ok();
        match positions.get(&**name).copied().or(written) {
            Some(position) => step_positions.push(position),
            None => losses.error(step.place, &format!("after what {} is", quote(name))),
        }
    }
    step_positions
}

fn write_step(
    step: &Step,
    after: &[usize],
    positions: &HashMap<&str, usize>,
    losses: &mut LossReport<'_>,
) -> Value {
    let mut object = ObjectBuilder::default();
    object.optional("tool", step.tool().map(|tool| Arc::clone(&tool.text)));
    let writer = ClearAiWriter { positions };
    object.field("params", write_node(&step.args, &writer, losses));
    let after = after.iter().map(|position| Value::from(*position as u64));
    object.field("depends_on", Value::list(after));
    if step.company == Concurrency::Alone {
        object.field("parallel", false);
    }
    if step.on_error == OnError::Continue {
        object.field("optional", true);
    }
    if let Some(timeout) = step.timeout {
        let milliseconds = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
        // A `timeout` of 0 would be refused by the reader.
        if milliseconds == 0 {
            losses.error(step.place, "a time limit below a millisecond");
        } else if timeout > ReadLimits::MAX_DURATION {
            losses.duration_too_long(step.place, timeout);
        } else {
            if timeout != Duration::from_millis(milliseconds) {
                losses.warning(step.place, "a time limit that is no whole milliseconds");
            }
            object.field("timeout", milliseconds);
        }
    }
    if let Some(retry) = step.retry {
        object.field("retry_count", u64::from(retry.attempts.get() - 1));
    }
    object.build()
}

/// A writer of references; `positions` are those of the steps.
pub(super) struct ClearAiWriter<'a> {
    pub(super) positions: &'a HashMap<&'a str, usize>,
}

impl WriteReferences for ClearAiWriter<'_> {
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
        let Some(position) = self.positions.get(step.as_str()) else {
            let what = format!("what {} refers to", quote(&reference.text));
            return refuse(&what, losses);
        };
        if read.path.is_empty() {
            let what = "a reference to all of an output";
            let help = "refer to a field: clear-ai hands a reference without one on as text";
            losses.error_with_help(reference.place, what, help);
            return Value::Null;
        }
        let mut written = format!("${{step[{position}].data");
        let mut wildcards = 0;
        for segment in &read.path {
            match segment {
                Segment::Each => {
                    wildcards += 1;
                    written.push_str(".*");
                }
                Segment::Index(index) if *index >= 0 => {
                    written.extend(["[", &index.to_string(), "]"]);
                }
                Segment::Index(_) => return refuse("an item counted from the end", losses),
                Segment::Key(key) if is_identifier(key) => written.extend([".", key]),
                Segment::Key(key) => {
                    return refuse(&format!("the field {}", quote(key)), losses);
                }
            }
        }
        if wildcards > 1 {
            return refuse("a path that maps over a list in a list", losses);
        }
        if read.missing == Missing::Null {
            losses.warning(reference.place, "that a missing value gives `null`");
        } else if read.missing == Missing::Fail && wildcards > 0 {
            losses.warning(
                reference.place,
                "that an item without the value fails the step",
            );
        }
        written.push('}');
        written.into()
    }

    fn write_inside(&self, reference: &Reference, losses: &mut LossReport<'_>) -> String {
        let what = "a reference inside of a text";
        let help = "let a step make the text: clear-ai drops what stands around a reference";
        losses.error_with_help(reference.place, what, help);
        String::new()
    }

    fn report_text(&self, text: &str, is_key: bool, place: Place, losses: &mut LossReport<'_>) {
        if !is_key && text.contains("${") {
            losses.error_with_help(place, "a literal `${`", "clear-ai has no escape for it");
        }
    }

    fn escape_text(&self, text: &str, _before_marker: bool) -> String {
        text.to_owned()
    }
}

/// Returns true if clear-ai reads `key` as one field name; it skips any other character of a path.
fn is_identifier(key: &str) -> bool {
    let mut characters = key.chars();
    let first = characters.next();
    first.is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && characters.all(|c| c.is_ascii_alphanumeric() || c == '_')
}
