//! Writes a plan as clear-ai.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use planwright_core::plan::{Company, OnError, Output, Step};
use planwright_core::{Diagnostics, Plan, Value};

use super::reference::Writer;
use crate::document::{Limits, quote};
use crate::printing::{
    Feature, ObjectBuilder, Unsaid, comes_only_after, dependencies, report_chain, report_nested,
    report_unsaid, write_node,
};

const SAYABLE: &[Feature] = &[
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

/// Writes `plan` for clear-ai's own executor, which takes the order from `depends_on` alone and resolves only references that are
/// a whole parameter. Steps are named by their positions; listed order becomes a chain of `depends_on`.
pub(super) fn print(plan: &Plan) -> (Option<String>, Diagnostics) {
    let mut unsaid = Unsaid::new("clear-ai", plan);
    report_unsaid(plan, SAYABLE, &mut unsaid);
    report_chain(plan, &mut unsaid);
    report_ids(plan, &mut unsaid);
    let mut positions: HashMap<&str, usize> = HashMap::with_capacity(plan.steps.len());
    for (position, step) in plan.steps.iter().enumerate() {
        positions.entry(step.id.as_str()).or_insert(position);
    }
    let mut steps = Vec::with_capacity(plan.steps.len());
    for (position, (step, after)) in plan.steps.iter().zip(dependencies(plan)).enumerate() {
        report_ignored(step, &mut unsaid);
        if comes_only_after(plan, position) {
            let what = "that a step is skipped if the one that it comes after fails";
            let difference = "clear-ai's executor runs it unless it reads the other's output";
            unsaid.difference(step.place, what, difference);
        }
        report_nested(&step.args, &mut unsaid);
        let after = numbers(step, &after, &positions, &mut unsaid);
        steps.push(write_step(step, &after, &positions, &mut unsaid));
    }
    let mut root = ObjectBuilder::default();
    root.field("steps", steps);
    if plan.metadata.as_object().is_some() {
        root.field("metadata", plan.metadata.clone());
    } else if !plan.metadata.is_null() {
        unsaid.warning(plan.place, "metadata that is no object");
    }
    unsaid.finish(&root.build())
}

/// A plan that gives back all outputs gives them by the ids of steps, and here those are positions.
fn report_ids(plan: &Plan, unsaid: &mut Unsaid<'_>) {
    if plan.output != Output::All {
        return;
    }
    let mut steps = plan.steps.iter().enumerate();
    let renamed = steps.find(|(position, step)| step.id.as_str() != position.to_string());
    if let Some((position, step)) = renamed {
        let id = quote(step.id.as_str());
        let what = format!("the ids of steps: the output of {id} is called `{position}`");
        unsaid.warning(step.place, &what);
    }
}

/// Warns about fields that clear-ai's plans have and its executor does not look at.
fn report_ignored(step: &Step, unsaid: &mut Unsaid<'_>) {
    let ignored = [
        (step.on_error == OnError::Continue, "that a step may fail"),
        (step.retry.is_some(), "how often a step is tried"),
        (step.timeout.is_some(), "a step's time limit"),
        (step.company == Company::Alone, "that a step runs alone"),
    ];
    for (is_used, what) in ignored {
        if is_used {
            let difference = "the field is written, but clear-ai's executor ignores it";
            unsaid.difference(step.place, what, difference);
        }
    }
}

/// The positions of the steps named in `after`.
fn numbers(
    step: &Step,
    after: &[Arc<str>],
    positions: &HashMap<&str, usize>,
    unsaid: &mut Unsaid<'_>,
) -> Vec<usize> {
    let mut numbers = Vec::with_capacity(after.len());
    for name in after {
        let written = name.parse::<usize>().ok();
        match positions.get(&**name).copied().or(written) {
            Some(position) => numbers.push(position),
            None => unsaid.error(step.place, &format!("after what {} is", quote(name))),
        }
    }
    numbers
}

fn write_step(
    step: &Step,
    after: &[usize],
    positions: &HashMap<&str, usize>,
    unsaid: &mut Unsaid<'_>,
) -> Value {
    let mut object = ObjectBuilder::default();
    object.optional("tool", step.tool().map(|tool| Arc::clone(&tool.text)));
    let writer = Writer { positions };
    object.field("params", write_node(&step.args, &writer, unsaid));
    let after = after.iter().map(|position| Value::from(*position as u64));
    object.field("depends_on", Value::list(after));
    if step.company == Company::Alone {
        object.field("parallel", false);
    }
    if step.on_error == OnError::Continue {
        object.field("optional", true);
    }
    if let Some(timeout) = step.timeout {
        let milliseconds = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
        if milliseconds == 0 {
            unsaid.error(step.place, "a time limit below a millisecond");
        } else if timeout > Limits::LONGEST_TIME {
            unsaid.time_too_long(step.place, timeout);
        } else {
            if timeout != Duration::from_millis(milliseconds) {
                unsaid.warning(step.place, "a time limit that is no whole milliseconds");
            }
            object.field("timeout", milliseconds);
        }
    }
    if let Some(retry) = step.retry {
        object.field("retry_count", u64::from(retry.attempts.get() - 1));
    }
    object.build()
}
