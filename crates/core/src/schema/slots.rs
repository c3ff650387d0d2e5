//! The schemas of slots, which several steps may fill.

use std::sync::Arc;

use crate::{Object, Value};

/// Returns the schema of a slot, in which fields may still be missing, since several calls can fill one slot. `root` has the definitions
/// that it refers to.
pub fn fillable(slot: &Value, root: &Value) -> Value {
    let Some(fields) = slot.as_object() else {
        return slot.clone();
    };
    let fields = fields.iter().filter(|(name, _)| &***name != "required");
    let mut fillable: Object = fields
        .map(|(name, part)| {
            let part = match (&**name, part) {
                ("properties", Value::Object(parts)) => {
                    let parts = parts.iter();
                    let parts = parts
                        .map(|(name, part)| (name.clone(), self::fillable(part, &Value::Null)));
                    Value::from(parts.collect::<Object>())
                }
                (_, part) => part.clone(),
            };
            (name.clone(), part)
        })
        .collect();
    // A `$ref` starts at the root, so the definitions are needed there alone.
    for definitions in ["$defs", "definitions"] {
        if let Some(shared) = root.get(definitions) {
            fillable.insert(definitions.into(), shared.clone());
        }
    }
    fillable.into()
}

/// Returns the schema of the part at `keys` of an object with the schema `root`; `None` if it states none there.
pub fn fillable_part(root: &Value, keys: &[Arc<str>]) -> Option<Value> {
    let part = keys.iter().try_fold(root, |schema, key| {
        schema.get("properties").and_then(|parts| parts.get(key))
    })?;
    Some(fillable(part, root))
}
