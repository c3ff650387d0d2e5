//! Template values: constants with placeholders for references, and violations that no replacement can avoid.

use std::collections::HashMap;

use super::{SchemaViolation, SchemaViolationKind};
use crate::plan::{Node, NodeKind};
use crate::{Hashing, Object, PointerSegment, Value};

/// The placeholders in a value, as a tree of paths.
#[derive(Debug)]
pub(crate) enum Placeholders {
    /// The whole value is a placeholder.
    Whole,
    /// The parts that are or contain placeholders; all others are constant.
    Parts(HashMap<PointerSegment, Placeholders, Hashing>),
}

impl Placeholders {
    /// Creates an empty set.
    pub(crate) fn none() -> Self {
        Self::Parts(HashMap::default())
    }

    /// Adds the placeholders of the part `part`.
    pub(crate) fn add(&mut self, part: PointerSegment, placeholders: Self) {
        if let Self::Parts(parts) = self
            && !placeholders.is_empty()
        {
            parts.insert(part, placeholders);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        matches!(self, Self::Parts(parts) if parts.is_empty())
    }

    /// Returns the placeholders below a part, or `None` if it has none.
    pub(super) fn child(&self, part: &PointerSegment) -> Option<&Self> {
        match self {
            Self::Whole => None,
            Self::Parts(parts) => parts.get(part),
        }
    }

    /// Returns true if the part at `path` is inside a placeholder.
    pub(crate) fn covers(&self, path: &[PointerSegment]) -> bool {
        let mut at = self;
        for segment in path {
            match at.child(segment) {
                Some(child) => at = child,
                None => break,
            }
        }
        matches!(at, Self::Whole)
    }

    /// Returns true if the part at `path` is or contains a placeholder.
    pub(crate) fn touches(&self, path: &[PointerSegment]) -> bool {
        let child = path.iter().try_fold(self, |at, segment| at.child(segment));
        child.is_some_and(|child| !child.is_empty())
    }
}

/// A value with placeholders.
pub(crate) struct TemplateValue {
    /// The value, with `null` for each placeholder.
    pub(crate) value: Value,
    pub(crate) placeholders: Placeholders,
}

impl TemplateValue {
    /// Creates the template of `node`.
    pub(crate) fn of(node: &Node) -> Self {
        let (value, placeholders) = split(node);
        Self {
            value,
            placeholders,
        }
    }

    /// Returns true if the violation remains whatever replaces the placeholders.
    pub(crate) fn is_certain(&self, violation: &SchemaViolation) -> bool {
        let in_placeholder = self.placeholders.covers(&violation.path);
        let around_placeholder = violation.kind == SchemaViolationKind::Wrong
            && self.placeholders.touches(&violation.path);
        let decided_by = violation.decided_by.as_ref();
        let depends = decided_by.is_some_and(|decided| self.placeholders.touches(decided));
        !(in_placeholder || around_placeholder || depends)
    }
}

fn split(node: &Node) -> (Value, Placeholders) {
    let mut placeholders = Placeholders::none();
    let value = match &node.kind {
        NodeKind::Literal(value) => value.clone(),
        NodeKind::Reference(_) | NodeKind::Text(_) => return (Value::Null, Placeholders::Whole),
        NodeKind::List(items) => {
            let mut values = Vec::with_capacity(items.len());
            for (index, item) in items.iter().enumerate() {
                let (value, inside) = split(item);
                placeholders.add(PointerSegment::Index(index), inside);
                values.push(value);
            }
            values.into()
        }
        NodeKind::Object(fields) => {
            let mut values = Object::with_capacity_and_hasher(fields.len(), Hashing::default());
            for field in fields {
                let (value, inside) = split(&field.value);
                placeholders.add(PointerSegment::Key(field.key.clone()), inside);
                values.insert(field.key.clone(), value);
            }
            values.into()
        }
    };
    (value, placeholders)
}
