//! Equality as in JSON Schema: numbers by value, objects regardless of field order.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use jsonschema::json::cmp;

use crate::Value;
use crate::value::Number;

/// Returns true if the values are equal.
pub(super) fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => same_number(left, right),
        (Value::List(left), Value::List(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .zip(&**right)
                    .all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .all(|(key, left)| right.get(key).is_some_and(|right| same(left, right)))
        }
        (left, right) => left == right,
    }
}

/// Compares with a value of the compiled schema, like [`same`].
pub(super) fn to_serde(left: &Value, right: &serde_json::Value) -> bool {
    match (left, right) {
        (Value::Null, serde_json::Value::Null) => true,
        (Value::Bool(left), serde_json::Value::Bool(right)) => left == right,
        (Value::Number(left), serde_json::Value::Number(right)) => same_number(left, right),
        (Value::Text(left), serde_json::Value::String(right)) => **left == **right,
        (Value::List(left), serde_json::Value::Array(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .zip(right)
                    .all(|(left, right)| to_serde(left, right))
        }
        (Value::Object(left), serde_json::Value::Object(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .all(|(key, left)| right.get(&**key).is_some_and(|right| to_serde(left, right)))
        }
        _ => false,
    }
}

/// Returns true if no two `items` are equal. Linear in their size.
pub(super) fn all_distinct(items: &[Value]) -> bool {
    let mut seen: HashMap<u64, Vec<&Value>> = HashMap::with_capacity(items.len());
    items.iter().all(|item| {
        let bucket = seen.entry(fingerprint(item)).or_default();
        let is_new = !bucket.iter().any(|other| same(item, other));
        // Different values may share a fingerprint, so the bucket holds them all.
        bucket.push(item);
        is_new
    })
}

fn same_number(left: &Number, right: &Number) -> bool {
    left == right
        || cmp::equal(
            &serde_json::Value::Number(left.clone()),
            &serde_json::Value::Number(right.clone()),
        )
}

/// Returns a hash that is equal for equal values.
fn fingerprint(value: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    match value {
        Value::Null => 0_u8.hash(&mut hasher),
        Value::Bool(value) => (1_u8, value).hash(&mut hasher),
        Value::Number(number) => {
            // Adding zero turns -0.0 into 0.0.
            let number = number.as_f64().map(|number| (number + 0.0).to_bits());
            (2_u8, number).hash(&mut hasher);
        }
        Value::Text(text) => (3_u8, text).hash(&mut hasher),
        Value::List(items) => {
            4_u8.hash(&mut hasher);
            for item in items.iter() {
                fingerprint(item).hash(&mut hasher);
            }
        }
        Value::Object(fields) => {
            let sum = fields.iter().fold(0_u64, |sum, (key, value)| {
                let mut field = DefaultHasher::new();
                (key, fingerprint(value)).hash(&mut field);
                // A sum does not depend on the order of the fields.
                sum.wrapping_add(field.finish())
            });
            (5_u8, sum).hash(&mut hasher);
        }
    }
    hasher.finish()
}
