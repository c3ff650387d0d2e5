//! The parts of a value that nothing is known of, found by their paths.

use std::collections::HashMap;

use super::{FaultKind, SchemaFault};
use crate::plan::{Node, NodeKind};
use crate::{Hashing, Object, PointerSegment, Value};

/// Where in a value something is that nobody knows yet. What is below one part is found without a look at the others.
#[derive(Debug)]
pub(crate) enum Placeholders {
    /// All of it is one hole.
    Whole,
    /// These parts have holes, and nothing else has. Each is a hole or has some below it.
    Parts(HashMap<PointerSegment, Placeholders, Hashing>),
}

impl Placeholders {
    /// No holes.
    pub(crate) fn none() -> Self {
        Self::Parts(HashMap::default())
    }

    /// Says that the part called `part` has `placeholders`.
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

    /// The holes below one part; nothing where it has none.
    pub(super) fn child(&self, part: &PointerSegment) -> Option<&Self> {
        match self {
            Self::Whole => None,
            Self::Parts(parts) => parts.get(part),
        }
    }

    /// Whether what stands at `path` is in a hole.
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

    /// Whether what stands at `path` is a hole, or has one below it.
    pub(crate) fn touches(&self, path: &[PointerSegment]) -> bool {
        let child = path.iter().try_fold(self, |at, segment| at.child(segment));
        child.is_some_and(|child| !child.is_empty())
    }
}

/// A value with holes in it.
pub(crate) struct TemplateValue {
    /// The value; `null` in each hole.
    pub(crate) value: Value,
    pub(crate) placeholders: Placeholders,
}

impl TemplateValue {
    /// What is known of `node`.
    pub(crate) fn of(node: &Node) -> Self {
        let (value, placeholders) = split(node);
        Self {
            value,
            placeholders,
        }
    }

    /// Whether the fault is there whatever comes into the holes.
    pub(crate) fn is_certain(&self, fault: &SchemaFault) -> bool {
        let in_placeholder = self.placeholders.covers(&fault.path);
        let around_placeholder =
            fault.kind == FaultKind::Wrong && self.placeholders.touches(&fault.path);
        let decided_by = fault.decided_by.as_ref();
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
