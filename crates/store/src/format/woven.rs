//! Large values whose parts are shared: each shared part is stored once, by its digest, as it is in memory once.
//!
//! In the JSON of such a value, `{"$blob": DIGEST}` stands for a part that is stored as it is, `{"$woven": DIGEST}` for one that
//! has such references itself. An object of the value that looks like one of them is the only field of `{"$plain": …}`.

use std::collections::HashMap;
use std::sync::Arc;

use planwright_core::value::SharedPart;
use planwright_core::{Object, Value};
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};

use super::digest::Digest;
use super::held::{Blob, LARGE};
use super::json::DEEPEST;

/// The smallest part that is set apart because it stands in many places.
const SMALL: u64 = 256;

/// The most references on the way from a value to one of its parts. It bounds the stack of readers.
const MAX_REFERENCES: usize = 32;

const BLOB: &str = "$blob";
const WOVEN: &str = "$woven";
const PLAIN: &str = "$plain";

/// A stored value: its digest, and whether its JSON has references to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Reference {
    pub(crate) digest: Digest,
    pub(crate) is_woven: bool,
}

/// What is known of a part that others hold as well.
#[derive(Clone, Copy)]
struct Part {
    bytes: u64,
    places: u64,
    /// The references on the way to the deepest part that is set apart.
    references: usize,
}

impl Part {
    fn is_apart(&self) -> bool {
        let all = self.bytes.saturating_mul(self.places);
        let is_large = self.bytes > LARGE as u64 || (self.bytes >= SMALL && all > LARGE as u64);
        is_large && self.references < MAX_REFERENCES
    }
}

type Parts = HashMap<SharedPart, Part>;

/// Sets `value` apart, and with it its shared parts.
pub(super) fn weave(value: &Value, blobs: &mut Vec<Blob>) -> Result<Reference, String> {
    if value.written_size(DEEPEST).is_none() {
        return Err(format!("a value is nested deeper than {DEEPEST} levels"));
    }
    let mut weaver = Weaver {
        parts: Parts::new(),
        references: HashMap::new(),
        blobs,
    };
    weaver.survey(value);
    weaver.store(value)
}

struct Weaver<'a> {
    parts: Parts,
    /// The parts that are set apart already.
    references: HashMap<SharedPart, Reference>,
    blobs: &'a mut Vec<Blob>,
}

impl Weaver<'_> {
    /// Finds the parts that are shared; gives the bytes of the whole and the references on the way to its deepest part.
    fn survey(&mut self, value: &Value) -> (u64, usize) {
        let address = value.shared_part();
        if let Some(part) = address.and_then(|address| self.parts.get_mut(&address)) {
            part.places = part.places.saturating_add(1);
            return (part.bytes, part.references + usize::from(part.is_apart()));
        }
        let (bytes, references) = match value {
            Value::List(items) => self.survey_all(items.iter()),
            Value::Object(fields) => {
                let names: u64 = fields.keys().map(|name| name.len() as u64 + 3).sum();
                let (bytes, references) = self.survey_all(fields.values());
                (bytes.saturating_add(names), references)
            }
            Value::Text(text) => (text.len() as u64 + 2, 0),
            Value::Null | Value::Bool(_) | Value::Number(_) => (4, 0),
        };
        let Some(address) = address else {
            return (bytes, references);
        };
        let part = Part {
            bytes,
            places: 1,
            references,
        };
        self.parts.insert(address, part);
        (bytes, references + usize::from(part.is_apart()))
    }

    fn survey_all<'a>(&mut self, parts: impl Iterator<Item = &'a Value>) -> (u64, usize) {
        parts.fold((2, 0), |(bytes, references), part| {
            let (more, deeper) = self.survey(part);
            (
                bytes.saturating_add(more).saturating_add(1),
                references.max(deeper),
            )
        })
    }

    /// Stores a part as a value of its own, after those that it refers to.
    fn store(&mut self, value: &Value) -> Result<Reference, String> {
        let mut is_woven = false;
        for part in parts_of(value) {
            is_woven |= self.store_inside(part)?;
        }
        let json = if is_woven {
            let woven = Woven {
                value,
                references: &self.references,
                is_whole: true,
            };
            serde_json::to_string(&woven).map_err(|error| error.to_string())?
        } else {
            value.to_json()
        };
        let digest = Digest::of(&json);
        self.blobs.push(Blob { digest, json });
        Ok(Reference { digest, is_woven })
    }

    /// Stores what is set apart within a part; whether there is any.
    fn store_inside(&mut self, value: &Value) -> Result<bool, String> {
        if let Some(address) = value.shared_part()
            && let Some(part) = self.parts.get(&address)
        {
            if self.references.contains_key(&address) {
                return Ok(true);
            }
            if part.is_apart() {
                let reference = self.store(value)?;
                self.references.insert(address, reference);
                return Ok(true);
            }
        }
        let mut is_woven = false;
        for part in parts_of(value) {
            is_woven |= self.store_inside(part)?;
        }
        Ok(is_woven)
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

/// A value as JSON in which references stand for the parts that are set apart.
struct Woven<'a> {
    value: &'a Value,
    references: &'a HashMap<SharedPart, Reference>,
    /// Whether this is the value itself, which is no reference to itself.
    is_whole: bool,
}

