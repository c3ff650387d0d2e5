//! References `$label.path$`: their bounds and their meaning.

use planwright_core::plan::{Path, Read, Reference, Segment, Source};
use planwright_core::{Code, Diagnostic, Place, StepId};

use crate::document::quote;
use crate::lowering::path::KnownNames;
use crate::lowering::path::{PathSegment, parse_path};
use crate::lowering::{Fragment, LowerResult};

const FORM: &str = "write `$label.field$`, and `$$` for a literal `$` before a label";

/// The labels of a plan's calls.
pub(super) type Labels<'a> = KnownNames<'a>;

/// Splits `text` into literals and references to `labels`.
pub(super) fn fragments<'t>(text: &'t str, labels: &Labels<'_>) -> Vec<Fragment<'t>> {
    // A single `$` at the end would otherwise be a literal dollar.
    if let Some(label) = label_without_dollar(text, labels) {
        let message = format!(
            "{} is not a reference: the `$` before {} is missing",
            quote(text),
            quote(label)
        );
        return vec![Fragment::Fault(malformed(message), 0..text.len())];
    }
    let mut found = Vec::new();
    let mut literal = String::new();
    let mut at = 0;
    while let Some(dollar) = text[at..].find('$').map(|found| at + found) {
        literal.push_str(&text[at..dollar]);
        let run = text[dollar..].len() - text[dollar..].trim_start_matches('$').len();
        let start = dollar + run;
        let marker = LabelMarker::at(&text[start..], labels);
        at = start;
        let Some(marker) = marker else {
            literal.push_str(&text[dollar..start]);
            continue;
        };
        literal.extend(std::iter::repeat_n('$', run / 2));
        if run.is_multiple_of(2) {
            literal.push_str(&text[start..start + marker.label]);
            at = start + marker.label;
            continue;
        }
        if !literal.is_empty() {
            found.push(Fragment::Literal(std::mem::take(&mut literal).into()));
        }
        let inside = &text[start..start + marker.inside];
        if marker.is_closed && labels.contains(&inside[..marker.label]) {
            at = start + marker.inside + 1;
            found.push(Fragment::Marker(inside, start - 1..at));
        } else {
            let label = quote(&inside[..marker.label]);
            let diagnostic = if marker.is_closed {
                let message = format!("no call has the label {label}");
                Box::new(Diagnostic::error(Code::UnknownStep, message).help(known(labels)))
            } else {
                malformed(format!("the reference to {label} is never closed"))
            };
            at = start + marker.inside;
            found.push(Fragment::Fault(diagnostic, start - 1..at));
        }
    }
    literal.push_str(&text[at..]);
    if !literal.is_empty() {
        found.push(Fragment::Literal(literal.into()));
    }
    found
}

/// The text after a `$` that begins a reference, or seems to.
struct LabelMarker {
    /// The length of the label.
    label: usize,
    /// The length of the text between the two `$`, or of the label if there is no second one.
    inside: usize,
    is_closed: bool,
}

impl LabelMarker {
    fn at(rest: &str, labels: &Labels<'_>) -> Option<Self> {
        let inside = &rest[..rest.find('$').unwrap_or(rest.len())];
        let known = labels
            .longest_prefix(inside)
            .filter(|label| *label > 0 && inside.len() < rest.len());
        let label = known.or_else(|| label_length(rest))?;
        let is_known = labels.contains(&rest[..label]);
        let path_text = &rest[label..];
        let end = path_text
            .find('$')
            .filter(|_| path_text.starts_with(['$', '.', '[']));
        // A word between two dollars that is no label may be anything; a word followed by a path is meant as a label.
        let is_meant = |end: usize| is_known || !path_text[..end].contains(char::is_whitespace);
        match end {
            Some(end) if is_meant(end) => Some(Self {
                label,
                inside: label + end,
                is_closed: true,
            }),
            _ if is_known => Some(Self {
                label,
                inside: label,
                is_closed: false,
            }),
            _ => None,
        }
    }
}

/// The length of the word at the start of `rest`.
fn label_length(rest: &str) -> Option<usize> {
    let is_part = |character: char| character.is_alphanumeric() || character == '_';
    let first = rest.chars().next()?;
    if !is_part(first) || first.is_ascii_digit() {
        return None;
    }
    Some(
        rest.find(|character| !is_part(character))
            .unwrap_or(rest.len()),
    )
}

/// The label in a text such as `var1.field$`, which lacks its first `$`.
fn label_without_dollar<'t>(text: &'t str, labels: &Labels<'_>) -> Option<&'t str> {
    let inside = text.strip_suffix('$')?;
    let (label, path_text) = inside.split_at(label_length(inside)?);
    let is_whole =
        !path_text.contains('$') && (path_text.is_empty() || path_text.starts_with(['.', '[']));
    (is_whole && labels.contains(label)).then_some(label)
}

/// Reads the text between the two `$`.
pub(super) fn read(inside: &str, labels: &Labels<'_>, place: Place) -> LowerResult<Reference> {
    let written = format!("${inside}$");
    let faulty = |what: &str| malformed(format!("{} is not a reference: {what}", quote(&written)));
    let (label, path_text) = inside.split_at(labels.longest_prefix(inside).unwrap_or_default());
    let path: Option<Path> = parse_path(path_text)
        .map_err(|what| faulty(&what))?
        .into_iter()
        .map(|one| match one {
            PathSegment::Name(name) => Some(Segment::key(name)),
            PathSegment::Index(index) => Some(Segment::Index(index)),
            PathSegment::Star => Some(Segment::key("*")),
            PathSegment::Each => None,
        })
        .collect();
    let path = path.ok_or_else(|| faulty("this dialect has no `[*]`"))?;
    let read = Read::part(Source::Step(StepId::new(label)), path);
    Ok(Reference::read(read, written, place))
}

fn malformed(message: String) -> Box<Diagnostic> {
    Box::new(Diagnostic::error(Code::MalformedReference, message).help(FORM))
}

fn known(labels: &Labels<'_>) -> String {
    let mut labels: Vec<String> = labels.iter().take(20).map(quote).collect();
    labels.sort();
    match labels.as_slice() {
        [] => format!("no call has a label; {FORM}"),
        _ => format!("there are {}; {FORM}", labels.join(", ")),
    }
}
