//! JSON Schema (2020-12): structural types for checking ahead, validators for checking values.

use crate::Value;

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

    /// The schema as JSON.
    pub fn as_value(&self) -> &Value {
        &self.text
    }
}
