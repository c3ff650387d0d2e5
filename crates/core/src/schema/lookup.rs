//! Lookup of a path in a type, and in a schema.

use std::sync::Arc;

use super::type_reader::{infer_subschema, resolve_pointer};
use super::{Additional, ListType, ObjectType, Type};
use crate::path::whole_number;
use crate::plan::Segment;
use crate::{Object, Value};

/// Maximum length of a known list whose item types are inspected one by one.
const MAX_LIST_ITEMS: usize = 256;

/// Maximum number of subschemas that describe one value together.
const MAX_ALTERNATIVES: usize = 64;

/// The result of looking up a path in a type.
#[derive(Clone, Debug, PartialEq)]
pub enum PathLookup {
    /// The path leads to values of this type.
    Found(Type),
    /// The path exists in no value of the type.
    Impossible {
        /// The fields at the place where the path fails.
        known: KnownFields,
        /// The number of segments that exist.
        matched: usize,
    },
    /// The path leads to an undescribed field of an object that describes others.
    Unlisted {
        /// The described fields at that place.
        known: KnownFields,
        /// The number of segments that are described.
        matched: usize,
    },
    /// The type does not determine the path.
    Unknown,
}

impl PathLookup {
    /// Shifts the matched length of a lookup by `segments`.
    pub(crate) fn shifted(mut self, segments: usize) -> Self {
        if let Self::Impossible { matched, .. } | Self::Unlisted { matched, .. } = &mut self {
            *matched += segments;
        }
        self
    }

    /// Combines lookups of the same path in several alternative types.
    pub(crate) fn any_of(lookups: impl Iterator<Item = Self>) -> Self {
        let mut found = Vec::new();
        let mut elsewhere = None;
        for lookup in lookups {
            match (lookup, &elsewhere) {
                // A single type without a known structure makes everything possible.
                (Self::Unknown, _) => return Self::Unknown,
                (Self::Found(shape), _) => found.push(shape),
                // An unlisted field may exist, an impossible one cannot: the weaker statement holds for the union.
                (unlisted @ Self::Unlisted { .. }, _) => elsewhere = Some(unlisted),
                (impossible, None) => elsewhere = Some(impossible),
                (_, Some(_)) => {}
            }
        }
        match elsewhere {
            Some(elsewhere) if found.is_empty() => elsewhere,
            _ => Self::Found(Type::union(found)),
        }
    }
}

/// The fields of a type, listed on demand since there may be many.
#[derive(Clone, Debug, PartialEq)]
pub struct KnownFields(Type);

impl KnownFields {
    /// Returns the names of the fields.
    pub fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.0.members().iter().flat_map(|member| {
            let (described, literal) = match member {
                Type::Object(object) => (Some(object.properties.keys()), None),
                Type::Literal(Value::Object(fields)) => (None, Some(fields.keys())),
                Type::Any
                | Type::Never
                | Type::Null
                | Type::Boolean
                | Type::Integer
                | Type::Number
                | Type::Text
                | Type::Literal(_)
                | Type::List(_)
                | Type::Union(_) => (None, None),
            };
            let described = described.into_iter().flatten();
            described.chain(literal.into_iter().flatten())
        })
    }
}

enum SegmentLookup {
    To(Type),
    Impossible,
    Unlisted,
    Unknown,
}

impl Type {
    /// Looks up `path`. [`PathLookup::Impossible`] is certain, except for lists that turn out to be empty.
    pub fn at(&self, path: &[Segment]) -> PathLookup {
        // Most paths lead through fields and items that the type lists, which need no copies.
        let mut known = self;
        let mut matched = 0;
        while let Some(part) = path.get(matched).and_then(|next| listed(known, next)) {
            known = part;
            matched += 1;
        }
        let mut at = known.clone();
        // Behind `[*]` the path applies to each item, and the result is a list.
        let mapping = path.contains(&Segment::Each);
        for (matched, segment) in path.iter().enumerate().skip(matched) {
            match step(&at, segment) {
                Ok(next) => at = next,
                Err(failure) => return failure.after(matched),
            }
        }
        PathLookup::Found(if mapping { Type::list_of(at) } else { at })
    }
}

