//! How much there is of a type, when all that it shares is written out.

use super::types::{Additional, Type};

impl Type {
    /// Whether it has at most so many parts, none of them deeper than that. Looks at no more than these.
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
                Additional::Closed | Additional::Unsaid => None,
            };
            let properties = object.properties.values().map(|property| &property.shape);
            properties
                .chain(additional)
                .all(|inner| take(inner, parts, depth))
        }
        Type::Union(members) => members.iter().all(|inner| take(inner, parts, depth)),
        _ => true,
    }
}
