//! `"$ref:id.path"`: reading and writing it.

use std::borrow::Cow;

use planwright_core::plan::{Missing, Path, Read, Reference, Segment, Source};
use planwright_core::{Code, Diagnostic, Place, StepId, Value};

use crate::document::quote;
use crate::known::KnownNames;
use crate::lowering::Found;
use crate::path::{Move, moves};
use crate::printing::{Unsaid, WriteReferences};

const MARK: &str = "$ref:";

const ESCAPE: &str = "write `$$ref:` for a literal `$ref:`";

/// The ids of a plan's steps, by which a reference's id is told from its path.
pub(super) type Ids<'a> = KnownNames<'a>;

/// Cuts `target` into id and path: the longest known id that ends where a path may begin, else whatever stands before the first
/// `.` or `[`.
fn cut<'t>(target: &'t str, ids: &Ids<'_>) -> (&'t str, &'t str) {
    let end = || target.find(['.', '[']).unwrap_or(target.len());
    target.split_at(ids.longest(target).unwrap_or_else(end))
}

/// What a text says.
#[derive(Debug)]
pub(super) enum Said<'a> {
    /// Itself, with escapes resolved.
    Literal(Cow<'a, str>),
    /// What a reference gives.
    Reference(Reference),
}

/// Reads a text.
pub(super) fn read<'t>(text: &'t str, ids: &Ids<'_>, place: Place) -> Found<Said<'t>> {
    if let Some(target) = text.strip_prefix(MARK) {
        return read_target(text, target, ids, place).map(Said::Reference);
    }
    match unescape(text) {
        Some(literal) => Ok(Said::Literal(literal)),
        None => Err(Box::new(inside_of_text(text))),
    }
}

fn read_target(text: &str, target: &str, ids: &Ids<'_>, place: Place) -> Found<Reference> {
    let malformed = |what: &str| {
        let message = format!("{} is not a reference: {what}", quote(text));
        let help = format!("write `$ref:id.field`; {ESCAPE}");
        Box::new(Diagnostic::error(Code::MalformedReference, message).help(help))
    };
    let (id, way) = cut(target, ids);
    if id.trim().is_empty() {
        return Err(malformed("the step's id is missing"));
    }
    if !ids.contains(id) && (target.contains(MARK) || begins_with_reference(target, ids)) {
        return Err(Box::new(inside_of_text(text)));
    }
    let moves = moves(way).map_err(|what| malformed(&what))?;
    let path: Option<Path> = moves
        .into_iter()
        .map(|one| match one {
            Move::Name(name) => Some(Segment::key(name)),
            // As in `.0`: what the number means is up to the value that it meets.
            Move::Index(index) => Some(Segment::key(index.to_string())),
            Move::Star => Some(Segment::key("*")),
            Move::Each => None,
        })
        .collect();
    let path = path.ok_or_else(|| malformed("this dialect has no `[*]`"))?;
    let read = Read::part(Source::Step(StepId::new(id)), path).or_missing(Missing::Null);
    Ok(Reference::read(read, text, place))
}

/// Whether an unknown id is a known one with more text behind it.
fn begins_with_reference(target: &str, ids: &Ids<'_>) -> bool {
    let end = |c: char| c.is_whitespace() || matches!(c, ',' | ';' | ')' | '"' | '/' | ':');
    match target.find(end) {
        Some(at) => ids.contains(cut(&target[..at], ids).0),
        None => false,
    }
}

fn inside_of_text(text: &str) -> Diagnostic {
    let message = format!("the text {} has a `$ref:` inside of it", quote(text));
    let help = format!("a reference must be the whole text; {ESCAPE}");
    Diagnostic::error(Code::MalformedReference, message).help(help)
}

/// The text with `$$ref:` turned into `$ref:`; nothing where an unescaped mark stands in it.
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

/// Writes references as agentle's own pattern reads them.
pub(super) struct Writer;

impl WriteReferences for Writer {
    fn whole(&self, reference: &Reference, unsaid: &mut Unsaid<'_>) -> Value {
        let refuse = |what: &str, unsaid: &mut Unsaid<'_>| {
            unsaid.error(reference.place, what);
            Value::Null
        };
        let Some(read) = reference.as_read() else {
            return refuse("alternatives or expressions in a reference", unsaid);
        };
        let Source::Step(step) = &read.source else {
            let what = format!("what {} refers to", quote(&reference.text));
            return refuse(&what, unsaid);
        };
        if !is_word(step.as_str()) {
            let what = format!("a reference to step {}", quote(step.as_str()));
            let way_out = "agentle reads ids of letters, digits and `_`: rename the step";
            unsaid.error_with(reference.place, &what, way_out);
            return Value::Null;
        }
        if read.missing != Missing::Null && !read.path.is_empty() {
            unsaid.warning(reference.place, "that a missing value fails the step");
        }
        let mut written = format!("{MARK}{step}");
        for segment in &read.path {
            match segment {
                Segment::Key(key) if is_word(key) => written.extend([".", key]),
                Segment::Key(key) => {
                    return refuse(&format!("the field {}", quote(key)), unsaid);
                }
                Segment::Index(index) if *index >= 0 => {
                    written.extend([".", &index.to_string()]);
                }
                Segment::Index(_) => return refuse("an item counted from the end", unsaid),
                Segment::Each => return refuse("a path that maps over a list", unsaid),
            }
        }
        written.into()
    }

    fn inside(&self, reference: &Reference, unsaid: &mut Unsaid<'_>) -> String {
        unsaid.error(reference.place, "a reference inside of a text");
        String::new()
    }

    fn report_text(&self, text: &str, _is_key: bool, place: Place, unsaid: &mut Unsaid<'_>) {
        if text.contains(MARK) {
            unsaid.error_with(place, "a literal `$ref:`", "agentle has no escape for it");
        }
    }

    fn text(&self, text: &str, _before_marker: bool) -> String {
        text.to_owned()
    }
}

/// Whether agentle reads `name` as one id or field: its pattern has letters, digits and `_` only.
fn is_word(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
