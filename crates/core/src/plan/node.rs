//! Argument values that are not all known yet: literals with references between them.

use std::sync::Arc;

use super::Reference;
use crate::{Place, Value};

/// A value that may contain references.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Node {
    /// What stands there.
    pub kind: NodeKind,
    /// Where it was written.
    pub place: Place,
}

/// What a [`Node`] is. A part without any reference in it is one [`NodeKind::Literal`].
#[derive(Clone, Debug, PartialEq)]
pub enum NodeKind {
    /// A value that is known already.
    Literal(Value),
    /// A whole value that is taken from elsewhere and keeps its type.
    Reference(Reference),
    /// Text with references inside.
    Text(Vec<TextPart>),
    /// A list in which something refers elsewhere.
    List(Vec<Node>),
    /// An object in which something refers elsewhere. Keys are never references.
    Object(Vec<Field>),
}

impl Default for NodeKind {
    fn default() -> Self {
        Self::Literal(Value::Null)
    }
}

/// A piece of a text with references inside.
#[derive(Clone, Debug, PartialEq)]
pub enum TextPart {
    /// Text that stands as it is.
    Literal(Arc<str>),
    /// A reference, whose value is inserted: a text as it is, anything else as compact JSON.
    Reference(Reference),
}

/// One field of an object.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// The key, as it is.
    pub key: Arc<str>,
    /// The value.
    pub value: Node,
}

impl Node {
    /// A literal at `place`.
    pub fn literal(value: Value, place: Place) -> Self {
        Self {
            kind: NodeKind::Literal(value),
            place,
        }
    }

    /// A whole-value reference, placed where it was written.
    pub fn reference(reference: Reference) -> Self {
        Self {
            place: reference.place,
            kind: NodeKind::Reference(reference),
        }
    }

    /// A list of `items`; one literal where none of them refers elsewhere.
    pub fn list(items: Vec<Node>, place: Place) -> Self {
        let literals: Option<Vec<Value>> = items
            .iter()
            .map(|item| item.as_literal().cloned())
            .collect();
        Self {
            kind: literals.map_or(NodeKind::List(items), |values| {
                NodeKind::Literal(values.into())
            }),
            place,
        }
    }

    /// An object with `fields`; one literal where none of them refers elsewhere.
    pub fn object(fields: Vec<Field>, place: Place) -> Self {
        let literals: Option<crate::Object> = fields
            .iter()
            .map(|field| {
                let value = field.value.as_literal()?.clone();
                Some((Arc::clone(&field.key), value))
            })
            .collect();
        Self {
            kind: literals.map_or(NodeKind::Object(fields), |values| {
                NodeKind::Literal(values.into())
            }),
            place,
        }
    }

    /// The value, where it is known already.
    pub fn as_literal(&self) -> Option<&Value> {
        match &self.kind {
            NodeKind::Literal(value) => Some(value),
            _ => None,
        }
    }

    /// Calls `visit` with every reference in this node, to change it.
    pub(crate) fn each_reference_mut(&mut self, visit: &mut dyn FnMut(&mut Reference)) {
        match &mut self.kind {
            NodeKind::Literal(_) => {}
            NodeKind::Reference(reference) => visit(reference),
            NodeKind::Text(parts) => {
                for part in parts {
                    if let TextPart::Reference(reference) = part {
                        visit(reference);
                    }
                }
            }
            NodeKind::List(items) => {
                for item in items {
                    item.each_reference_mut(visit);
                }
            }
            NodeKind::Object(fields) => {
                for field in fields {
                    field.value.each_reference_mut(visit);
                }
            }
        }
    }

    /// Calls `visit` with every reference in this node, in the order in which they stand.
    pub fn each_reference<'a>(&'a self, visit: &mut dyn FnMut(&'a Reference)) {
        match &self.kind {
            NodeKind::Literal(_) => {}
            NodeKind::Reference(reference) => visit(reference),
            NodeKind::Text(parts) => {
                for part in parts {
                    if let TextPart::Reference(reference) = part {
                        visit(reference);
                    }
                }
            }
            NodeKind::List(items) => {
                for item in items {
                    item.each_reference(visit);
                }
            }
            NodeKind::Object(fields) => {
                for field in fields {
                    field.value.each_reference(visit);
                }
            }
        }
    }
}
