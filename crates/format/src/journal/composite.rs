//! Blobs of large values with shared parts: a part that is in memory once is stored once.
//!
//! In the JSON of such a value, `{"$blob": DIGEST}` refers to a part without further references, `{"$woven": DIGEST}` to a composite
//! part, which has references itself. An object that looks like a reference is escaped as `{"$plain": OBJECT}`.

use std::collections::HashMap;

use planwright_core::value::SharedPart;
use planwright_core::{Object, Value};
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};

use super::blob::{Blob, BlobRef, Digest, MAX_DEPTH, MAX_INLINE_BYTES};

/// The minimum length of the JSON of a part that is stored separately because it occurs in many places, in bytes.
const MIN_SHARED_BYTES: u64 = 256;

/// The maximum number of references between a value and one of its parts. It bounds the stack of readers.
pub(super) const MAX_REFERENCES: usize = 32;

const BLOB: &str = "$blob";
pub(super) const COMPOSITE: &str = "$woven";
pub(super) const ESCAPED: &str = "$plain";

/// The statistics of a part that is shared in memory.
#[derive(Clone, Copy)]
struct PartUse {
    bytes: u64,
    places: u64,
    /// The references between it and its deepest part that is stored separately.
    references: usize,
}

impl PartUse {
    fn is_separate(&self) -> bool {
        let all = self.bytes.saturating_mul(self.places);
        let is_large = self.bytes > MAX_INLINE_BYTES as u64
            || (self.bytes >= MIN_SHARED_BYTES && all > MAX_INLINE_BYTES as u64);
        is_large && self.references < MAX_REFERENCES
    }
}

/// Encodes `value` and its shared parts as blobs.
pub(super) fn encode_blob(value: &Value, blobs: &mut Vec<Blob>) -> Result<BlobRef, String> {
    if value.json_size(MAX_DEPTH).is_none() {
        return Err(format!("a value is nested deeper than {MAX_DEPTH} levels"));
    }
    let mut encoder = CompositeEncoder {
        parts: HashMap::new(),
        references: HashMap::new(),
        blobs,
    };
    encoder.measure(value);
    encoder.store(value)
}

struct CompositeEncoder<'a> {
    parts: HashMap<SharedPart, PartUse>,
    /// The parts that are encoded already.
    references: HashMap<SharedPart, BlobRef>,
    blobs: &'a mut Vec<Blob>,
}

impl CompositeEncoder<'_> {
    /// Collects the shared parts. Returns the length of the value's JSON and the references to its deepest part.
    fn measure(&mut self, value: &Value) -> (u64, usize) {
        let address = value.shared_part();
        if let Some(part) = address.and_then(|address| self.parts.get_mut(&address)) {
            // A part is visited once: written out, shared parts of shared parts may be exponentially many.
            part.places = part.places.saturating_add(1);
            return (
                part.bytes,
                part.references + usize::from(part.is_separate()),
            );
        }
        let (bytes, references) = match value {
            Value::List(items) => self.measure_all(items.iter()),
            Value::Object(fields) => {
                let names: u64 = fields.keys().map(|name| name.len() as u64 + 3).sum();
                let (bytes, references) = self.measure_all(fields.values());
                (bytes.saturating_add(names), references)
            }
            Value::Text(text) => (text.len() as u64 + 2, 0),
            Value::Null | Value::Bool(_) | Value::Number(_) => (4, 0),
        };
        let Some(address) = address else {
            return (bytes, references);
        };
        let part = PartUse {
            bytes,
            places: 1,
            references,
        };
        self.parts.insert(address, part);
        (bytes, references + usize::from(part.is_separate()))
    }

    fn measure_all<'a>(&mut self, parts: impl Iterator<Item = &'a Value>) -> (u64, usize) {
        parts.fold((2, 0), |(bytes, references), part| {
            let (more, deeper) = self.measure(part);
            (
                bytes.saturating_add(more).saturating_add(1),
                references.max(deeper),
            )
        })
    }

    /// Encodes a part as a separate blob, after those that it refers to.
    fn store(&mut self, value: &Value) -> Result<BlobRef, String> {
        let mut is_composite = false;
        for part in parts_of(value) {
            is_composite |= self.store_inside(part)?;
        }
        let json = if is_composite {
            let composite = Composite {
                value,
                references: &self.references,
                is_root: true,
            };
            serde_json::to_string(&composite).map_err(|error| error.to_string())?
        } else {
            value.to_json()
        };
        let digest = Digest::of(&json);
        self.blobs.push(Blob { digest, json });
        Ok(BlobRef {
            digest,
            is_composite,
        })
    }

    /// Encodes the separate parts within a part. Returns true if there are any.
    fn store_inside(&mut self, value: &Value) -> Result<bool, String> {
        if let Some(address) = value.shared_part()
            && let Some(part) = self.parts.get(&address)
        {
            if self.references.contains_key(&address) {
                return Ok(true);
            }
            if part.is_separate() {
                let reference = self.store(value)?;
                self.references.insert(address, reference);
                return Ok(true);
            }
        }
        let mut is_composite = false;
        for part in parts_of(value) {
            is_composite |= self.store_inside(part)?;
        }
        Ok(is_composite)
    }
}

fn parts_of(value: &Value) -> Box<dyn Iterator<Item = &Value> + '_> {
    match value {
        Value::List(items) => Box::new(items.iter()),
        Value::Object(fields) => Box::new(fields.values()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => {
            Box::new(std::iter::empty())
        }
    }
}

/// A value that serializes with references in place of the parts that are stored separately.
struct Composite<'a> {
    value: &'a Value,
    references: &'a HashMap<SharedPart, BlobRef>,
    /// True if this is the root, which must not become a reference to itself.
    is_root: bool,
}

