//! Values in the bodies of entries: small ones inline, large ones as blobs, which several entries and runs share.

use std::collections::HashMap;
use std::sync::Arc;

use indexmap::IndexMap;
use planwright_core::{Object, Value};
use serde::{Deserialize, Serialize};

use super::blob::{Blob, BlobRef, Digest, MAX_DEPTH, MAX_INLINE_BYTES};
use super::composite::{COMPOSITE, ESCAPED, MAX_REFERENCES, encode_blob, is_special};

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
    /// An object with large fields. Each is a blob of its own, so that an output that many steps receive is stored once.
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

/// Loads a stored value with the parts that it refers to. `values` caches all of them, so that places that share a part share it
/// in memory again.
pub fn resolve(
    reference: BlobRef,
    values: &mut HashMap<BlobRef, Value>,
    read: &mut dyn FnMut(&Digest) -> Result<Value, String>,
) -> Result<Value, String> {
    resolve_within(reference, values, read, MAX_REFERENCES + 1)
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
