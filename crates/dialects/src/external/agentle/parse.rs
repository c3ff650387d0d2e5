//! Lowers an agentle plan: all ids first, then the arguments, because an id may hold characters of a path.

use std::borrow::Cow;
use std::sync::Arc;

use planwright_core::plan::{
    Action, Missing, Name, Node, NodeKind, Output, Path, Read, Reference, Segment,
    Source as ReadSource, Step,
};
use planwright_core::{Code, Diagnostic, Diagnostics, Place, Plan, Source, Sources, StepId, Value};

use crate::document::{
    DiagnosticSink, Document, Fields, Item, ItemKind, Limits, article, quote, read_inside,
};
use crate::lowering::path::KnownNames;
use crate::lowering::path::{PathSegment, parse_path};
use crate::lowering::{LowerResult, ReferenceSyntax, lower, text_or_number, tool_action};

/// Reads a plan.
pub(super) fn parse(document: Document) -> (Option<Plan>, Diagnostics) {
    let mut sink = DiagnosticSink::new();
    let mut source = document.source;
    let limits = document.limits;
    let plan = plan(&document.root, &mut source, &limits, &mut sink);
    let diagnostics = sink.finish(&source);
    let sources = Sources::one(source);
    (plan.map(|plan| Plan { sources, ..plan }), diagnostics)
}

fn plan(
    root: &Item,
    source: &mut Source,
    limits: &Limits,
    sink: &mut DiagnosticSink,
) -> Option<Plan> {
    let mut fields = Fields::of(root, "the plan", sink)?;
    let items = fields.required_list("steps", sink);
    let selected = fields.list("output_steps", sink).unwrap_or_default();
    fields.finish(sink);
    let selected: Vec<Name> = selected
        .iter()
        .filter_map(|item| text_or_number(item, "output_steps", sink))
        .collect();
    let items = items?;
    let drafts: Vec<StepDraft<'_>> = items
        .iter()
        .filter_map(|item| StepDraft::read(item, sink))
        .collect();
    // If no step could be read, an empty plan would hide that.
    if drafts.is_empty() && !items.is_empty() {
        return None;
    }
    let ids: KnownNames<'_> = drafts.iter().map(|draft| &*draft.id).collect();
    let steps = drafts
        .iter()
        .map(|draft| {
            let args = match draft.arguments {
                Some(item) => arguments(item, &ids, (source, limits), sink),
                None => Node::literal(Value::empty_object(), draft.place),
            };
            let id = StepId::new(Arc::clone(&draft.id));
            let mut step = Step::new(id, draft.action.clone(), args);
            step.place = draft.place;
            step
        })
        .collect();
    Some(Plan {
        steps,
        output: if selected.is_empty() {
            Output::All
        } else {
            Output::Steps(selected)
        },
        place: root.place,
        ..Plan::default()
    })
}

/// A step whose arguments are not lowered yet.
struct StepDraft<'a> {
    id: Arc<str>,
    action: Action,
    arguments: Option<&'a Item>,
    place: Place,
}

impl<'a> StepDraft<'a> {
    fn read(item: &'a Item, sink: &mut DiagnosticSink) -> Option<Self> {
        let mut fields = Fields::of(item, "the step", sink)?;
        let id = fields
            .required("id", sink)
            .and_then(|id| text_or_number(id, "id", sink));
        let action = tool_action(&mut fields, sink);
        let arguments = fields.optional("arguments");
        fields.finish(sink);
        Some(Self {
            id: id?.text,
            action,
            arguments,
            place: item.place,
        })
    }
}

/// Lowers the arguments in `item`: an object, or a text that holds the JSON of one.
fn arguments(
    item: &Item,
    ids: &KnownNames<'_>,
    (source, limits): (&mut Source, &Limits),
    sink: &mut DiagnosticSink,
) -> Node {
    let inner;
    let object = match &item.kind {
        ItemKind::Text(_) => {
            let (read, diagnostics) = read_inside(source, item, limits);
            sink.extend(diagnostics);
            inner = read;
            inner.as_ref()
        }
        _ => Some(item),
    };
    match object {
        Some(object) if object.as_object().is_some() => {
            lower(object, &mut AgentleTexts { ids, sink })
        }
        Some(other) => {
            let found = article(other.kind_word());
            let message = format!("expected an object in `arguments`, found {found}");
            sink.push(item.place, Diagnostic::error(Code::WrongFieldType, message));
            Node::literal(Value::empty_object(), item.place)
        }
        None => Node::literal(Value::empty_object(), item.place),
    }
}

/// The reference syntax, for the texts of one step.
struct AgentleTexts<'a> {
    ids: &'a KnownNames<'a>,
    sink: &'a mut DiagnosticSink,
}

