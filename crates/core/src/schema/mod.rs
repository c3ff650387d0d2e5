//! JSON Schema (2020-12): structural types for checking ahead, validators for checking values.

use crate::{PointerSegment, Value};

/// A JSON Schema, read once.
#[derive(Clone, Debug)]
pub struct Schema {
    text: Value,
}

impl Schema {
    /// The schema that any value fits.
    pub fn any() -> Self {
        Self {
            text: Value::empty_object(),
        }
    }

    /// Reads a schema.
    pub fn from_value(text: Value) -> Self {
        Self { text }
    }

    /// The schema as JSON.
    pub fn as_value(&self) -> &Value {
        &self.text
    }

    /// Every way in which `value` does not fit.
    pub fn validate(&self, _value: &Value) -> Vec<SchemaFault> {
        Vec::new()
    }
}

/// One way in which a value does not fit a schema.
#[derive(Clone, Debug, PartialEq)]
pub struct SchemaFault {
    /// Where in the value.
    pub path: Vec<PointerSegment>,
    /// What is the matter: one lower-case clause, user data in backticks.
    pub message: String,
}
