//! Writes values with references, and builds objects.

use std::sync::Arc;

use planwright_core::plan::{Node, NodeKind, Reference, TextPart};
use planwright_core::{Object, Place, Value};

use super::LossReport;

/// The way in which a dialect writes values with references.
pub(crate) trait WriteReferences {
    /// Writes a reference that is a whole value. Losses go to `losses`.
    fn write_whole(&self, reference: &Reference, losses: &mut LossReport<'_>) -> Value;

    /// Writes a reference inside of a text.
    fn write_inside(&self, reference: &Reference, losses: &mut LossReport<'_>) -> String;

    /// Inspects a text with references before it is written.
    fn inspect_text(&self, parts: &[TextPart], place: Place, losses: &mut LossReport<'_>) {
        let _ = (parts, place, losses);
    }

    /// Writes literal text; a marker follows it if `before_marker`.
    fn escape_text(&self, text: &str, before_marker: bool) -> String;

    /// Reports literal text, or a key, that the dialect would read as a reference and cannot escape.
    fn report_text(&self, text: &str, is_key: bool, place: Place, losses: &mut LossReport<'_>) {
        let _ = (text, is_key, place, losses);
    }
}

/// Writes `node` in the dialect.
pub(crate) fn write_node(
    node: &Node,
    writer: &dyn WriteReferences,
    losses: &mut LossReport<'_>,
) -> Value {
    match &node.kind {
        NodeKind::Literal(value) => {
            report_texts(value, node.place, writer, losses);
            write_literal(value, writer)
        }
        NodeKind::Reference(reference) => writer.write_whole(reference, losses),
        NodeKind::Text(parts) => {
            writer.inspect_text(parts, node.place, losses);
            for part in parts {
                if let TextPart::Literal(literal) = part {
                    writer.report_text(literal, false, node.place, losses);
                }
            }
            write_text(parts, writer, losses).into()
        }
        NodeKind::List(items) => {
            Value::list(items.iter().map(|item| write_node(item, writer, losses)))
        }
        NodeKind::Object(fields) => Value::object(fields.iter().map(|field| {
            writer.report_text(&field.key, true, field.value.place, losses);
            let value = write_node(&field.value, writer, losses);
            (Arc::clone(&field.key), value)
        })),
    }
}

/// Reports the texts and keys in `value` that the dialect cannot write.
fn report_texts(
    value: &Value,
    place: Place,
    writer: &dyn WriteReferences,
    losses: &mut LossReport<'_>,
) {
    match value {
        Value::Text(text) => writer.report_text(text, false, place, losses),
        Value::List(items) => {
            for item in items.iter() {
                report_texts(item, place, writer, losses);
            }
        }
        Value::Object(fields) => {
            for (key, field) in fields.iter() {
                writer.report_text(key, true, place, losses);
                report_texts(field, place, writer, losses);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Reports references inside of lists and objects, for systems that resolve only whole arguments.
pub(crate) fn report_nested(args: &Node, losses: &mut LossReport<'_>) {
    let NodeKind::Object(fields) = &args.kind else {
        return;
    };
    for field in fields {
        if matches!(field.value.kind, NodeKind::List(_) | NodeKind::Object(_)) {
            field.value.each_reference(&mut |reference| {
                let what = "a reference inside of a list or an object";
                losses.error_with_help(
                    reference.place,
                    what,
                    "let the whole argument be the reference",
                );
            });
        }
    }
}

fn write_text(
    parts: &[TextPart],
    writer: &dyn WriteReferences,
    losses: &mut LossReport<'_>,
) -> String {
    let mut text = String::new();
    let mut parts = parts.iter().peekable();
    while let Some(part) = parts.next() {
        match part {
            TextPart::Literal(literal) => {
                let before_marker = matches!(parts.peek(), Some(TextPart::Reference(_)));
                text.push_str(&writer.escape_text(literal, before_marker));
            }
            TextPart::Reference(reference) => {
                text.push_str(&writer.write_inside(reference, losses));
            }
        }
    }
    text
}

fn write_literal(value: &Value, writer: &dyn WriteReferences) -> Value {
    match value {
        Value::Text(text) => {
            let written = writer.escape_text(text, false);
            // Text without escapes is shared with the plan instead of copied.
            if *written == **text {
                Value::Text(Arc::clone(text))
            } else {
                written.into()
            }
        }
        Value::List(items) => Value::list(items.iter().map(|item| write_literal(item, writer))),
        Value::Object(fields) => Value::object(
            fields
                .iter()
                .map(|(key, value)| (Arc::clone(key), write_literal(value, writer))),
        ),
        other => other.clone(),
    }
}

/// A builder of an object, field by field.
#[derive(Debug, Default)]
pub(crate) struct ObjectBuilder(Object);

impl ObjectBuilder {
    pub(crate) fn field(&mut self, key: &str, value: impl Into<Value>) -> &mut Self {
        self.0.insert(key.into(), value.into());
        self
    }

    /// Adds the field `key` if there is a value.
    pub(crate) fn optional(&mut self, key: &str, value: Option<impl Into<Value>>) -> &mut Self {
        if let Some(value) = value {
            self.field(key, value);
        }
        self
    }

    pub(crate) fn build(self) -> Value {
        self.0.into()
    }
}
