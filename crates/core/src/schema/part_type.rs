//! The types of parts of a recursive schema, at any depth.

use std::sync::Arc;

use super::Type;
use super::type_reader::{infer_subschema, resolve_pointer};
use crate::Value;

/// Infers the type of the field at `path` of values of the schema `document`, through lists. It follows references, so the field
/// may be deeper than the levels of a recursive schema that the type of the whole describes.
pub(super) fn part_type(document: &Value, path: &[Arc<str>]) -> Type {
    let mut parts = vec![document];
    for key in path {
        let whole = SchemaParts::of(document, parts);
        parts = whole
            .iter()
            .filter_map(|schema| match schema.get("properties")?.get(key) {
                Some(property) => Some(property),
                None => schema.get("additionalProperties"),
            })
            .collect();
    }
    if parts.is_empty() {
        return Type::Any;
    }
    let parts = parts.into_iter();
    Type::union(parts.map(|part| infer_subschema(document, part)))
}

/// Maximum number of subschemas that describe one value together.
const MAX_ALTERNATIVES: usize = 64;

/// The subschemas that describe a value, or the items of its lists.
struct SchemaParts<'a>(Vec<&'a Value>);

impl<'a> SchemaParts<'a> {
    /// Adds to `schemas` those that they refer to, and those of items.
    fn of(document: &'a Value, schemas: Vec<&'a Value>) -> Vec<&'a Value> {
        let mut all = Self(Vec::new());
        for schema in schemas {
            all.add(schema);
        }
        let mut next = 0;
        while let Some(schema) = all.0.get(next).copied() {
            next += 1;
            if let Some(Value::Text(target)) = schema.get("$ref") {
                let pointer = target.strip_prefix('#');
                let target = pointer.and_then(|pointer| resolve_pointer(document, pointer));
                target.into_iter().for_each(|target| all.add(target));
            }
            for keyword in ["anyOf", "oneOf", "allOf", "prefixItems", "items"] {
                match schema.get(keyword) {
                    Some(Value::List(branches)) => branches.iter().for_each(|one| all.add(one)),
                    Some(one) => all.add(one),
                    None => {}
                }
            }
        }
        all.0
    }

    fn add(&mut self, schema: &'a Value) {
        let is_known = self.0.iter().any(|known| std::ptr::eq(*known, schema));
        if !is_known && self.0.len() < MAX_ALTERNATIVES {
            self.0.push(schema);
        }
    }
}
