//! Values as bodies hold them: as they are, or, where they are large, by their digest.

use indexmap::IndexMap;
use planwright_core::Value;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

use super::digest::Digest;
use super::json::DEEPEST;
use super::woven::{Reference, weave};

/// How many bytes of JSON a value may have that is not set apart.
pub(super) const LARGE: usize = 4096;

/// A value in a body.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum HeldV1 {
    /// As it is.
    Json(Value),
    /// Set apart.
    Blob(Digest),
    /// Set apart, and its shared parts with it.
    Woven(Reference),
    /// An object of which some fields are set apart, so that a large output that is handed to many steps is kept once.
    Fields(IndexMap<Arc<str>, HeldV1>),
}

/// A large value, set apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Blob {
    pub(crate) digest: Digest,
    pub(crate) json: String,
}

impl HeldV1 {
    /// Holds a value; what is set apart goes into `blobs`.
    pub(super) fn hold(value: &Value, blobs: &mut Vec<Blob>) -> Result<Self, String> {
        if is_small(value) {
            return Ok(Self::Json(value.clone()));
        }
        if let Some(fields) = value.as_object()
            && fields.values().any(|field| !is_small(field))
        {
            let fields = fields.iter().map(|(name, field)| {
                let held = if is_small(field) {
                    Self::Json(field.clone())
                } else {
                    Self::apart(field, blobs)?
                };
                Ok((Arc::clone(name), held))
            });
            return fields.collect::<Result<_, String>>().map(Self::Fields);
        }
        Self::apart(value, blobs)
    }

    fn apart(value: &Value, blobs: &mut Vec<Blob>) -> Result<Self, String> {
        let size = value.written_size(DEEPEST);
        if size.is_some_and(|size| size.bytes <= LARGE as u64) {
            return Ok(Self::Json(value.clone()));
        }
        let reference = weave(value, blobs)?;
        Ok(if reference.is_woven {
            Self::Woven(reference)
        } else {
            Self::Blob(reference.digest)
        })
    }

    /// The value; `find` knows those that were set apart.
    pub(super) fn whole(
        self,
        find: &mut dyn FnMut(Reference) -> Result<Value, String>,
    ) -> Result<Value, String> {
        match self {
            Self::Json(value) => Ok(value),
            Self::Blob(digest) => find(Reference {
                digest,
                is_woven: false,
            }),
            Self::Woven(reference) => find(reference),
            Self::Fields(fields) => {
                let fields = fields
                    .into_iter()
                    .map(|(name, held)| Ok((name, held.whole(find)?)));
                let fields = fields.collect::<Result<planwright_core::Object, String>>()?;
                Ok(fields.into())
            }
        }
    }
}

/// Whether a value is certainly not worth setting apart. Looks at no more of it than a small value has.
fn is_small(value: &Value) -> bool {
    !value.exceeds(DEEPEST, LARGE)
}
