//! The inference of a type from a JSON Schema. Parts that are not understood make the type wider.

use std::collections::HashSet;
use std::sync::Arc;

use indexmap::IndexMap;

use super::types::disjoint;
use super::{Additional, ListType, ObjectType, Property, Type};
use crate::{Object, Value};

/// Maximum depth of schemas; deeper ones become [`Type::Any`].
const MAX_DEPTH: u32 = 48;

/// Maximum number of subschemas; further ones become [`Type::Any`]. The target of several references counts for each of
/// them, since every traversal of the type visits it each time.
const MAX_PARTS: u32 = 5_000;

/// The number of levels of a recursive schema that its type describes; deeper ones are [`Type::Any`].
const RECURSIVE_LEVELS: u32 = 3;

/// Maximum number of subschemas of a level of a recursive schema. No level is added to a larger one.
const MAX_LEVEL_PARTS: u32 = 200;

/// Maximum number of members of an intersection of unions.
const MAX_COMBINED: usize = 64;

/// The keywords that apply other schemas, which may describe fields, to the same object.
const APPLICATORS: [&str; 9] = [
    "$ref",
    "$dynamicRef",
    "$recursiveRef",
    "allOf",
    "anyOf",
    "oneOf",
    "if",
    "dependentSchemas",
    "patternProperties",
];

/// The type inferred from a schema.
#[derive(Clone, Debug)]
pub(super) struct InferredType {
    /// The type.
    pub(super) structure: Type,
    /// True if parts of the schema were malformed or not inspected.
    pub(super) is_incomplete: bool,
}

/// Infers the type of the schema `document`.
pub(super) fn infer_type(document: &Value) -> InferredType {
    let mut reader = TypeReader::new(document);
    InferredType {
        structure: reader.schema(document, 0),
        is_incomplete: reader.is_incomplete,
    }
}

/// Infers the type of a subschema of `document`.
pub(super) fn infer_subschema(document: &Value, schema: &Value) -> Type {
    TypeReader::new(document).schema(schema, 0)
}

/// Returns true for drafts up to 7, which ignore keywords beside a `$ref`.
fn is_old_draft(document: &Value) -> bool {
    document
        .get("$schema")
        .and_then(Value::as_text)
        .is_some_and(|draft| draft.contains("draft-0"))
}

struct TypeReader<'a> {
    document: &'a Value,
    applies_siblings: bool,
    /// The types of `$ref` targets, with their size, in the order in which they were first read; `None` while a target is being read,
    /// so that recursive references become [`Type::Any`].
    known: IndexMap<&'a str, Option<(Type, u32)>>,
    /// The `$ref` targets that refer to themselves, directly or through others.
    recursive: HashSet<&'a str>,
    parts_left: u32,
    is_incomplete: bool,
}

impl<'a> TypeReader<'a> {
    fn new(document: &'a Value) -> Self {
        Self {
            document,
            applies_siblings: !is_old_draft(document),
            known: IndexMap::new(),
            recursive: HashSet::new(),
            parts_left: MAX_PARTS,
            is_incomplete: false,
        }
    }

    fn schema(&mut self, schema: &'a Value, depth: u32) -> Type {
        self.parts_left = self.parts_left.saturating_sub(1);
        // A recursive or exponentially growing schema ends here as the widest type.
        if depth >= MAX_DEPTH || self.parts_left == 0 {
            return self.widest_type();
        }
        match schema {
            Value::Bool(false) => Type::Never,
            Value::Bool(true) => Type::Any,
            Value::Object(fields) => self.object_schema(fields, depth),
            _ => self.widest_type(),
        }
    }

    /// Returns the widest type and marks the result as incomplete.
    fn widest_type(&mut self) -> Type {
        self.is_incomplete = true;
        Type::Any
    }

    fn object_schema(&mut self, fields: &'a Object, depth: u32) -> Type {
        let mut result = Type::Any;
        if let Some(Value::Text(target)) = fields.get("$ref") {
            result = self.reference(target, depth);
            // Drafts up to 7 ignore the keywords beside a `$ref`.
            if !self.applies_siblings {
                return result;
            }
        }
        result = intersection(result, self.type_by_kind(fields, depth));
        if let Some(Value::List(values)) = fields.get("enum") {
            let values = Type::union(values.iter().cloned().map(Type::Literal));
            result = intersection(result, values);
        }
        if let Some(value) = fields.get("const") {
            result = intersection(result, Type::Literal(value.clone()));
        }
        for keyword in ["anyOf", "oneOf"] {
            if let Some(Value::List(branches)) = fields.get(keyword) {
                let branches: Vec<Type> = branches
                    .iter()
                    .map(|branch| self.schema(branch, depth + 1))
                    .collect();
                result = intersection(result, Type::union(branches));
            }
        }
        if let Some(Value::List(branches)) = fields.get("allOf") {
            for branch in branches.iter() {
                let branch = self.schema(branch, depth + 1);
                result = intersection(result, branch);
            }
        }
        // OpenAPI 3.0 writes nullable types this way.
        if fields.get("nullable") == Some(&Value::Bool(true)) {
            result = Type::union([result, Type::Null]);
        }
        result
    }

