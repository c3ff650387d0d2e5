//! Reading of composite values: references are replaced by the parts that they refer to.

use std::collections::HashMap;
use std::sync::Arc;

use planwright_core::{Object, Value};

use super::composite::{BlobRef, COMPOSITE, ESCAPED, MAX_REFERENCES, is_special};
use super::digest::Digest;

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
pub(crate) fn resolve(
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
