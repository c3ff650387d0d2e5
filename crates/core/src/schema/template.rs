//! The parts of a value that nothing is known of, found by their paths.

use std::collections::HashMap;

use super::{FaultKind, SchemaFault};
use crate::plan::{Node, NodeKind};
use crate::{Hashing, Object, PointerSegment, Value};

/// Where in a value something is that nobody knows yet. What is below one part is found without a look at the others.
#[derive(Debug)]
pub(crate) enum Holes {
    /// All of it is one hole.
    Whole,
    /// These parts have holes, and nothing else has. Each is a hole or has some below it.
    Parts(HashMap<PointerSegment, Holes, Hashing>),
}

impl Holes {
    /// No holes.
    pub(crate) fn none() -> Self {
        Self::Parts(HashMap::default())
    }

    /// Says that the part called `part` has `holes`.
    pub(crate) fn add(&mut self, part: PointerSegment, holes: Self) {
        if let Self::Parts(parts) = self
            && !holes.is_empty()
        {
            parts.insert(part, holes);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        matches!(self, Self::Parts(parts) if parts.is_empty())
    }

    /// The holes below one part; nothing where it has none.
    pub(super) fn below(&self, part: &PointerSegment) -> Option<&Self> {
        match self {
            Self::Whole => None,
            Self::Parts(parts) => parts.get(part),
        }
    }

    /// Whether what stands at `path` is in a hole.
    pub(crate) fn cover(&self, path: &[PointerSegment]) -> bool {
        let mut at = self;
        for segment in path {
            match at.below(segment) {
                Some(below) => at = below,
                None => break,
            }
        }
        matches!(at, Self::Whole)
    }

    /// Whether what stands at `path` is a hole, or has one below it.
    pub(crate) fn touch(&self, path: &[PointerSegment]) -> bool {
        let below = path.iter().try_fold(self, |at, segment| at.below(segment));
        below.is_some_and(|below| !below.is_empty())
    }
}

/// A value with holes in it.
pub(crate) struct Frame {
    /// The value; `null` in each hole.
    pub(crate) value: Value,
    pub(crate) holes: Holes,
}

impl Frame {
    /// What is known of `node`.
    pub(crate) fn of(node: &Node) -> Self {
        let (value, holes) = known(node);
        Self { value, holes }
    }

    /// Whether the fault is there whatever comes into the holes.
    pub(crate) fn is_certain(&self, fault: &SchemaFault) -> bool {
        let in_hole = self.holes.cover(&fault.path);
        let around_hole = fault.kind == FaultKind::Wrong && self.holes.touch(&fault.path);
        let decided_by = fault.decided_by.as_ref();
        let depends = decided_by.is_some_and(|decided| self.holes.touch(decided));
        !(in_hole || around_hole || depends)
    }
}

fn known(node: &Node) -> (Value, Holes) {
    let mut holes = Holes::none();
    let value = match &node.kind {
        NodeKind::Literal(value) => value.clone(),
        NodeKind::Reference(_) | NodeKind::Text(_) => return (Value::Null, Holes::Whole),
        NodeKind::List(items) => {
            let mut values = Vec::with_capacity(items.len());
            for (index, item) in items.iter().enumerate() {
                let (value, inside) = known(item);
                holes.add(PointerSegment::Index(index), inside);
                values.push(value);
            }
            values.into()
        }
        NodeKind::Object(fields) => {
            let mut values = Object::with_capacity_and_hasher(fields.len(), Hashing::default());
            for field in fields {
                let (value, inside) = known(&field.value);
                holes.add(PointerSegment::Key(field.key.clone()), inside);
                values.insert(field.key.clone(), value);
            }
            values.into()
        }
    };
    (value, holes)
}