    fn reference(&mut self, target: &'a str, depth: u32) -> Type {
        if let Some(known) = self.known.get(target) {
            // The target is being read: the schema is recursive.
            let Some((shape, parts)) = known.clone() else {
                self.recursive.insert(target);
                return Type::Any;
            };
            if parts > self.parts_left {
                return Type::Any;
            }
            self.parts_left -= parts;
            return shape;
        }
        let Some(schema) = target
            .strip_prefix('#')
            .and_then(|pointer| resolve_pointer(self.document, pointer))
        else {
            return self.widest_type();
        };
        let known_before = self.known.len();
        // Marks the target as being read.
        self.known.insert(target, None);
        let (mut shape, mut parts) = self.read_counted(schema, depth);
        let mut levels = 1;
        while levels < RECURSIVE_LEVELS
            && parts <= MAX_LEVEL_PARTS
            && self.recursive.contains(target)
        {
            levels += 1;
            let (parts_left, was_incomplete) = (self.parts_left, self.is_incomplete);
            // Inside of the target, references to it now have the type of the level before, so the type becomes one level
            // deeper. The other targets were read with `Any` in its place, so they are read again as well.
            self.known.truncate(known_before);
            self.known.insert(target, Some((shape.clone(), parts)));
            let (next, next_parts) = self.read_counted(schema, depth);
            if self.is_incomplete && !was_incomplete {
                // The level has too many parts.
                (self.parts_left, self.is_incomplete) = (parts_left, was_incomplete);
                break;
            }
            (shape, parts) = (next, next_parts);
        }
        self.known.insert(target, Some((shape.clone(), parts)));
        shape
    }

    /// Reads a subschema below `depth`, and counts its parts.
    fn read_counted(&mut self, schema: &'a Value, depth: u32) -> (Type, u32) {
        let parts_before = self.parts_left;
        let shape = self.schema(schema, depth + 1);
        (shape, parts_before - self.parts_left)
    }

    /// Infers the type from `type` and the keywords that apply to one kind of value.
    fn type_by_kind(&mut self, fields: &'a Object, depth: u32) -> Type {
        let kinds: Vec<&str> = match fields.get("type") {
            Some(Value::Text(kind)) => vec![kind],
            Some(Value::List(kinds)) => kinds.iter().filter_map(Value::as_text).collect(),
            Some(_) => return self.widest_type(),
            // Without `type`, keywords for objects or lists leave all other kinds of values allowed.
            None if describes_parts(fields) => {
                vec!["null", "boolean", "number", "string", "array", "object"]
            }
            None => return Type::Any,
        };
        Type::union(
            kinds
                .into_iter()
                .map(|kind| match kind {
                    "null" => Type::Null,
                    "boolean" => Type::Boolean,
                    "integer" => Type::Integer,
                    "number" => Type::Number,
                    "string" => Type::Text,
                    "array" => self.list(fields, depth),
                    "object" => self.object(fields, depth),
                    _ => self.widest_type(),
                })
                .collect::<Vec<_>>(),
        )
    }

    fn list(&mut self, fields: &'a Object, depth: u32) -> Type {
        let mut prefix = Vec::new();
        let mut rest = fields.get("items");
        let tuple = match (fields.get("prefixItems"), rest) {
            (Some(Value::List(prefix)), _) => Some(prefix),
            // Up to draft 2019-09, a list of `items` had the meaning of `prefixItems`.
            (_, Some(Value::List(prefix))) => {
                rest = fields.get("additionalItems");
                Some(prefix)
            }
            _ => None,
        };
        for item in tuple.into_iter().flat_map(|prefix| prefix.iter()) {
            prefix.push(self.schema(item, depth + 1));
        }
        let items = rest.map_or(Type::Any, |items| self.schema(items, depth + 1));
        Type::List(Arc::new(ListType {
            prefix,
            min_items: 0,
            items,
        }))
    }

    fn object(&mut self, fields: &'a Object, depth: u32) -> Type {
        let mut properties = IndexMap::default();
        if let Some(Value::Object(described)) = fields.get("properties") {
            for (name, schema) in described.iter() {
                let shape = self.schema(schema, depth + 1);
                let property = Property {
                    shape,
                    required: false,
                };
                properties.insert(Arc::clone(name), property);
            }
        }
        let has_patterns = fields.contains_key("patternProperties");
        let additional = match fields.get("additionalProperties") {
            // A field may match a pattern, so its type is not that of the other fields.
            _ if has_patterns => Additional::Open(Type::Any),
            // Drafts up to 7 do not know `unevaluatedProperties`.
            None if self.applies_siblings && is_closed_by_unevaluated(fields) => Additional::Closed,
            None => Additional::Unspecified,
            Some(Value::Bool(false)) => Additional::Closed,
            Some(schema) => Additional::Open(self.schema(schema, depth + 1)),
        };
        if let Some(Value::List(required)) = fields.get("required") {
            for name in required.iter() {
                let Value::Text(name) = name else { continue };
                let property = properties
                    .entry(Arc::clone(name))
                    // A required field without a description has the type of the other fields.
                    .or_insert_with(|| Property {
                        shape: additional.shape().clone(),
                        required: true,
                    });
                property.required = true;
            }
        }
        Type::Object(Arc::new(ObjectType {
            properties,
            additional,
        }))
    }
}