impl ReferenceSyntax for AgentleTexts<'_> {
    fn text(&mut self, text: &Arc<str>, place: Place) -> NodeKind {
        match read(text, self.ids, place) {
            Ok(TextMeaning::Reference(reference)) => NodeKind::Reference(reference),
            Ok(TextMeaning::Literal(literal)) if *literal == **text => {
                NodeKind::Literal(Arc::clone(text).into())
            }
            Ok(TextMeaning::Literal(literal)) => NodeKind::Literal(literal.into_owned().into()),
            Err(diagnostic) => {
                self.sink.push(place, *diagnostic);
                NodeKind::Literal(Arc::clone(text).into())
            }
        }
    }
}

pub(super) const MARK: &str = "$ref:";

const ESCAPE: &str = "write `$$ref:` for a literal `$ref:`";

pub(super) type Ids<'a> = KnownNames<'a>;

/// Splits `target` into id and path: the id is the longest known one that ends where a path may begin, else the text
/// before the first `.` or `[`.
fn split_id<'t>(target: &'t str, ids: &Ids<'_>) -> (&'t str, &'t str) {
    let end = || target.find(['.', '[']).unwrap_or(target.len());
    target.split_at(ids.longest_prefix(target).unwrap_or_else(end))
}

/// The meaning of a text.
#[derive(Debug)]
pub(super) enum TextMeaning<'a> {
    /// Literal text, escapes resolved.
    Literal(Cow<'a, str>),
    /// A reference.
    Reference(Reference),
}

/// Reads a text as a reference or a literal.
pub(super) fn read<'t>(text: &'t str, ids: &Ids<'_>, place: Place) -> LowerResult<TextMeaning<'t>> {
    if let Some(target) = text.strip_prefix(MARK) {
        return read_target(text, target, ids, place).map(TextMeaning::Reference);
    }
    match unescape(text) {
        Some(literal) => Ok(TextMeaning::Literal(literal)),
        None => Err(Box::new(inside_of_text(text))),
    }
}

fn read_target(text: &str, target: &str, ids: &Ids<'_>, place: Place) -> LowerResult<Reference> {
    let malformed = |what: &str| {
        let message = format!("{} is not a reference: {what}", quote(text));
        let help = format!("write `$ref:id.field`; {ESCAPE}");
        Box::new(Diagnostic::error(Code::MalformedReference, message).help(help))
    };
    let (id, path_text) = split_id(target, ids);
    if id.trim().is_empty() {
        return Err(malformed("the step's id is missing"));
    }
    // An unknown id with more text is probably a reference inside of a text, for which there is better advice.
    if !ids.contains(id) && (target.contains(MARK) || begins_with_reference(target, ids)) {
        return Err(Box::new(inside_of_text(text)));
    }
    let segments = parse_path(path_text).map_err(|what| malformed(&what))?;
    let path: Option<Path> = segments
        .into_iter()
        .map(|one| match one {
            PathSegment::Name(name) => Some(Segment::key(name)),
            // As in `.0`, the value decides if the number is an index or a key.
            PathSegment::Index(index) => Some(Segment::key(index.to_string())),
            PathSegment::Star => Some(Segment::key("*")),
            PathSegment::Each => None,
        })
        .collect();
    let path = path.ok_or_else(|| malformed("this dialect has no `[*]`"))?;
    let read = Read::part(ReadSource::Step(StepId::new(id)), path).or_missing(Missing::Null);
    Ok(Reference::read(read, text, place))
}

/// Returns true if an unknown id is a known one with more text after it.
fn begins_with_reference(target: &str, ids: &Ids<'_>) -> bool {
    let end = |c: char| c.is_whitespace() || matches!(c, ',' | ';' | ')' | '"' | '/' | ':');
    match target.find(end) {
        Some(at) => ids.contains(split_id(&target[..at], ids).0),
        None => false,
    }
}

fn inside_of_text(text: &str) -> Diagnostic {
    let message = format!("the text {} has a `$ref:` inside of it", quote(text));
    let help = format!("a reference must be the whole text; {ESCAPE}");
    Diagnostic::error(Code::MalformedReference, message).help(help)
}

/// The text with `$$ref:` replaced by `$ref:`; `None` if it has an unescaped mark.
fn unescape(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains(MARK) {
        return Some(text.into());
    }
    let mut literal = String::with_capacity(text.len());
    let mut start = 0;
    for (at, _) in text.match_indices(MARK) {
        if !text[start..at].ends_with('$') {
            return None;
        }
        literal.push_str(&text[start..at - 1]);
        start = at;
    }
    literal.push_str(&text[start..]);
    Some(literal.into())
}
