//! JSON of values, bounded in depth and exact in numbers: small ones inline, large ones as blobs under their digest.
//!
//! See [the design](https://github.com/planwright/planwright/blob/main/docs/design/store.md#large-values-are-stored-once-by-digest).

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use indexmap::IndexMap;
use planwright_core::{Object, Value};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};

use super::composite::{COMPOSITE, ESCAPED, MAX_REFERENCES, encode_blob, is_special};

/// The maximum length of the JSON of an inline value, in bytes.
pub(super) const MAX_INLINE_BYTES: usize = 4096;

/// The SHA-256 of a text. Written as 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// Computes the digest of `text`.
    pub fn of(text: &str) -> Self {
        Self(Sha256::digest(text.as_bytes()).into())
    }

    /// Checks that this is the digest of `text`.
    ///
    /// # Errors
    ///
    /// A message if the text is another one.
    pub fn check(self, text: &str) -> Result<(), String> {
        if Self::of(text) == self {
            Ok(())
        } else {
            Err(format!(
                "the value `{self}` was changed after it was stored"
            ))
        }
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if text.len() != 64 || !text.bytes().all(is_hex) {
            return None;
        }
        let mut bytes = [0; 32];
        for (index, byte) in bytes.iter_mut().enumerate() {
            let digits = text.get(2 * index..2 * index + 2)?;
            *byte = u8::from_str_radix(digits, 16).ok()?;
        }
        Some(Self(bytes))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text)
            .ok_or_else(|| serde::de::Error::custom("a digest is 64 hexadecimal digits"))
    }
}

/// The JSON of a large value, with its digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blob {
    /// The digest of `json`.
    pub digest: Digest,
    /// The JSON.
    pub json: String,
}

/// A reference to a stored value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlobRef {
    /// The digest of its JSON.
    pub digest: Digest,
    /// True if its JSON has references to other stored values.
    pub is_composite: bool,
}

/// The maximum nesting of values. The engine allows outputs half as much, and arguments add some levels.
pub(super) const MAX_DEPTH: usize = 1024;
/// The maximum nesting of a text, with the levels that a body adds around its values.
const MAX_TEXT_DEPTH: usize = MAX_DEPTH + 64;
/// The maximum nesting that `serde_json` accepts by default.
const SERDE_MAX_DEPTH: usize = 127;

/// Returns the JSON of a value, or an error if it is nested too deeply.
pub fn value_json(value: &Value) -> Result<String, String> {
    value_bytes(value).map(|_| value.to_json())
}

/// Returns the length of the JSON of a value, or an error if it is nested too deeply.
pub fn value_bytes(value: &Value) -> Result<u64, String> {
    let size = value.json_size(MAX_DEPTH);
    size.map(|size| size.bytes)
        .ok_or_else(|| format!("a value is nested deeper than {MAX_DEPTH} levels"))
}

/// Parses a value.
pub fn parse_value(json: &str) -> Result<Value, String> {
    parse(json)
}

/// Parses any value.
pub fn parse<T: DeserializeOwned>(json: &str) -> Result<T, String> {
    // Few texts are deep, so the depth is measured only after the default parser has failed.
    match serde_json::from_str(json) {
        Ok(read) => Ok(read),
        Err(error) => {
            let depth = depth(json);
            if depth <= SERDE_MAX_DEPTH {
                return Err(error.to_string());
            }
            if MAX_TEXT_DEPTH < depth {
                return Err(format!("it is nested deeper than {MAX_TEXT_DEPTH} levels"));
            }
            parse_deep(json)
        }
    }
}

/// A value in a body.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StoredValueV1 {
    /// An inline value.
    Json(Value),
    /// A blob.
    Blob(Digest),
    /// A blob that refers to further blobs, its shared parts.
    #[serde(rename = "woven")]
    Composite(BlobRef),
    /// An object with large fields. Each is a separate blob, so that an output that many steps receive is stored once.
    Fields(IndexMap<Arc<str>, StoredValueV1>),
}

impl StoredValueV1 {
    /// Encodes a value, and adds the blobs that it needs to `blobs`.
    pub(super) fn encode(value: &Value, blobs: &mut Vec<Blob>) -> Result<Self, String> {
        if is_small(value) {
            return Ok(Self::Json(value.clone()));
        }
        if let Some(fields) = value.as_object()
            && fields.values().any(|field| !is_small(field))
        {
            let fields = fields.iter().map(|(name, field)| {
                let stored = if is_small(field) {
                    Self::Json(field.clone())
                } else {
                    Self::blob(field, blobs)?
                };
                Ok((Arc::clone(name), stored))
            });
            return fields.collect::<Result<_, String>>().map(Self::Fields);
        }
        Self::blob(value, blobs)
    }

    fn blob(value: &Value, blobs: &mut Vec<Blob>) -> Result<Self, String> {
        // `is_small` gives up early on values with many parts; this one is exact.
        let size = value.json_size(MAX_DEPTH);
        if size.is_some_and(|size| size.bytes <= MAX_INLINE_BYTES as u64) {
            return Ok(Self::Json(value.clone()));
        }
        let reference = encode_blob(value, blobs)?;
        Ok(if reference.is_composite {
            Self::Composite(reference)
        } else {
            Self::Blob(reference.digest)
        })
    }