/// The reason why a segment cannot be followed.
enum LookupFailure {
    Impossible(KnownFields),
    Unlisted(KnownFields),
    Unknown,
}

impl LookupFailure {
    fn after(self, matched: usize) -> PathLookup {
        match self {
            Self::Impossible(known) => PathLookup::Impossible { known, matched },
            Self::Unlisted(known) => PathLookup::Unlisted { known, matched },
            Self::Unknown => PathLookup::Unknown,
        }
    }
}

/// Returns the part that `segment` selects, if the type lists it and is not a union.
fn listed<'t>(from: &'t Type, segment: &Segment) -> Option<&'t Type> {
    let part = match (from, segment) {
        (Type::Object(object), Segment::Key(key)) => &object.properties.get(key)?.shape,
        (Type::List(list), Segment::Index(0..) | Segment::Each) if list.prefix.is_empty() => {
            &list.items
        }
        _ => return None,
    };
    (!part.is_never()).then_some(part)
}

/// Follows one segment into a union; it succeeds if any member allows it.
fn step(from: &Type, segment: &Segment) -> Result<Type, LookupFailure> {
    // The usual case, without a union.
    if let Type::Object(_) | Type::List(_) = from {
        match step_into(from, segment) {
            SegmentLookup::To(Type::Never) => {}
            SegmentLookup::To(next) => return Ok(next),
            _ => {}
        }
    }
    let mut found = Vec::new();
    let mut unlisted = None;
    for member in from.members() {
        match step_into(member, segment) {
            SegmentLookup::To(Type::Never) | SegmentLookup::Impossible => {}
            SegmentLookup::To(next) => found.push(next),
            SegmentLookup::Unknown => return Err(LookupFailure::Unknown),
            SegmentLookup::Unlisted => unlisted = Some(member),
        }
    }
    match (found.is_empty(), unlisted, segment) {
        (false, ..) => Ok(Type::union(found)),
        (true, Some(member), _) => Err(LookupFailure::Unlisted(KnownFields(member.clone()))),
        // Only a key can be misspelt, so only then are known fields of use.
        (true, None, Segment::Key(_)) => Err(LookupFailure::Impossible(KnownFields(from.clone()))),
        (true, None, _) => Err(LookupFailure::Impossible(KnownFields(Type::Never))),
    }
}

fn step_into(from: &Type, segment: &Segment) -> SegmentLookup {
    match (from, segment) {
        (Type::Any, _) => SegmentLookup::Unknown,
        (Type::Literal(value), segment) => step_into_value(value, segment),
        (Type::Object(object), Segment::Key(key)) => field(object, key),
        (Type::List(list), Segment::Key(key)) => match whole_number(key) {
            Some(index) => item(list, index),
            None => SegmentLookup::Impossible,
        },
        (Type::List(list), Segment::Index(index)) => item(list, *index),
        (Type::List(list), Segment::Each) => SegmentLookup::To(match any_item(list) {
            // A list that is always empty maps to an empty list.
            Type::Never => Type::Any,
            item @ (Type::Any
            | Type::Null
            | Type::Boolean
            | Type::Integer
            | Type::Number
            | Type::Text
            | Type::Literal(_)
            | Type::List(_)
            | Type::Object(_)
            | Type::Union(_)) => item,
        }),
        _ => SegmentLookup::Impossible,
    }
}

fn field(object: &ObjectType, key: &str) -> SegmentLookup {
    match (object.properties.get(key), &object.additional) {
        (Some(property), _) if property.shape.is_never() => SegmentLookup::Impossible,
        (Some(property), _) => SegmentLookup::To(property.shape.clone()),
        (None, Additional::Closed | Additional::Open(Type::Never)) => SegmentLookup::Impossible,
        (None, Additional::Open(shape)) => SegmentLookup::To(shape.clone()),
        // A schema that lists nothing says nothing about its fields.
        (None, Additional::Unspecified) if object.properties.is_empty() => SegmentLookup::Unknown,
        (None, Additional::Unspecified) => SegmentLookup::Unlisted,
    }
}

