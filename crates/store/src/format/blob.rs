//! Values in the bodies of entries: small ones inline, large ones as blobs, which several entries and runs share.

use indexmap::IndexMap;
use planwright_core::Value;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

use super::composite::{BlobRef, encode_blob};
use super::digest::Digest;
use super::json::MAX_DEPTH;

/// The maximum length of the JSON of an inline value, in bytes.
pub(super) const MAX_INLINE_BYTES: usize = 4096;

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

/// The JSON of a large value, with its digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Blob {
    pub(crate) digest: Digest,
    pub(crate) json: String,
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
