//! Arguments as far as they are known, with holes where references stand.

use crate::Hashing;
use crate::plan::{Node, NodeKind};
use crate::schema::{FaultKind, SchemaFault};
use crate::{PointerSegment, Value};

/// A value with holes in it.
pub(super) struct Frame {
    /// The value; `null` in each hole.
    pub(super) value: Value,
    /// The paths of the holes.
    pub(super) holes: Vec<Vec<PointerSegment>>,
}

impl Frame {
    /// What is known of `node`.
    pub(super) fn of(node: &Node) -> Self {
        let mut holes = Vec::new();
        let value = known(node, &mut Vec::new(), &mut holes);
        Self { value, holes }
    }

    /// Whether the fault is there whatever comes into the holes.
    pub(super) fn is_certain(&self, fault: &SchemaFault) -> bool {
        self.holes.iter().all(|hole| {
            let in_hole = fault.path.starts_with(hole);
            let around_hole = fault.kind == FaultKind::Wrong && hole.starts_with(&fault.path);
            let depends = fault
                .decided_by
                .as_ref()
                .is_some_and(|decided| hole.starts_with(decided));
            !(in_hole || around_hole || depends)
        })
    }
}

fn known(
    node: &Node,
    path: &mut Vec<PointerSegment>,
    holes: &mut Vec<Vec<PointerSegment>>,
) -> Value {
    match &node.kind {
        NodeKind::Literal(value) => value.clone(),
        NodeKind::Reference(_) | NodeKind::Text(_) => {
            holes.push(path.clone());
            Value::Null
        }
        NodeKind::List(items) => {
            let mut values = Vec::with_capacity(items.len());
            for (index, item) in items.iter().enumerate() {
                path.push(PointerSegment::Index(index));
                values.push(known(item, path, holes));
                path.pop();
            }
            values.into()
        }
        NodeKind::Object(fields) => {
            let mut values =
                crate::Object::with_capacity_and_hasher(fields.len(), Hashing::default());
            for field in fields {
                path.push(PointerSegment::Key(field.key.clone()));
                values.insert(field.key.clone(), known(&field.value, path, holes));
                path.pop();
            }
            values.into()
        }
    }
}
