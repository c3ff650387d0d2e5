//! A value with references, as a person reads it.

use planwright_core::Value;
use planwright_core::expression::print_form;
use planwright_core::plan::{Node, NodeKind, Reference, TextPart};

/// `node` on one line, references as they were written.
pub(super) fn node_text(node: &Node) -> String {
    match &node.kind {
        NodeKind::Literal(value) => value.to_json(),
        NodeKind::Reference(reference) => reference_text(reference),
        NodeKind::Text(parts) => {
            let inside: String = parts.iter().map(part_text).collect();
            format!("\"{inside}\"")
        }
        NodeKind::List(items) => {
            let items: Vec<String> = items.iter().map(node_text).collect();
            format!("[{}]", items.join(", "))
        }
        NodeKind::Object(fields) => {
            let fields: Vec<String> = fields
                .iter()
                .map(|field| {
                    let key = Value::from(&*field.key).to_json();
                    format!("{key}: {}", node_text(&field.value))
                })
                .collect();
            format!("{{{}}}", fields.join(", "))
        }
    }
}

fn part_text(part: &TextPart) -> String {
    match part {
        TextPart::Literal(text) => text.to_string(),
        TextPart::Reference(reference) => reference_text(reference),
    }
}

fn reference_text(reference: &Reference) -> String {
    if reference.text.is_empty() {
        // A program built the plan, so it has no text.
        print_form(&reference.form).map_or_else(String::new, |inside| format!("${{{inside}}}"))
    } else {
        reference.text.to_string()
    }
}
