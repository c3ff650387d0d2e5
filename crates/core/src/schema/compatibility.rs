//! Compatibility of types: tests if values of one type can be used as another.

use super::{Type, equality};
use crate::Value;

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
    /// Tests if values of `other` can be used as this type. [`Compatibility::No`] is certain: the types have no common
    /// value. Any two list types share the empty list.
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
        | (Type::Number, Type::Integer)
        | (Type::List(_), Type::List(_)) => false,
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
            (0..longest).all(|index| includes(outer.item(index), inner.item(index)))
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