impl Composite<'_> {
    fn part<'a>(&'a self, value: &'a Value) -> Composite<'a> {
        Composite {
            value,
            references: self.references,
            is_root: false,
        }
    }

    fn fields<S: Serializer>(&self, fields: &Object, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(fields.iter().map(|(name, value)| (name, self.part(value))))
    }
}

impl Serialize for Composite<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let address = self.value.shared_part().filter(|_| !self.is_root);
        if let Some(reference) = address.and_then(|address| self.references.get(&address)) {
            let mut map = serializer.serialize_map(Some(1))?;
            let name = if reference.is_composite {
                COMPOSITE
            } else {
                BLOB
            };
            map.serialize_entry(name, &reference.digest)?;
            return map.end();
        }
        match self.value {
            Value::List(items) => serializer.collect_seq(items.iter().map(|item| self.part(item))),
            Value::Object(fields) if is_special(fields) => {
                let mut map = serializer.serialize_map(Some(1))?;
                map.serialize_entry(
                    ESCAPED,
                    &Escaped {
                        composite: self,
                        fields,
                    },
                )?;
                map.end()
            }
            Value::Object(fields) => self.fields(fields, serializer),
            scalar => scalar.serialize(serializer),
        }
    }
}

/// An object that looks like a reference but is data.
struct Escaped<'a> {
    composite: &'a Composite<'a>,
    fields: &'a Object,
}

impl Serialize for Escaped<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.composite.fields(self.fields, serializer)
    }
}

/// Returns true if an object looks like a reference or an escape.
pub(super) fn is_special(fields: &Object) -> bool {
    let only = fields.first().filter(|_| fields.len() == 1);
    only.is_some_and(|(name, _)| [BLOB, COMPOSITE, ESCAPED].contains(&&**name))
}

impl Serialize for BlobRef {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.digest.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for BlobRef {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self {
            digest: Digest::deserialize(deserializer)?,
            is_composite: true,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::blob::{parse_value, resolve};
    use super::*;

    /// Encodes a value, compares the number and length of its blobs, and reads it back.
    fn check(value: &Value, stored: usize, max_bytes: usize) -> Value {
        let mut blobs = Vec::new();
        let reference = encode_blob(value, &mut blobs).unwrap();
        let known: HashMap<Digest, String> = blobs
            .into_iter()
            .map(|blob| (blob.digest, blob.json))
            .collect();
        let bytes: usize = known.values().map(String::len).sum();
        assert_eq!((known.len(), bytes <= max_bytes), (stored, true), "{bytes}");
        let mut read = |digest: &Digest| parse_value(&known[digest]);
        let found = resolve(reference, &mut HashMap::new(), &mut read).unwrap();
        assert_eq!(found.json_size(MAX_DEPTH), value.json_size(MAX_DEPTH));
        found
    }

    fn doubled(first: Value, times: usize) -> Value {
        (0..times).fold(first, |inner, _| Value::list([inner.clone(), inner]))
    }

    #[test]
    fn values_without_shared_parts_are_one_blob() {
        let value = Value::list((0..2000_u64).map(Value::from));
        assert_eq!(check(&value, 1, 10_000), value);
    }

    #[test]
    fn shared_parts_are_stored_once() {
        let text = Value::text("a".repeat(5000));
        let value = doubled(text.clone(), 3);
        assert_eq!(check(&value, 4, 6000), value);
        let pair = Value::list([Value::from(1), value.clone()]);
        assert_eq!(check(&pair, 5, 6000), pair);
        // Written out, it would have a billion places.
        check(&doubled(text, 30), 31, 12_000);
    }

    #[test]
    fn small_parts_are_stored_once_if_they_are_many() {
        let part = Value::text("b".repeat(400));
        let few = Value::list(vec![part.clone(); 5]);
        check(&few, 1, 2100);
        let many = Value::list(vec![part; 100]);
        assert_eq!(check(&many, 2, 10_000), many);
    }

    #[test]
    fn parts_are_shared_again() {
        let part = Value::list((0..3000_u64).map(Value::from));
        let found = check(&Value::list([part.clone(), part]), 2, 20_000);
        let (one, other) = (&found.as_list().unwrap()[0], &found.as_list().unwrap()[1]);
        assert!(std::ptr::eq(
            one.as_list().unwrap(),
            other.as_list().unwrap()
        ));
    }

    #[test]
    fn objects_that_look_like_references_are_escaped() {
        let large = Value::text("c".repeat(5000));
        let digest = Value::from("0".repeat(64));
        let odd = [BLOB, COMPOSITE, ESCAPED].map(|name| Value::object([(name, digest.clone())]));
        let nested = Value::object([(ESCAPED, odd[2].clone())]);
        let all = odd.into_iter().chain([nested, large.clone(), large]);
        let value = Value::list(all);
        assert_eq!(check(&value, 2, 6000), value);
    }

    #[test]
    fn references_are_bounded_in_depth() {
        let base = Value::text("d".repeat(5000));
        let mut values = vec![base];
        for number in 0..400_u64 {
            let last = values.last().unwrap().clone();
            values.push(Value::list([last, Value::from(number)]));
        }
        let value = values.last().unwrap();
        let mut blobs = Vec::new();
        encode_blob(value, &mut blobs).unwrap();
        assert_eq!(blobs.len(), MAX_REFERENCES + 1);
    }

    #[test]
    fn a_cycle_of_references_is_an_error() {
        let digest = Digest::of("x");
        let cycle = Value::list([Value::object([(
            COMPOSITE,
            Value::from(digest.to_string()),
        )])]);
        let reference = BlobRef {
            digest,
            is_composite: true,
        };
        let found = resolve(reference, &mut HashMap::new(), &mut |_| Ok(cycle.clone()));
        assert!(found.unwrap_err().contains("without end"));
    }
}
