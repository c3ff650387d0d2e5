//! Objects with a field more or less, everything else as it came.

use std::sync::Arc;

use planwright_core::Value;

/// `object` in which the field `name` is `value`.
pub(super) fn with(object: &Value, name: &str, value: Value) -> Value {
    let mut fields = object.as_object().cloned().unwrap_or_default();
    fields.insert(Arc::from(name), value);
    fields.into()
}

/// `object` without the fields `names`.
pub(super) fn without(object: &Value, names: &[&str]) -> Value {
    let mut fields = object.as_object().cloned().unwrap_or_default();
    fields.retain(|name, _| !names.contains(&&**name));
    fields.into()
}
