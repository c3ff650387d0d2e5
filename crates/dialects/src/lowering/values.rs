//! Conversion of values with places to nodes.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use planwright_core::expression::{PatternBudget, parse_form_within};
use planwright_core::plan::{Action, Field, Name, Node, NodeKind, Reference, Step, TextPart};
use planwright_core::{
    Code, Diagnostic, Diagnostics, Place, Plan, SourceText, Sources, StepId, Value,
};

use crate::document::edits::json;
use crate::document::template::{self, Piece};
use crate::document::{
    DiagnosticSink, Document, Fields, Item, ItemEntry, ItemKind, Offsets, ReadLimits, quote, read,
    read_inside,
};

/// The reference syntax of a dialect. All other values are the same in every dialect.
pub trait ReferenceSyntax {
    /// Returns the meaning of a text: a literal, or a value with references.
    fn text(&mut self, text: &Arc<str>, place: Place) -> NodeKind {
        let _ = place;
        NodeKind::Literal(Arc::clone(text).into())
    }

    /// Returns the node of an object that has a meaning of its own, such as a reference; `None` for an object that is just its fields.
    fn object(&mut self, item: &Item, entries: &[ItemEntry]) -> Option<Node> {
        let _ = (item, entries);
        None
    }

    /// Returns the key for which the dialect writes `key`, with escapes resolved.
    fn key(&mut self, key: &Arc<str>) -> Arc<str> {
        Arc::clone(key)
    }
}

