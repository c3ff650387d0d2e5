//! Structural types, and their compatibility: whether values of one type can be used as another.

use std::sync::Arc;

use indexmap::IndexMap;

use super::equality;
use crate::{Hashing, Value};

/// A set of values. A set that cannot be described exactly is represented by a larger one, never by a smaller one.
#[derive(Clone, Debug, PartialEq)]
pub enum Type {
    /// Every value.
    Any,
    /// No value.
    Never,
    /// `null`.
    Null,
    /// `true` and `false`.
    Boolean,
    /// Integers, including `1.0`.
    Integer,
    /// All numbers.
    Number,
    /// All texts.
    Text,
    /// Exactly this value.
    Literal(Value),
    /// Lists.
    List(Arc<ListType>),
    /// Objects.
    Object(Arc<ObjectType>),
    /// The union of these types. No member is a union itself, [`Type::Any`] or [`Type::Never`].
    Union(Arc<[Type]>),
}

/// A type of lists of any length.
#[derive(Clone, Debug, PartialEq)]
pub struct ListType {
    /// The types of the first items.
    pub prefix: Vec<Type>,
    /// The number of the first items that every list has.
    pub min_items: usize,
    /// The type of all further items.
    pub items: Type,
}

/// A type of objects.
#[derive(Clone, Debug, PartialEq)]
pub struct ObjectType {
    /// The fields described by name.
    pub properties: IndexMap<Arc<str>, Property, Hashing>,
    /// The fields not described by name.
    pub additional: Additional,
}

/// A field described by name.
#[derive(Clone, Debug, PartialEq)]
pub struct Property {
    /// The type of its values.
    pub shape: Type,
    /// True if the field is always present.
    pub required: bool,
}

/// The fields not described by name.
#[derive(Clone, Debug, PartialEq)]
pub enum Additional {
    /// No other fields are allowed.
    Closed,
    /// Other fields are not mentioned.
    Unspecified,
    /// Other fields may exist, with values of this type.
    Open(Type),
}

impl Type {
    /// Returns the type of all lists of `items`.
    pub fn list_of(items: Type) -> Self {
        Self::List(Arc::new(ListType {
            prefix: Vec::new(),
            min_items: 0,
            items,
        }))
    }

    /// Returns the type of the lists with exactly these items.
    pub fn list(items: impl IntoIterator<Item = Type>) -> Self {
        let prefix: Vec<Type> = items.into_iter().collect();
        Self::List(Arc::new(ListType {
            min_items: prefix.len(),
            prefix,
            items: Type::Never,
        }))
    }

    /// Returns the type of all lists.
    pub fn any_list() -> Self {
        Self::list_of(Self::Any)
    }

    /// Returns the type of all objects.
    pub fn any_object() -> Self {
        Self::Object(Arc::new(ObjectType {
            properties: IndexMap::default(),
            additional: Additional::Unspecified,
        }))
    }

    /// Returns true for [`Type::Any`].
    pub(crate) fn is_any(&self) -> bool {
        matches!(self, Self::Any)
    }

    /// Returns true for [`Type::Never`].
    pub(crate) fn is_never(&self) -> bool {
        matches!(self, Self::Never)
    }

    /// Returns the union of `members`.
    pub fn union(members: impl IntoIterator<Item = Type>) -> Self {
        let mut members = members.into_iter();
        // Most unions have one member, which needs no list.
        let Some(first) = members.by_ref().find(|member| !member.is_never()) else {
            return Self::Never;
        };
        let Some(second) = members.by_ref().find(|member| !member.is_never()) else {
            return first;
        };
        let mut flat: Vec<Type> = Vec::new();
        for member in [first, second].into_iter().chain(members) {
            match member {
                // Any other member is included already.
                Self::Any => return Self::Any,
                Self::Never => {}
                Self::Union(inner) => {
                    for member in inner.iter() {
                        push_new(&mut flat, member.clone());
                    }
                }
                other @ (Self::Null
                | Self::Boolean
                | Self::Integer
                | Self::Number
                | Self::Text
                | Self::Literal(_)
                | Self::List(_)
                | Self::Object(_)) => push_new(&mut flat, other),
            }
        }
        match flat.len() {
            0 => Self::Never,
            1 => flat.pop().unwrap_or(Self::Never),
            _ => Self::Union(flat.into()),
        }
    }

    /// Returns the members of a union, or the type itself.
    pub fn members(&self) -> &[Type] {
        match self {
            Self::Union(members) => members,
            other @ (Self::Any
            | Self::Never
            | Self::Null
            | Self::Boolean
            | Self::Integer
            | Self::Number
            | Self::Text
            | Self::Literal(_)
            | Self::List(_)
            | Self::Object(_)) => std::slice::from_ref(other),
        }
    }