/// Returns true if `unevaluatedProperties` excludes undescribed fields, and no keyword applies another schema to the object.
fn is_closed_by_unevaluated(fields: &Object) -> bool {
    let is_false = |value: &Value| matches!(value, Value::Bool(false));
    fields.get("unevaluatedProperties").is_some_and(is_false)
        && APPLICATORS
            .iter()
            .all(|keyword| !fields.contains_key(*keyword))
}

fn describes_parts(fields: &Object) -> bool {
    [
        "properties",
        "required",
        "additionalProperties",
        "items",
        "prefixItems",
    ]
    .iter()
    .any(|keyword| fields.contains_key(*keyword))
}

/// Resolves a JSON pointer in a URI fragment.
pub(crate) fn resolve_pointer<'a>(document: &'a Value, pointer: &str) -> Option<&'a Value> {
    if pointer.is_empty() {
        return Some(document);
    }
    let mut at = document;
    for segment in pointer.strip_prefix('/')?.split('/') {
        let key = percent_decode(segment)
            .replace("~1", "/")
            .replace("~0", "~");
        at = match at {
            Value::Object(fields) => fields.get(key.as_str())?,
            Value::List(items) => items.get(key.parse::<usize>().ok()?)?,
            _ => return None,
        };
    }
    Some(at)
}

/// Decodes percent escapes (RFC 3986).
fn percent_decode(segment: &str) -> String {
    let mut bytes = Vec::with_capacity(segment.len());
    let mut rest = segment.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        let escaped = (byte == b'%')
            .then(|| after.get(..2))
            .flatten()
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        if let Some(escaped) = escaped {
            bytes.push(escaped);
            rest = after.get(2..).unwrap_or_default();
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns a type that includes the intersection of both.
fn intersection(left: Type, right: Type) -> Type {
    match (&left, &right) {
        (Type::Any, _) => right,
        (_, Type::Any) => left,
        (Type::Union(_), _) | (_, Type::Union(_)) => {
            let (ours, theirs) = (left.members(), right.members());
            // The pairs of members would grow with each `allOf`.
            if ours.len().saturating_mul(theirs.len()) > MAX_COMBINED {
                return overlapping_members(&left, &right);
            }
            Type::union(
                ours.iter()
                    .flat_map(|one| {
                        theirs
                            .iter()
                            .map(|other| intersection(one.clone(), other.clone()))
                    })
                    .collect::<Vec<_>>(),
            )
        }
        _ if disjoint(&left, &right) => Type::Never,
        (Type::Literal(_), _) | (Type::Integer, Type::Number) => left,
        (_, Type::Literal(_)) | (Type::Number, Type::Integer) => right,
        (Type::List(one), Type::List(other)) => {
            let longest = one.prefix.len().max(other.prefix.len());
            Type::List(Arc::new(ListType {
                prefix: (0..longest)
                    .map(|index| intersection(one.item(index).clone(), other.item(index).clone()))
                    .collect(),
                min_items: one.min_items.max(other.min_items),
                items: intersection(one.items.clone(), other.items.clone()),
            }))
        }
        (Type::Object(one), Type::Object(other)) => {
            Type::Object(Arc::new(object_intersection(one, other)))
        }
        _ => left,
    }
}

/// Returns the members of the larger union that overlap with the other: wider than the intersection, but of bounded
/// size.
fn overlapping_members(left: &Type, right: &Type) -> Type {
    let (members, against) = if left.members().len() >= right.members().len() {
        (left, right)
    } else {
        (right, left)
    };
    Type::union(
        members
            .members()
            .iter()
            .filter(|member| !disjoint(member, against))
            .cloned(),
    )
}

fn object_intersection(one: &ObjectType, other: &ObjectType) -> ObjectType {
    let mut properties = IndexMap::default();
    for name in one.properties.keys().chain(other.properties.keys()) {
        if properties.contains_key(name) {
            continue;
        }
        let is_required = |object: &ObjectType| {
            object
                .properties
                .get(name)
                .is_some_and(|property| property.required)
        };
        let property = Property {
            shape: intersection(one.field(name).clone(), other.field(name).clone()),
            required: is_required(one) || is_required(other),
        };
        properties.insert(Arc::clone(name), property);
    }
    let additional = match (&one.additional, &other.additional) {
        (Additional::Closed, _) | (_, Additional::Closed) => Additional::Closed,
        (Additional::Unspecified, stated) | (stated, Additional::Unspecified) => stated.clone(),
        (Additional::Open(one), Additional::Open(other)) => {
            Additional::Open(intersection(one.clone(), other.clone()))
        }
    };
    ObjectType {
        properties,
        additional,
    }
}
