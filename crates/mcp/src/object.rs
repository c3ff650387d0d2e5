//! Copies of JSON objects with a field added, replaced or removed.

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