    /// Returns true if some values may be texts.
    pub fn takes_text(&self) -> bool {
        self.members().iter().any(|member| {
            matches!(
                member,
                Self::Any | Self::Text | Self::Literal(Value::Text(_))
            )
        })
    }

    /// Returns true if `value` may be one of the values; false is certain.
    pub fn admits(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::Any, _)
            | (Self::Null, Value::Null)
            | (Self::Boolean, Value::Bool(_))
            | (Self::Number, Value::Number(_))
            | (Self::Text, Value::Text(_)) => true,
            (Self::Integer, Value::Number(number)) => {
                number.is_i64()
                    || number.is_u64()
                    // JSON Schema counts `1.0` as an integer.
                    || number.as_f64().is_none_or(|number| number.fract() == 0.0)
            }
            (Self::Literal(literal), value) => equality::same(literal, value),
            (Self::List(list), Value::List(items)) => items
                .iter()
                .enumerate()
                .all(|(index, item)| list.item(index).admits(item)),
            (Self::Object(object), Value::Object(fields)) => {
                let required = object
                    .properties
                    .iter()
                    .all(|(name, property)| !property.required || fields.contains_key(name));
                required
                    && fields
                        .iter()
                        .all(|(name, value)| object.field(name).admits(value))
            }
            (Self::Union(members), value) => members.iter().any(|member| member.admits(value)),
            // Values of different kinds.
            _ => false,
        }
    }

    /// Returns the only known field of an object, if it is text.
    pub(crate) fn only_text_field(&self) -> Option<&Arc<str>> {
        let Self::Object(object) = self else {
            return None;
        };
        let mut fields = object.properties.iter();
        match (fields.next()?, fields.next()) {
            ((name, field), None) => (field.shape == Self::Text).then_some(name),
            _ => None,
        }
    }

    /// Returns the type of the field `name`, or `None` if no value has it.
    pub fn property(&self, name: &str) -> Option<Type> {
        // The usual case, without a union.
        if let Self::Object(object) = self {
            let shape = object.field(name);
            return (!shape.is_never()).then(|| shape.clone());
        }
        let found = Self::union(self.members().iter().map(|member| {
            match member {
                Self::Any => Self::Any,
                Self::Object(object) => object.field(name).clone(),
                Self::Literal(Value::Object(fields)) => fields
                    .get(name)
                    .map_or(Self::Never, |value| Self::Literal(value.clone())),
                Self::Never
                | Self::Null
                | Self::Boolean
                | Self::Integer
                | Self::Number
                | Self::Text
                | Self::Literal(_)
                | Self::List(_)
                | Self::Union(_) => Self::Never,
            }
        }));
        (!found.is_never()).then_some(found)
    }
}

impl Type {
    /// Returns the type of the item at `index`.
    pub fn item(&self, index: usize) -> Type {
        Self::union(self.members().iter().map(|member| {
            match member {
                Self::Any => Self::Any,
                Self::List(list) => list.item(index).clone(),
                Self::Literal(Value::List(items)) => items
                    .get(index)
                    .map_or(Self::Never, |item| Self::Literal(item.clone())),
                Self::Never
                | Self::Null
                | Self::Boolean
                | Self::Integer
                | Self::Number
                | Self::Text
                | Self::Literal(_)
                | Self::Object(_)
                | Self::Union(_) => Self::Never,
            }
        }))
    }
}

impl ListType {
    /// Returns the type of the item at `index`.
    pub fn item(&self, index: usize) -> &Type {
        self.prefix.get(index).unwrap_or(&self.items)
    }

    /// Returns the type of any item.
    pub fn any_item(&self) -> Type {
        if self.prefix.is_empty() {
            return self.items.clone();
        }
        Type::union(self.prefix.iter().chain([&self.items]).cloned())
    }
}

impl ObjectType {
    /// Returns the type of the field `name`.
    pub fn field(&self, name: &str) -> &Type {
        match self.properties.get(name) {
            Some(property) => &property.shape,
            None => self.additional.shape(),
        }
    }
}

impl ObjectType {
    /// Returns the names of the fields that are always present.
    pub fn required(&self) -> impl Iterator<Item = &str> {
        self.properties
            .iter()
            .filter(|(_, property)| property.required)
            .map(|(name, _)| &**name)
    }

    /// Returns true if the field `name` is always present.
    pub fn requires(&self, name: &str) -> bool {
        self.properties
            .get(name)
            .is_some_and(|property| property.required)
    }
}

impl Additional {
    /// Returns the type of fields that are not described by name.
    pub fn shape(&self) -> &Type {
        match self {
            Self::Closed => &Type::Never,
            Self::Unspecified => &Type::Any,
            Self::Open(shape) => shape,
        }
    }
}

/// Adds a member; simple types only once. Other types may be large and are not compared.
fn push_new(members: &mut Vec<Type>, member: Type) {
    let is_simple = matches!(
        member,
        Type::Null | Type::Boolean | Type::Integer | Type::Number | Type::Text
    );
    // Comparing large types would make unions quadratic in their size.
    if !(is_simple && members.contains(&member)) {
        members.push(member);
    }
}

