//! JSON objects: their text fields, and copies with other fields.

use std::sync::Arc;

use planwright_core::Value;

/// Returns `object` with the field `name` set to `value`.
pub(crate) fn with(object: &Value, name: &str, value: Value) -> Value {
    let mut fields = object.as_object().cloned().unwrap_or_default();
    fields.insert(Arc::from(name), value);
    fields.into()
}

/// Returns `object` without the fields `names`.
pub(crate) fn without(object: &Value, names: &[&str]) -> Value {
    let mut fields = object.as_object().cloned().unwrap_or_default();
    fields.retain(|name, _| !names.contains(&&**name));
    fields.into()
}

/// Returns the text `field` of `object`.
pub(crate) fn text_field(object: &Value, field: &str) -> Option<Arc<str>> {
    match object.get(field)? {
        Value::Text(text) => Some(Arc::clone(text)),
        _ => None,
    }
}
