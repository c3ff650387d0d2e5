//! The receiver of arguments, and the names of its parts in messages.

use std::sync::Arc;

use crate::check::reporter::Reporter;
use crate::diagnostic::MAX_TEXT_BYTES;
use crate::place::start_of;
use crate::plan::{Alternative, Field, Form, Node, NodeKind, Reference, SlotKind, Source};
use crate::schema::{Compatibility, Type};
use crate::{Diagnostic, PointerSegment, Schema, Value};

/// Maximum number of fitting fields that a message names.
const MAX_FITTING: usize = 6;

/// The tool or plan that receives arguments.
pub(super) struct ArgumentReceiver<'a> {
    pub(super) schema: &'a Schema,
    /// The name in messages: ``the tool `x` `` or ``the plan of `y` ``.
    pub(super) name: String,
    /// The checked argument; `None` for all of them.
    pub(super) argument: Option<Arc<str>>,
}

impl ArgumentReceiver<'_> {
    /// Returns the type of the part at `path`.
    pub(super) fn shape(&self, path: &[PointerSegment]) -> Type {
        let whole = self.schema.structure().clone();
        path.iter().fold(whole, |shape, segment| match segment {
            PointerSegment::Root => shape,
            PointerSegment::Key(key) => shape.property(key).unwrap_or(Type::Any),
            PointerSegment::Index(index) => shape.item(*index),
        })
    }

    /// Formats the argument at `path` for messages.
    pub(super) fn named(&self, path: &[PointerSegment]) -> String {
        let argument = self.argument.as_deref().unwrap_or_default();
        let mut name = start_of(argument, MAX_TEXT_BYTES).to_owned();
        for segment in path {
            // Messages are truncated at this length, and a long key may occur in very many of them.
            if name.len() > MAX_TEXT_BYTES {
                break;
            }
            match segment {
                PointerSegment::Root => {}
                PointerSegment::Key(key) => {
                    if !name.is_empty() {
                        name.push('.');
                    }
                    name.push_str(start_of(key, MAX_TEXT_BYTES));
                }
                PointerSegment::Index(index) => name.extend(["[", &index.to_string(), "]"]),
            }
        }
        if name.is_empty() {
            "object".to_owned()
        } else {
            format!("`{name}`")
        }
    }
}

/// Returns true if the value may arrive as text although its schema says otherwise: a server may send a whole list or
/// object as JSON text.
pub(super) fn may_be_text(reference: &Reference, given: &Type) -> bool {
    let composite = given.members().iter().any(|member| {
        matches!(
            member,
            Type::List(_) | Type::Object(_) | Type::Literal(Value::List(_) | Value::Object(_))
        )
    });
    let Form::First(alternatives) = &reference.form else {
        return composite;
    };
    composite
        && alternatives.iter().any(|alternative| match alternative {
            Alternative::Read(read) => match &read.source {
                // A path was followed into the value, so it was parsed already.
                Source::Step(_) => read.path.is_empty(),
                Source::Slot(kind) => *kind != SlotKind::Inputs,
                _ => false,
            },
            Alternative::Literal(_) | Alternative::Expression(_) => false,
        })
}

/// Adds the expected type as a hint, if known.
pub(super) fn with_shape(diagnostic: Diagnostic, shape: Option<Type>) -> Diagnostic {
    match shape {
        Some(shape) if shape != Type::Any => diagnostic.help(format!("it takes {shape}")),
        _ => diagnostic,
    }
}

/// Names the fields of the given value that would fit in place of the whole.
pub(super) fn fitting_fields(wanted: &Type, given: &Type) -> Option<String> {
    let fields: Vec<Arc<str>> = properties(given)
        .into_iter()
        .filter(|name| {
            let shape = given.property(name);
            shape.is_some_and(|shape| {
                // A field of unknown type would be a guess.
                shape != Type::Any && wanted.accepts(&shape) == Compatibility::Yes
            })
        })
        .take(MAX_FITTING)
        .collect();
    match fields.as_slice() {
        [] => None,
        [one] => Some(format!("its field `{one}` fits")),
        _ => Some(format!("its fields `{}` fit", fields.join("`, `"))),
    }
}

/// Returns the fields that a type describes by name.
pub(super) fn properties(shape: &Type) -> Vec<Arc<str>> {
    shape
        .members()
        .iter()
        .filter_map(|member| match member {
            Type::Object(object) => Some(object.properties.keys().cloned()),
            _ => None,
        })
        .flatten()
        .collect()
}

/// Returns the named arguments, or `None` if they are not known.
pub(super) fn named_arguments(args: &Node, reporter: &Reporter<'_>) -> Option<Vec<Field>> {
    match &args.kind {
        NodeKind::Object(fields) => Some(fields.clone()),
        NodeKind::Literal(Value::Null) => Some(Vec::new()),
        NodeKind::Literal(Value::Object(fields)) => Some(
            fields
                .iter()
                .map(|(key, value)| {
                    let inside = [PointerSegment::Key(Arc::clone(key))];
                    let place = reporter.descend(args.place, &inside);
                    Field {
                        key: Arc::clone(key),
                        value: Node::literal(value.clone(), place),
                    }
                })
                .collect(),
        ),
        _ => None,
    }
}