/// Lowers `item` to a node.
pub fn lower(item: &Item, references: &mut dyn ReferenceSyntax) -> Node {
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

/// Lowers an object field by field, even if it looks like a reference.
pub(crate) fn lower_fields(
    place: Place,
    entries: &[ItemEntry],
    references: &mut dyn ReferenceSyntax,
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

/// A value, or the diagnostic that explains why there is none.
pub(crate) type LowerResult<T> = Result<T, Box<Diagnostic>>;

/// Lowers a text with markers `${…}`: `quotes` open and close quoted text inside of a marker, and `read` turns the
/// content of the braces into a reference.
pub(crate) fn lower_template(
    text: &Arc<str>,
    place: Place,
    quotes: &[u8],
    (source, sink): (&mut SourceText, &mut DiagnosticSink),
    read: &mut dyn FnMut(&str, Place) -> LowerResult<Reference>,
) -> NodeKind {
    // The usual case: one marker that is the whole text.
    if text.starts_with("${")
        && let Some(end) = template::end_of_marker(text, 2, quotes)
        && end + 1 == text.len()
    {
        return lower_whole(text, place, &text[2..end], sink, read);
    }
    if !text.contains("${") {
        return NodeKind::Literal(Arc::clone(text).into());
    }
    let fragments = template::split(text, quotes)
        .into_iter()
        .map(|piece| match piece {
            Piece::Literal(literal) => Fragment::Literal(literal),
            Piece::Marker(inside, range) => Fragment::Marker(inside, range),
            Piece::Unclosed(range) => Fragment::Problem(Box::new(unclosed()), range),
        })
        .collect();
    let whole = MarkedText {
        text,
        place,
        offsets: None,
    };
    lower_fragments(whole, fragments, (source, sink), read)
}

/// A piece of a text after its references were found.
pub(crate) enum Fragment<'a> {
    /// Literal text, escapes resolved.
    Literal(Cow<'a, str>),
    /// A reference: the text for `read`, and the bytes of the whole marker.
    Marker(&'a str, Range<usize>),
    /// A malformed reference: its diagnostic and its bytes.
    Problem(Box<Diagnostic>, Range<usize>),
}

/// A text that was split into fragments.
pub(crate) struct MarkedText<'a> {
    pub(crate) text: &'a Arc<str>,
    pub(crate) place: Place,
    /// The places of its bytes, unless they follow from JSON escapes.
    pub(crate) offsets: Option<Offsets>,
}

/// Lowers a text that was split into `fragments`: to itself, one whole reference, or text with references.
///
/// A text with a problem becomes a literal, so that the rest of the plan can still be checked.
pub(crate) fn lower_fragments(
    whole: MarkedText<'_>,
    fragments: Vec<Fragment<'_>>,
    (source, sink): (&mut SourceText, &mut DiagnosticSink),
    read: &mut dyn FnMut(&str, Place) -> LowerResult<Reference>,
) -> NodeKind {
    let MarkedText {
        text,
        place,
        mut offsets,
    } = whole;
    if let [Fragment::Marker(inside, range)] = fragments.as_slice()
        && range.len() == text.len()
    {
        return lower_whole(text, place, inside, sink, read);
    }
    let mut parts = Vec::with_capacity(fragments.len());
    let mut sound = true;
    for fragment in fragments {
        let (outcome, range) = match fragment {
            Fragment::Literal(literal) => {
                parts.push(TextPart::Literal(literal.into()));
                continue;
            }
            Fragment::Marker(inside, range) => (Ok(inside), range),
            Fragment::Problem(diagnostic, range) => (Err(diagnostic), range),
        };
        let offsets = offsets.get_or_insert_with(|| Offsets::of(source, place));
        let marker = offsets.place(source, place, range);
        match outcome.and_then(|inside| read(inside, marker)) {
            Ok(reference) => parts.push(TextPart::Reference(reference)),
            Err(diagnostic) => {
                sink.push(marker, *diagnostic);
                sound = false;
            }
        }
    }
    if !sound {
        return NodeKind::Literal(Arc::clone(text).into());
    }
    match parts.as_slice() {
        [] => NodeKind::Literal("".into()),
        // A text whose only markers were escapes is a plain text.
        [TextPart::Literal(literal)] => NodeKind::Literal(Arc::clone(literal).into()),
        _ => NodeKind::Text(parts),
    }
}

/// Lowers a text that is one marker with the content `inside`. It keeps the type of the value; a value inside of longer text
/// is inserted as text.
fn lower_whole(
    text: &Arc<str>,
    place: Place,
    inside: &str,
    sink: &mut DiagnosticSink,
    read: &mut dyn FnMut(&str, Place) -> LowerResult<Reference>,
) -> NodeKind {
    match read(inside, place) {
        Ok(reference) => NodeKind::Reference(reference),
        Err(diagnostic) => {
            sink.push(place, *diagnostic);
            NodeKind::Literal(Arc::clone(text).into())
        }
    }
}

fn unclosed() -> Diagnostic {
    Diagnostic::error(Code::MalformedReference, "`${` is never closed")
        .help("add `}`, or write `$${` for a literal `${`")
}

/// The reference syntax of dialects without references.
#[derive(Debug)]
pub(crate) struct NoReferences;

impl ReferenceSyntax for NoReferences {}

/// The object in `item`, or in the JSON text that `item` holds; blank text stands for an empty object. Diagnostics
/// call it `field`.
pub(crate) fn object_or_json_text(
    item: &Item,
    field: &str,
    (source, limits): (&mut SourceText, &ReadLimits),
    sink: &mut DiagnosticSink,
) -> Option<Item> {
    let object = match &item.kind {
        ItemKind::Text(text) if text.trim().is_empty() => Item {
            kind: ItemKind::Object(Vec::new()),
            place: item.place,
        },
        ItemKind::Text(text) => {
            let (read, diagnostics) = read_inside(source, item, limits);
            if diagnostics.has_errors()
                && let Some(diagnostic) = foreign_object(text, field, limits)
            {
                sink.push_with_safe_fix(item.place, diagnostic);
                return None;
            }
            sink.extend(diagnostics);
            read?
        }
        _ => item.clone(),
    };
    if object.as_object().is_none() {
        sink.push_wrong_type(&object, field, "an object");
        return None;
    }
    Some(object)
}

/// The error about `text` in `field`, if it is an object in the syntax of a program, as `{'a': 1}`.
fn foreign_object(text: &str, field: &str, limits: &ReadLimits) -> Option<Diagnostic> {
    const MAX_SHOWN: usize = 500;
    let (read, diagnostics) = read(text, field, 0, limits);
    let root = read?.root;
    if diagnostics.has_errors() || root.as_object().is_none() {
        return None;
    }
    let object = root.to_value().to_json();
    let message =
        format!("the text in `{field}` is an object in the syntax of a program, not JSON");
    let help = if object.len() > MAX_SHOWN || object.contains('`') {
        "write the object itself in place of the text".to_owned()
    } else {
        format!("write `{}`, or the object `{object}`", json(&object))
    };
    let diagnostic = Diagnostic::error(Code::NotJson, message).help(help);
    Some(diagnostic.fix(object))
}

/// Returns a node of any type for unreadable arguments, so that the check reports no errors that follow from them.
pub(crate) fn unreadable(place: Place) -> Node {
    const ANY_VALUE: &str = "dyn(null)";
    let form = parse_form_within(ANY_VALUE, &mut PatternBudget::none());
    let kind = form.map_or_else(
        |_| NodeKind::Literal(Value::empty_object()),
        |form| {
            NodeKind::Reference(Reference {
                text: format!("${{{ANY_VALUE}}}").into(),
                place,
                form,
            })
        },
    );
    Node { kind, place }
}

/// The action of a step: the call of the tool in `field`. Without a tool, which is reported, the step does nothing, so
/// that the rest of the plan can still be checked.
pub(crate) fn tool_action(
    fields: &mut Fields<'_>,
    field: &'static str,
    sink: &mut DiagnosticSink,
) -> Action {
    match fields.required_text(field, sink) {
        Some((text, place)) => Action::Tool(Name {
            text: Arc::clone(text),
            place,
        }),
        None => Action::Value(Node::default()),
    }
}

/// The id, index or name in `item`: text, or a whole number as text.
pub(crate) fn text_or_number(item: &Item, field: &str, sink: &mut DiagnosticSink) -> Option<Name> {
    let text = match &item.kind {
        ItemKind::Text(text) => Arc::clone(text),
        ItemKind::Number(number) if !number.is_f64() => number.to_string().into(),
        _ => {
            sink.push_wrong_type(item, field, "text or a whole number");
            return None;
        }
    };
    Some(Name {
        text,
        place: item.place,
    })
}

/// The source, limits and diagnostics while a document or a call is lowered.
pub(crate) struct LoweringContext<'a> {
    pub(crate) source: &'a mut SourceText,
    pub(crate) limits: &'a ReadLimits,
    pub(crate) sink: &'a mut DiagnosticSink,
}

/// Reads a plan: `read` lowers the root of the document.
pub(crate) fn parse_document(
    document: Document,
    read: impl FnOnce(&Item, LoweringContext<'_>) -> Option<Plan>,
) -> (Option<Plan>, Diagnostics) {
    let mut sink = DiagnosticSink::new();
    let mut source = document.source;
    let context = LoweringContext {
        source: &mut source,
        limits: &document.limits,
        sink: &mut sink,
    };
    let plan = read(&document.root, context);
    let diagnostics = sink.finish(&source);
    let sources = Sources::one(source);
    (plan.map(|plan| Plan { sources, ..plan }), diagnostics)
}

/// Reads a message of a model's API as a plan. `find` returns the items that may be calls, or `None` if the document
/// is not a message; `step` reads the call at a position.
pub(crate) fn parse_calls(
    document: Document,
    find: impl for<'a> FnOnce(&'a Item, &mut DiagnosticSink) -> Option<Vec<&'a Item>>,
    step: impl Fn(&Item, usize, LoweringContext<'_>) -> Option<Step>,
) -> (Option<Plan>, Diagnostics) {
    parse_document(document, |root, context| {
        let calls = find(root, context.sink)?;
        let read = |(position, item): (usize, &&Item)| {
            let context = LoweringContext {
                source: &mut *context.source,
                limits: context.limits,
                sink: &mut *context.sink,
            };
            step(item, position, context)
        };
        let steps: Vec<Step> = calls.iter().enumerate().filter_map(read).collect();
        // If none of the calls is readable, there is no plan: an empty one would be valid.
        (!steps.is_empty() || calls.is_empty()).then(|| Plan {
            steps,
            place: root.place,
            ..Plan::default()
        })
    })
}

/// The id of the call at `position` of a message; a call without one is named by its position.
pub(crate) fn call_id(
    id: Option<&Item>,
    position: usize,
    sink: &mut DiagnosticSink,
) -> Option<StepId> {
    match id {
        Some(id) => text_or_number(id, "id", sink).map(|id| StepId::new(id.text)),
        None => Some(StepId::new(format!("call_{}", position + 1))),
    }
}

/// Reports a message that a limit of the model has cut off: its `field` holds one of `reasons`.
pub(crate) fn report_cut_off(
    message: &Item,
    field: &str,
    reasons: &[&str],
    sink: &mut DiagnosticSink,
) {
    let Some(found) = message.get(field) else {
        return;
    };
    if let Some(reason) = found.as_text().filter(|text| reasons.contains(&&***text)) {
        let message = format!(
            "the message was cut off: its `{field}` is {}",
            quote(reason)
        );
        let diagnostic = Diagnostic::error(Code::InvalidFieldValue, message);
        let help = "calls may be missing: let the model write it again, with more room";
        sink.push(found.place, diagnostic.help(help));
    }
}