fn item(list: &ListType, index: i64) -> SegmentLookup {
    let shape = match usize::try_from(index) {
        Ok(index) => list.item(index).clone(),
        // A negative index counts from an end whose position is unknown.
        Err(_) => any_item(list),
    };
    match shape {
        Type::Never => SegmentLookup::Impossible,
        shape @ (Type::Any
        | Type::Null
        | Type::Boolean
        | Type::Integer
        | Type::Number
        | Type::Text
        | Type::Literal(_)
        | Type::List(_)
        | Type::Object(_)
        | Type::Union(_)) => SegmentLookup::To(shape),
    }
}

/// Returns the type of any item; a long list is not inspected.
fn any_item(list: &ListType) -> Type {
    if list.prefix.len() > MAX_LIST_ITEMS {
        Type::Any
    } else {
        list.any_item()
    }
}

fn step_into_value(value: &Value, segment: &Segment) -> SegmentLookup {
    let literal = |value: Option<&Value>| match value {
        Some(value) => SegmentLookup::To(Type::Literal(value.clone())),
        None => SegmentLookup::Impossible,
    };
    match (value, segment) {
        (Value::Object(fields), Segment::Key(key)) => literal(fields.get(key)),
        (Value::List(items), Segment::Key(key)) => {
            literal(whole_number(key).and_then(|index| value_item(items, index)))
        }
        (Value::List(items), Segment::Index(index)) => literal(value_item(items, *index)),
        (Value::List(items), Segment::Each) => {
            // An empty list maps to an empty list; a long one is not inspected.
            if items.is_empty() || items.len() > MAX_LIST_ITEMS {
                SegmentLookup::To(Type::Any)
            } else {
                SegmentLookup::To(Type::union(items.iter().cloned().map(Type::Literal)))
            }
        }
        _ => SegmentLookup::Impossible,
    }
}

fn value_item(items: &[Value], index: i64) -> Option<&Value> {
    let from_start = match usize::try_from(index) {
        Ok(index) => index,
        Err(_) => items
            .len()
            .checked_sub(usize::try_from(index.unsigned_abs()).ok()?)?,
    };
    items.get(from_start)
}

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
                if let Some(target) = target {
                    all.add(target);
                }
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

/// Returns the schema of a slot, in which fields may still be missing, since several calls can fill one slot. `root` has the definitions
/// that it refers to.
pub fn fillable(slot: &Value, root: &Value) -> Value {
    let Some(fields) = slot.as_object() else {
        return slot.clone();
    };
    let fields = fields.iter().filter(|(name, _)| &***name != "required");
    let mut fillable: Object = fields
        .map(|(name, part)| {
            let part = match (&**name, part) {
                ("properties", Value::Object(parts)) => {
                    let parts = parts.iter();
                    let parts = parts
                        .map(|(name, part)| (name.clone(), self::fillable(part, &Value::Null)));
                    Value::from(parts.collect::<Object>())
                }
                (_, part) => part.clone(),
            };
            (name.clone(), part)
        })
        .collect();
    // A `$ref` starts at the root, so the definitions are needed there alone.
    for definitions in ["$defs", "definitions"] {
        if let Some(shared) = root.get(definitions) {
            fillable.insert(definitions.into(), shared.clone());
        }
    }
    fillable.into()
}

/// Returns the schema of the part at `keys` of an object with the schema `root`; `None` if it states none there.
pub fn fillable_part(root: &Value, keys: &[Arc<str>]) -> Option<Value> {
    let part = keys.iter().try_fold(root, |schema, key| {
        schema.get("properties").and_then(|parts| parts.get(key))
    })?;
    Some(fillable(part, root))
}
