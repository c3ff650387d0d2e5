//! From values with places to nodes: what is the same in every dialect.

use std::sync::Arc;

use planwright_core::plan::{Action, Field, Name, Node, NodeKind, Reference, TextPart};
use planwright_core::{Code, Diagnostic, Place, Source};

use crate::document::{Entry, Fields, Findings, Item, ItemKind, Offsets};
use crate::template::{self, Piece};

/// How a dialect writes references. Everything else about values is alike.
pub trait References {
    /// What a text means: itself, or something with references.
    fn text(&mut self, text: &Arc<str>, place: Place) -> NodeKind {
        let _ = place;
        NodeKind::Literal(Arc::clone(text).into())
    }

    /// What an object means, where it is more than its fields.
    fn object(&mut self, item: &Item, entries: &[Entry]) -> Option<Node> {
        let _ = (item, entries);
        None
    }

    /// The key that is written `key`.
    fn key(&mut self, key: &Arc<str>) -> Arc<str> {
        Arc::clone(key)
    }
}

/// The node that `item` means.
pub fn lower(item: &Item, references: &mut dyn References) -> Node {
    match &item.kind {
        ItemKind::Text(text) => Node {
            kind: references.text(text, item.place),
            place: item.place,
        },
        ItemKind::List(items) => {
            let items = items.iter().map(|item| lower(item, references)).collect();
            Node::list(items, item.place)
        }
        ItemKind::Object(entries) => {
            if let Some(node) = references.object(item, entries) {
                return node;
            }
            lower_fields(item.place, entries, references)
        }
        ItemKind::Null | ItemKind::Bool(_) | ItemKind::Number(_) => {
            Node::literal(item.to_value(), item.place)
        }
    }
}

/// The object with these fields, whatever they look like together.
pub(crate) fn lower_fields(
    place: Place,
    entries: &[Entry],
    references: &mut dyn References,
) -> Node {
    let fields = entries
        .iter()
        .map(|entry| Field {
            key: references.key(&entry.key),
            value: lower(&entry.item, references),
        })
        .collect();
    Node::object(fields, place)
}

/// A value, or why there is none.
pub(crate) type Found<T> = Result<T, Box<Diagnostic>>;

/// A text with `${…}` in it: `quotes` are the characters that open and close quoted text inside of a marker,
/// and `read` makes a reference of what stands in the braces, or says why not.
///
/// A text in which something is wrong stands as it is, so that further findings can be made about the rest.
pub(crate) fn lower_template(
    text: &Arc<str>,
    place: Place,
    quotes: &[u8],
    (source, findings): (&mut Source, &mut Findings),
    read: &mut dyn FnMut(&str, Place) -> Found<Reference>,
) -> NodeKind {
    let pieces = template::split(text, quotes);
    if let [Piece::Marker(inside, range)] = pieces.as_slice()
        && range.len() == text.len()
    {
        return match read(inside, place) {
            Ok(reference) => NodeKind::Reference(reference),
            Err(finding) => {
                findings.push(place, *finding);
                NodeKind::Literal(Arc::clone(text).into())
            }
        };
    }
    let mut offsets = None;
    let mut parts = Vec::with_capacity(pieces.len());
    let mut sound = true;
    for piece in pieces {
        let (inside, range) = match piece {
            Piece::Literal(literal) => {
                parts.push(TextPart::Literal(literal.into()));
                continue;
            }
            Piece::Marker(inside, range) => (Some(inside), range),
            Piece::Unclosed(range) => (None, range),
        };
        let offsets = offsets.get_or_insert_with(|| Offsets::of(source, place));
        let marker = offsets.place(source, place, range);
        let reference = match inside {
            Some(inside) => read(inside, marker),
            None => Err(Box::new(unclosed())),
        };
        match reference {
            Ok(reference) => parts.push(TextPart::Reference(reference)),
            Err(finding) => {
                findings.push(marker, *finding);
                sound = false;
            }
        }
    }
    if !sound {
        return NodeKind::Literal(Arc::clone(text).into());
    }
    match parts.as_slice() {
        [] => NodeKind::Literal("".into()),
        [TextPart::Literal(literal)] => NodeKind::Literal(Arc::clone(literal).into()),
        _ => NodeKind::Text(parts),
    }
}

fn unclosed() -> Diagnostic {
    Diagnostic::error(Code::MalformedReference, "`${` is never closed")
        .help("add `}`, or write `$${` for a literal `${`")
}

/// What the step with `fields` calls: the tool named in `tool`. Without a name (which is a finding) it calls
/// nothing, so that the rest of the plan can still be looked at.
pub(crate) fn tool_action(fields: &mut Fields<'_>, findings: &mut Findings) -> Action {
    match fields.required_text("tool", findings) {
        Some((text, place)) => Action::Tool(Name {
            text: Arc::clone(text),
            place,
        }),
        None => Action::Value(Node::default()),
    }
}

/// The id, index or name that `item` is: text, or a whole number, read as text.
pub(crate) fn text_or_number(item: &Item, field: &str, findings: &mut Findings) -> Option<Name> {
    let text = match &item.kind {
        ItemKind::Text(text) => Arc::clone(text),
        ItemKind::Number(number) if !number.is_f64() => number.to_string().into(),
        _ => {
            findings.wrong_type(item, field, "text or a whole number");
            return None;
        }
    };
    Some(Name {
        text,
        place: item.place,
    })
}
