//! The check of arguments that a person writes in place of those of a call.

use planwright_core::Value;
use planwright_core::place::push_pointer_segment;
use planwright_core::schema::{FaultKind, Schema, part_at};
use planwright_engine::run::holds_mask;
use serde::Serialize;

/// A part of arguments that the tool does not take.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ArgumentFault {
    /// The part, as a JSON pointer; empty for all arguments together.
    pub pointer: String,
    /// The description, as one clause.
    pub message: String,
}

/// The parts of `args` that a tool with the schema `input` does not take. The placeholder of a secret reveals nothing about the secret, so
/// its value is not checked.
pub fn argument_faults(input: &Schema, args: &Value) -> Vec<ArgumentFault> {
    let mut faults = input.validate(args);
    faults.retain(|fault| {
        let part = part_at(args, &fault.path).unwrap_or(args);
        fault.kind != FaultKind::Wrong || !holds_mask(part)
    });
    let faults = faults.into_iter().map(|fault| {
        let mut pointer = String::new();
        for segment in &fault.path {
            push_pointer_segment(&mut pointer, segment);
        }
        ArgumentFault {
            pointer,
            message: fault.message,
        }
    });
    faults.collect()
}
