//! Arguments as far as they are known, with holes where references stand.

use crate::Hashing;
use crate::plan::{Node, NodeKind};
use crate::schema::{FaultKind, Holes, SchemaFault};
use crate::{PointerSegment, Value};

/// A value with holes in it.
pub(super) struct Frame {
    /// The value; `null` in each hole.
    pub(super) value: Value,
    pub(super) holes: Holes,
}

impl Frame {
    /// What is known of `node`.
    pub(super) fn of(node: &Node) -> Self {
        let (value, holes) = known(node);
        Self { value, holes }
    }

    /// Whether the fault is there whatever comes into the holes.
    pub(super) fn is_certain(&self, fault: &SchemaFault) -> bool {
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
            let mut values =
                crate::Object::with_capacity_and_hasher(fields.len(), Hashing::default());
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
