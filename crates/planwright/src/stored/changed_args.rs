//! The check of arguments that a person writes in place of a call's own.

use planwright_core::Value;
use planwright_core::place::push_pointer_segment;
use planwright_core::schema::{Schema, SchemaViolationKind, part_at};
use planwright_engine::run::contains_mask;
use serde::Serialize;

/// A part of the arguments that the tool does not accept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ArgumentViolation {
    /// The part, as a JSON pointer; empty for all arguments together.
    pub pointer: String,
    /// The description, as one clause.
    pub message: String,
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
