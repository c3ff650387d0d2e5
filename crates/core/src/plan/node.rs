//! Argument values that may contain references.

use std::sync::Arc;

use super::Reference;
use crate::{Place, Value};

/// A value that may contain references.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Node {
    /// The content of the node.
    pub kind: NodeKind,
    /// The source place of the node.
    pub place: Place,
}

/// The content of a [`Node`]. A part without any reference is a single [`NodeKind::Literal`].
#[derive(Clone, Debug, PartialEq)]
pub enum NodeKind {
    /// A constant value.
    Literal(Value),
    /// A reference whose value replaces the node and keeps its type.
    Reference(Reference),
    /// A text with references inside.
    Text(Vec<TextPart>),
    /// A list with at least one reference inside.
    List(Vec<Node>),
    /// An object with at least one reference inside. Keys are never references.
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
    /// Constant text.
    Literal(Arc<str>),
    /// A reference. Text is inserted as it is, any other value as compact JSON.
    Reference(Reference),
}

/// A field of an object node.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// The key, verbatim.
    pub key: Arc<str>,
    /// The value.
    pub value: Node,
}

impl Node {
    /// Returns the text that a text node or a literal text is written as, with `inserted` in place of each reference; `None` for other nodes.
    pub(crate) fn text_with<'a>(
        &'a self,
        inserted: impl Fn(&'a Reference) -> &'a str,
    ) -> Option<String> {
        let parts = match &self.kind {
            NodeKind::Literal(Value::Text(text)) => return Some(text.to_string()),
            NodeKind::Text(parts) => parts.iter(),
            NodeKind::Literal(_)
            | NodeKind::Reference(_)
            | NodeKind::List(_)
            | NodeKind::Object(_) => return None,
        };
        let parts = parts.map(|part| match part {
            TextPart::Literal(text) => &**text,
            TextPart::Reference(reference) => inserted(reference),
        });
        Some(parts.collect())
    }

    /// Creates a literal at `place`.
    pub fn literal(value: Value, place: Place) -> Self {
        Self {
            kind: NodeKind::Literal(value),
            place,
        }
    }

    /// Creates a node that is one reference, at the place of the reference.
    pub fn reference(reference: Reference) -> Self {
        Self {
            place: reference.place,
            kind: NodeKind::Reference(reference),
        }
    }

    /// Creates a list of `items`, or one literal if no item contains a reference.
    pub fn list(items: Vec<Node>, place: Place) -> Self {
        let literals = items.iter().map(Node::as_literal);
        Self {
            kind: if literals.clone().all(|value| value.is_some()) {
                let values: Vec<Value> = literals.flatten().cloned().collect();
                NodeKind::Literal(values.into())
            } else {
                NodeKind::List(items)
            },
            place,
        }
    }

    /// Creates an object with `fields`, or one literal if no field contains a reference.
    pub fn object(fields: Vec<Field>, place: Place) -> Self {
        let literals = fields
            .iter()
            .map(|field| Some((&field.key, field.value.as_literal()?)));
        Self {
            kind: if literals.clone().all(|field| field.is_some()) {
                let values = literals.flatten();
                let values = values.map(|(key, value)| (Arc::clone(key), value.clone()));
                NodeKind::Literal(values.collect::<crate::Object>().into())
            } else {
                NodeKind::Object(fields)
            },
            place,
        }
    }

    /// Returns the value if the node is a literal.
    pub fn as_literal(&self) -> Option<&Value> {
        match &self.kind {
            NodeKind::Literal(value) => Some(value),
            NodeKind::Reference(_)
            | NodeKind::Text(_)
            | NodeKind::List(_)
            | NodeKind::Object(_) => None,
        }
    }

    /// Calls `visit` with every reference in this node, mutably.
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

    /// Calls `visit` with every reference in this node, in source order.
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
