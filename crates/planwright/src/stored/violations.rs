//! The check of values with which a person replaces those of a run: the arguments of a call, and the output of a step.

use planwright_core::place::push_pointer_segment;
use planwright_core::schema::{Schema, SchemaViolationKind, part_at};
use planwright_core::{CheckedPlan, Value};
use planwright_engine::event::Address;
use planwright_engine::run::contains_mask;
use serde::Serialize;

use crate::argument_sources::step_at;

/// A part of arguments that the tool does not take.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ArgumentViolation {
    /// The part, as a JSON pointer; empty for all arguments together.
    pub pointer: String,
    /// The description, as one clause.
    pub message: String,
}

/// The parts of `value` that the tool of the step at `at` never returns, by its output schema. Empty if the tool declares none, and for steps
/// that call no tool. The output of a whole loop is the list of the outputs of its items, or null for those that failed.
pub fn output_violations(
    plan: &CheckedPlan,
    at: &Address,
    value: &Value,
) -> Vec<ArgumentViolation> {
    let Some((step, checked)) = step_at(plan, at) else {
        return Vec::new();
    };
    let Some(tool) = checked.tool.as_ref().filter(|tool| !tool.output.is_any()) else {
        return Vec::new();
    };
    if step.for_each.is_none() || at.item.is_some() {
        return argument_violations(&tool.output, value);
    }
    let Some(items) = value.as_list() else {
        return vec![ArgumentViolation {
            pointer: String::new(),
            message: "the output of a loop is a list".to_owned(),
        }];
    };
    let items = items.iter().enumerate().filter(|(_, item)| !item.is_null());
    items
        .flat_map(|(index, item)| {
            let violations = argument_violations(&tool.output, item);
            violations
                .into_iter()
                .map(move |violation| ArgumentViolation {
                    pointer: format!("/{index}{}", violation.pointer),
                    ..violation
                })
        })
        .collect()
}

/// The parts of `args` that a tool with the schema `input` does not take. The placeholder of a secret reveals nothing about the secret, so
/// its value is not checked.
pub fn argument_violations(input: &Schema, args: &Value) -> Vec<ArgumentViolation> {
    let mut violations = input.validate(args);
    violations.retain(|violation| {
        let part = part_at(args, &violation.path).unwrap_or(args);
        violation.kind != SchemaViolationKind::Wrong || !contains_mask(part)
    });
    let violations = violations.into_iter().map(|violation| {
        let mut pointer = String::new();
        for segment in &violation.path {
            push_pointer_segment(&mut pointer, segment);
        }
        ArgumentViolation {
            pointer,
            message: violation.message,
        }
    });
    violations.collect()
}