    /// Decodes the value; `load` provides the blobs.
    pub(super) fn decode(
        self,
        load: &mut dyn FnMut(BlobRef) -> Result<Value, String>,
    ) -> Result<Value, String> {
        match self {
            Self::Json(value) => Ok(value),
            Self::Blob(digest) => load(BlobRef {
                digest,
                is_composite: false,
            }),
            Self::Composite(reference) => load(reference),
            Self::Fields(fields) => {
                let fields = fields
                    .into_iter()
                    .map(|(name, stored)| Ok((name, stored.decode(load)?)));
                let fields = fields.collect::<Result<planwright_core::Object, String>>()?;
                Ok(fields.into())
            }
        }
    }
}

/// Loads a stored value with the parts that it refers to. `values` caches all of them, so that places that share a part share it
/// in memory again.
pub fn resolve(
    reference: BlobRef,
    values: &mut HashMap<BlobRef, Value>,
    read: &mut dyn FnMut(&Digest) -> Result<Value, String>,
) -> Result<Value, String> {
    resolve_within(reference, values, read, MAX_REFERENCES + 1)
}

fn parse_deep<T: DeserializeOwned>(json: &str) -> Result<T, String> {
    let mut reader = serde_json::Deserializer::from_str(json);
    reader.disable_recursion_limit();
    let read = T::deserialize(&mut reader).map_err(|error| error.to_string())?;
    reader.end().map_err(|error| error.to_string())?;
    Ok(read)
}

/// Returns the nesting of lists and objects in a text, which need not be valid JSON.
fn depth(json: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let (mut in_text, mut escaped) = (false, false);
    for byte in json.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b'[' | b'{' if !in_text => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' if !in_text => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// Returns true if a value is certainly small enough to be inline. Visits no more parts of it than a small value has.
fn is_small(value: &Value) -> bool {
    !value.exceeds(MAX_DEPTH, MAX_INLINE_BYTES)
}

/// Replaces the references in a composite value by the values that `load` provides.
fn expand(
    value: &Value,
    load: &mut dyn FnMut(BlobRef) -> Result<Value, String>,
) -> Result<Value, String> {
    match value {
        Value::List(items) => {
            let items = items.iter().map(|item| expand(item, load));
            Ok(Value::from(items.collect::<Result<Vec<_>, _>>()?))
        }
        Value::Object(fields) if is_special(fields) => match fields.first() {
            Some((name, Value::Object(plain))) if &**name == ESCAPED => expand_fields(plain, load),
            Some((name, digest)) if &**name != ESCAPED => {
                let digest = digest.as_text().unwrap_or_default();
                let digest = Digest::parse(digest).ok_or("a reference has no digest")?;
                load(BlobRef {
                    digest,
                    is_composite: &**name == COMPOSITE,
                })
            }
            _ => Err("a reference is malformed".to_owned()),
        },
        Value::Object(fields) => expand_fields(fields, load),
        scalar => Ok(scalar.clone()),
    }
}

fn expand_fields(
    fields: &Object,
    load: &mut dyn FnMut(BlobRef) -> Result<Value, String>,
) -> Result<Value, String> {
    let fields = fields
        .iter()
        .map(|(name, value)| Ok((Arc::clone(name), expand(value, load)?)));
    Ok(fields.collect::<Result<Object, String>>()?.into())
}

fn resolve_within(
    reference: BlobRef,
    values: &mut HashMap<BlobRef, Value>,
    read: &mut dyn FnMut(&Digest) -> Result<Value, String>,
    left: usize,
) -> Result<Value, String> {
    if let Some(value) = values.get(&reference) {
        return Ok(value.clone());
    }
    let mut value = read(&reference.digest)?;
    if reference.is_composite {
        // An import may contain a cycle of references.
        let left = left
            .checked_sub(1)
            .ok_or("a value refers to others that refer to others without end")?;
        value = expand(&value, &mut |part| resolve_within(part, values, read, left))?;
    }
    values.insert(reference, value.clone());
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_read_as_it_is_written() {
        let digest = Digest::of("");
        let hex = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(digest.to_string(), hex);
        assert_eq!(Digest::parse(hex), Some(digest));
        for wrong in [
            "",
            "e3",
            &hex.to_uppercase(),
            &format!("{hex}0"),
            &hex.replace('e', "+"),
        ] {
            assert_eq!(Digest::parse(wrong), None, "{wrong}");
        }
    }

    fn nested(levels: usize) -> Value {
        (0..levels).fold(Value::Null, |inner, _| Value::list([inner]))
    }

    #[test]
    fn values_come_back_as_they_are() {
        for json in [
            "null",
            "-0.0",
            "0.1",
            "1.7976931348623157e308",
            "5e-324",
            "2.2250738585072011e-308",
            "8.41",
            "18446744073709551615",
            "-9223372036854775808",
            r#"{"b":[1,1.0],"a":"\u0000\u2028"}"#,
        ] {
            let value = parse_value(json).unwrap();
            assert_eq!(parse_value(&value_json(&value).unwrap()).unwrap(), value);
        }
        for levels in [127, 128, 129, 512, MAX_DEPTH] {
            let value = nested(levels);
            assert_eq!(parse_value(&value_json(&value).unwrap()).unwrap(), value);
        }
    }

    #[test]
    fn depth_is_bounded_in_both_directions() {
        assert!(value_json(&nested(MAX_DEPTH + 1)).is_err());
        let hostile = "[".repeat(1_000_000);
        assert!(parse_value(&hostile).unwrap_err().contains("deeper"));
        let brackets = format!("\"\\\"{hostile}\"");
        assert!(parse_value(&brackets).is_ok());
        assert!(parse_value("{").unwrap_err().contains("EOF"));
        assert!(parse_value("1 1").is_err());
    }
}
