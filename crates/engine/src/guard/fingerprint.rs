//! Which calls are the same: a digest of tool and arguments.

use std::hash::{BuildHasher, Hash, Hasher};

use planwright_core::{Hashing, Tool, Value};

/// Makes digests that nobody outside can foretell, and so cannot make two calls look alike.
#[derive(Clone, Debug, Default)]
pub(super) struct Fingerprints {
    one: Hashing,
    other: Hashing,
}

/// A digest of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Fingerprint(u64, u64);

impl Fingerprints {
    /// The digest of a call of `tool` with `args`. The order of fields does not count.
    pub(super) fn of(&self, tool: &Tool, args: &Value) -> Fingerprint {
        let half = |hashing: &Hashing| {
            let mut hasher = hashing.build_hasher();
            tool.server.hash(&mut hasher);
            tool.name.hash(&mut hasher);
            hasher.write_u64(digest(hashing, args));
            hasher.finish()
        };
        Fingerprint(half(&self.one), half(&self.other))
    }
}

fn digest(hashing: &Hashing, value: &Value) -> u64 {
    let mut hasher = hashing.build_hasher();
    std::mem::discriminant(value).hash(&mut hasher);
    match value {
        Value::Null => {}
        Value::Bool(value) => value.hash(&mut hasher),
        Value::Number(number) => number.hash(&mut hasher),
        Value::Text(text) => text.hash(&mut hasher),
        Value::List(items) => {
            for item in items.iter() {
                hasher.write_u64(digest(hashing, item));
            }
        }
        Value::Object(fields) => {
            let sum = fields.iter().fold(0_u64, |sum, (key, value)| {
                let mut field = hashing.build_hasher();
                key.hash(&mut field);
                field.write_u64(digest(hashing, value));
                sum.wrapping_add(field.finish())
            });
            hasher.write_u64(sum);
        }
    }
    hasher.finish()
}
