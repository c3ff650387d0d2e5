//! Digests of calls, to recognize repeated ones.

use std::hash::{BuildHasher, Hash, Hasher};

use planwright_core::{Hashing, Tool, Value};

/// Computes digests with random keys, so an outsider cannot construct collisions.
#[derive(Clone, Debug, Default)]
pub(super) struct CallHasher {
    first: Hashing,
    second: Hashing,
}

/// The digest of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct CallDigest(u64, u64);

impl CallHasher {
    /// The digest of a call of `tool` with `args`, independent of the order of fields.
    pub(super) fn of(&self, tool: &Tool, args: &Value) -> CallDigest {
        let half = |hashing: &Hashing| {
            let mut hasher = hashing.build_hasher();
            tool.server.hash(&mut hasher);
            tool.name.hash(&mut hasher);
            hasher.write_u64(hash_value(hashing, args));
            hasher.finish()
        };
        // Two independent halves make an accidental collision negligible.
        CallDigest(half(&self.first), half(&self.second))
    }
}

fn hash_value(hashing: &Hashing, value: &Value) -> u64 {
    let mut hasher = hashing.build_hasher();
    std::mem::discriminant(value).hash(&mut hasher);
    match value {
        Value::Null => {}
        Value::Bool(value) => value.hash(&mut hasher),
        Value::Number(number) => number.hash(&mut hasher),
        Value::Text(text) => text.hash(&mut hasher),
        Value::List(items) => {
            for item in items.iter() {
                hasher.write_u64(hash_value(hashing, item));
            }
        }
        Value::Object(fields) => {
            // A sum does not depend on the order of the fields.
            let sum = fields.iter().fold(0_u64, |sum, (key, value)| {
                let mut field = hashing.build_hasher();
                key.hash(&mut field);
                field.write_u64(hash_value(hashing, value));
                sum.wrapping_add(field.finish())
            });
            hasher.write_u64(sum);
        }
    }
    hasher.finish()
}