impl Woven<'_> {
    fn part<'a>(&'a self, value: &'a Value) -> Woven<'a> {
        Woven {
            value,
            references: self.references,
            is_whole: false,
        }
    }

    fn fields<S: Serializer>(&self, fields: &Object, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(fields.iter().map(|(name, value)| (name, self.part(value))))
    }
}

impl Serialize for Woven<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let address = self.value.shared_part().filter(|_| !self.is_whole);
        if let Some(reference) = address.and_then(|address| self.references.get(&address)) {
            let mut map = serializer.serialize_map(Some(1))?;
            let name = if reference.is_woven { WOVEN } else { BLOB };
            map.serialize_entry(name, &reference.digest)?;
            return map.end();
        }
        match self.value {
            Value::List(items) => serializer.collect_seq(items.iter().map(|item| self.part(item))),
            Value::Object(fields) if is_special(fields) => {
                let mut map = serializer.serialize_map(Some(1))?;
                map.serialize_entry(
                    PLAIN,
                    &Escaped {
                        whole: self,
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

/// An object that looks like a reference and is none.
struct Escaped<'a> {
    whole: &'a Woven<'a>,
    fields: &'a Object,
}

impl Serialize for Escaped<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.whole.fields(self.fields, serializer)
    }
}

/// Whether an object looks like what stands for something else.
fn is_special(fields: &Object) -> bool {
    let only = fields.first().filter(|_| fields.len() == 1);
    only.is_some_and(|(name, _)| [BLOB, WOVEN, PLAIN].contains(&&**name))
}

/// The value whose JSON had references; `find` knows what they stand for. A part is shared by all places that refer to it.
pub(crate) fn unweave(
    value: &Value,
    find: &mut dyn FnMut(Reference) -> Result<Value, String>,
) -> Result<Value, String> {
    match value {
        Value::List(items) => {
            let items = items.iter().map(|item| unweave(item, find));
            Ok(Value::from(items.collect::<Result<Vec<_>, _>>()?))
        }
        Value::Object(fields) if is_special(fields) => match fields.first() {
            Some((name, Value::Object(plain))) if &**name == PLAIN => unweave_fields(plain, find),
            Some((name, digest)) if &**name != PLAIN => {
                let digest = digest.as_text().unwrap_or_default();
                let digest = Digest::read(digest).ok_or("a reference has no digest")?;
                find(Reference {
                    digest,
                    is_woven: &**name == WOVEN,
                })
            }
            _ => Err("a reference makes no sense".to_owned()),
        },
        Value::Object(fields) => unweave_fields(fields, find),
        scalar => Ok(scalar.clone()),
    }
}

fn unweave_fields(
    fields: &Object,
    find: &mut dyn FnMut(Reference) -> Result<Value, String>,
) -> Result<Value, String> {
    let fields = fields
        .iter()
        .map(|(name, value)| Ok((Arc::clone(name), unweave(value, find)?)));
    Ok(fields.collect::<Result<Object, String>>()?.into())
}

/// Finds stored values, each of them once, and the parts that they refer to.
pub(crate) fn resolve(
    reference: Reference,
    values: &mut HashMap<Reference, Value>,
    read: &mut dyn FnMut(&Digest) -> Result<Value, String>,
) -> Result<Value, String> {
    resolve_within(reference, values, read, MAX_REFERENCES + 1)
}

fn resolve_within(
    reference: Reference,
    values: &mut HashMap<Reference, Value>,
    read: &mut dyn FnMut(&Digest) -> Result<Value, String>,
    left: usize,
) -> Result<Value, String> {
    if let Some(value) = values.get(&reference) {
        return Ok(value.clone());
    }
    let mut value = read(&reference.digest)?;
    if reference.is_woven {
        let left = left
            .checked_sub(1)
            .ok_or("a value refers to others that refer to others without end")?;
        value = unweave(&value, &mut |part| resolve_within(part, values, read, left))?;
    }
    values.insert(reference, value.clone());
    Ok(value)
}

impl Serialize for Reference {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.digest.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Reference {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self {
            digest: Digest::deserialize(deserializer)?,
            is_woven: true,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::json::parse_value;

    /// Stores a value, compares the number of values that are stored for it and the bytes of all, and reads it back.
    fn check(value: &Value, stored: usize, most: usize) -> Value {
        let mut blobs = Vec::new();
        let reference = weave(value, &mut blobs).unwrap();
        let known: HashMap<Digest, String> = blobs
            .into_iter()
            .map(|blob| (blob.digest, blob.json))
            .collect();
        let bytes: usize = known.values().map(String::len).sum();
        assert_eq!((known.len(), bytes <= most), (stored, true), "{bytes}");
        let mut read = |digest: &Digest| parse_value(&known[digest]);
        let found = resolve(reference, &mut HashMap::new(), &mut read).unwrap();
        assert_eq!(found.written_size(DEEPEST), value.written_size(DEEPEST));
        found
    }

    fn doubled(first: Value, times: usize) -> Value {
        (0..times).fold(first, |inner, _| Value::list([inner.clone(), inner]))
    }

    #[test]
    fn what_is_held_once_is_stored_as_it_is() {
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
        // As many places as there are: it is never written out.
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
    fn what_looks_like_a_reference_stays_what_it_is() {
        let large = Value::text("c".repeat(5000));
        let digest = Value::from("0".repeat(64));
        let odd = [BLOB, WOVEN, PLAIN].map(|name| Value::object([(name, digest.clone())]));
        let nested = Value::object([(PLAIN, odd[2].clone())]);
        let all = odd.into_iter().chain([nested, large.clone(), large]);
        let value = Value::list(all);
        assert_eq!(check(&value, 2, 6000), value);
    }

    #[test]
    fn references_are_bounded_in_depth() {
        let base = Value::text("d".repeat(5000));
        let mut held = vec![base];
        for number in 0..400_u64 {
            let last = held.last().unwrap().clone();
            held.push(Value::list([last, Value::from(number)]));
        }
        let value = held.last().unwrap();
        let mut blobs = Vec::new();
        weave(value, &mut blobs).unwrap();
        assert_eq!(blobs.len(), MAX_REFERENCES + 1);
    }

    #[test]
    fn a_circle_of_references_is_an_error() {
        let digest = Digest::of("x");
        let circle = Value::list([Value::object([(WOVEN, Value::from(digest.to_string()))])]);
        let reference = Reference {
            digest,
            is_woven: true,
        };
        let found = resolve(reference, &mut HashMap::new(), &mut |_| Ok(circle.clone()));
        assert!(found.unwrap_err().contains("without end"));
    }
}