impl Type {
    /// Returns true if the type has at most `parts` parts, none deeper than `depth`. The traversal stops at the limits.
    pub(crate) fn is_within(&self, parts: usize, depth: usize) -> bool {
        take(self, &mut { parts }, depth)
    }
}

fn take(shape: &Type, parts: &mut usize, depth: usize) -> bool {
    let (Some(left), Some(depth)) = (parts.checked_sub(1), depth.checked_sub(1)) else {
        return false;
    };
    *parts = left;
    match shape {
        Type::List(list) => list
            .prefix
            .iter()
            .chain([&list.items])
            .all(|inner| take(inner, parts, depth)),
        Type::Object(object) => {
            let additional = match &object.additional {
                Additional::Open(shape) => Some(shape),
                Additional::Closed | Additional::Unspecified => None,
            };
            let properties = object.properties.values().map(|property| &property.shape);
            properties
                .chain(additional)
                .all(|inner| take(inner, parts, depth))
        }
        Type::Union(members) => members.iter().all(|inner| take(inner, parts, depth)),
        Type::Any
        | Type::Never
        | Type::Null
        | Type::Boolean
        | Type::Integer
        | Type::Number
        | Type::Text
        | Type::Literal(_) => true,
    }
}

/// The compatibility of two types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compatibility {
    /// Every value is accepted, by its structure.
    Yes,
    /// No value is accepted.
    No,
    /// Some values may be accepted.
    Unknown,
}

impl Type {
    /// Returns whether values of `other` can be used as this type. [`Compatibility::No`] is certain: the types have no common
    /// value. Two types of lists share the empty list, unless one of them certainly has items.
    pub fn accepts(&self, other: &Type) -> Compatibility {
        if matches!(other, Type::Never) {
            Compatibility::Unknown
        } else if disjoint(self, other) {
            Compatibility::No
        } else if includes(self, other) {
            Compatibility::Yes
        } else {
            Compatibility::Unknown
        }
    }
}

/// Returns true if the types certainly have no common value.
pub(super) fn disjoint(left: &Type, right: &Type) -> bool {
    match (left, right) {
        (Type::Never, _) | (_, Type::Never) => true,
        (Type::Any, _)
        | (_, Type::Any)
        | (Type::Integer, Type::Number)
        | (Type::Number, Type::Integer) => false,
        (Type::List(left), Type::List(right)) => {
            // The empty list belongs to both, unless one of them certainly has items.
            let min_items = left.min_items.max(right.min_items);
            (0..min_items).any(|index| disjoint(left.item(index), right.item(index)))
        }
        (Type::Union(members), other) | (other, Type::Union(members)) => {
            members.iter().all(|member| disjoint(member, other))
        }
        (Type::Literal(value), other) | (other, Type::Literal(value)) => !other.admits(value),
        (Type::Object(left), Type::Object(right)) => {
            let clashes = |name: &str| disjoint(left.field(name), right.field(name));
            let in_left = left.required().any(clashes);
            in_left
                || right
                    .required()
                    .filter(|name| !left.requires(name))
                    .any(clashes)
        }
        (left, right) => left != right,
    }
}

/// Returns true if `outer` includes every value of `inner`, by structure.
fn includes(outer: &Type, inner: &Type) -> bool {
    match (outer, inner) {
        (Type::Any, _)
        | (_, Type::Never)
        | (Type::Number, Type::Integer)
        | (Type::Literal(Value::Null), Type::Null) => true,
        (_, Type::Union(members)) => members.iter().all(|member| includes(outer, member)),
        (Type::Union(members), inner) => members.iter().any(|member| includes(member, inner)),
        (Type::Literal(outer), Type::Literal(inner)) => equality::same(outer, inner),
        (outer, Type::Literal(value)) => outer.admits(value),
        (Type::List(outer), Type::List(inner)) => {
            let longest = outer.prefix.len().max(inner.prefix.len());
            outer.min_items <= inner.min_items
                && (0..longest).all(|index| includes(outer.item(index), inner.item(index)))
                && includes(&outer.items, &inner.items)
        }
        (Type::Object(outer), Type::Object(inner)) => {
            let named = outer.properties.iter().all(|(name, property)| {
                let there = inner
                    .properties
                    .get(name)
                    .is_some_and(|field| field.required);
                (there || !property.required) && includes(&property.shape, inner.field(name))
            });
            named
                && inner
                    .properties
                    .iter()
                    .filter(|(name, _)| !outer.properties.contains_key(*name))
                    .all(|(_, field)| includes(outer.additional.shape(), &field.shape))
                && includes(outer.additional.shape(), inner.additional.shape())
        }
        (outer, inner) => outer == inner,
    }
}
