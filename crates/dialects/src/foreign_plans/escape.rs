//! Literal texts of other systems, in which `${` begins no reference.

use std::sync::Arc;

use planwright_core::Value;

/// `value` with its texts escaped, so that none has a reference.
pub(crate) fn escaped(value: &Value) -> Value {
    match value {
        Value::Text(text) if text.contains("${") => Value::text(text.replace("${", "$${")),
        Value::List(items) => Value::list(items.iter().map(escaped)),
        Value::Object(fields) => {
            let fields = fields.iter();
            Value::object(fields.map(|(key, field)| (Arc::clone(key), escaped(field))))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => value.clone(),
    }
}
