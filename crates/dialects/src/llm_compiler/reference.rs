//! `$1` and `${1}`: where they stand in a text, and what they mean.

use std::collections::HashSet;

use planwright_core::plan::{Read, Reference, Source};
use planwright_core::{Code, Diagnostic, Place, StepId};

use crate::document::quote;
use crate::lines::digits;
use crate::lowering::{Found, Fragment};

const FORM: &str =
    "write `$1`, or `${1}` where more follows, and `$$` for a literal `$` before a number";

/// The numbers of a plan's steps.
pub(super) type Numbers = HashSet<String>;

/// A number without leading zeros, so that it is found.
pub(super) fn canonical(digits: &str) -> &str {
    match digits.trim_start_matches('0') {
        "" => "0",
        number => number,
    }
}

/// Cuts `text` into what is literal and what refers to a step.
pub(super) fn fragments<'t>(text: &'t str, numbers: &Numbers) -> Vec<Fragment<'t>> {
    let mut found = Vec::new();
    let mut literal = String::new();
    let mut at = 0;
    while let Some(dollar) = text[at..].find('$').map(|found| at + found) {
        literal.push_str(&text[at..dollar]);
        let rest = &text[dollar..];
        let run = rest.len() - rest.trim_start_matches('$').len();
        let start = dollar + run;
        at = start;
        let Some(marker) = Marker::at(&text[start..]) else {
            literal.push_str(&text[dollar..start]);
            continue;
        };
        literal.extend(std::iter::repeat_n('$', run / 2));
        if run.is_multiple_of(2) {
            // What is escaped is literal as far as it could have been a reference.
            at = start + marker.length();
            literal.push_str(&text[start..at]);
            continue;
        }
        if !literal.is_empty() {
            found.push(Fragment::Literal(std::mem::take(&mut literal).into()));
        }
        at = start + marker.length();
        let range = start - 1..at;
        found.push(match marker.number(&text[range.clone()], numbers) {
            Ok(number) => Fragment::Marker(number, range),
            Err(finding) => Fragment::Fault(finding, range),
        });
    }
    literal.push_str(&text[at..]);
    if !literal.is_empty() {
        found.push(Fragment::Literal(literal.into()));
    }
    found
}

/// What stands behind a `$` that begins a reference, or seems to.
enum Marker<'t> {
    /// A number with nothing of a word or a path behind it.
    Number(&'t str),
    /// Braces, and what stands in them; the length of all.
    Braces(&'t str, usize),
    /// A number with more behind it; the length of all.
    Longer(usize),
    /// A brace that is never closed; the length of the rest.
    Open(usize),
}

impl<'t> Marker<'t> {
    fn at(rest: &'t str) -> Option<Self> {
        if let Some(inside) = rest.strip_prefix('{') {
            return Some(match inside.find('}') {
                Some(end) => Self::Braces(inside[..end].trim(), end + 2),
                None => Self::Open(rest.len()),
            });
        }
        let number = digits(rest);
        if number == 0 {
            return None;
        }
        let more = more_of_it(&rest[number..]);
        Some(match more {
            0 => Self::Number(&rest[..number]),
            _ => Self::Longer(number + more),
        })
    }

    fn length(&self) -> usize {
        match self {
            Self::Number(number) => number.len(),
            Self::Braces(_, length) | Self::Longer(length) | Self::Open(length) => *length,
        }
    }

    /// The step's number, or what is wrong with what is `written`.
    fn number(&self, written: &str, numbers: &Numbers) -> Found<&'t str> {
        let malformed = |what: &str| {
            let message = format!("{} is not a reference: {what}", quote(written));
            Box::new(Diagnostic::error(Code::MalformedReference, message).help(FORM))
        };
        let number = match self {
            Self::Number(number) => number,
            Self::Braces(inside, _) if !inside.is_empty() && digits(inside) == inside.len() => {
                inside
            }
            Self::Braces(..) => return Err(malformed("a step is named by its number")),
            Self::Longer(_) => return Err(malformed("more follows the number")),
            Self::Open(_) => return Err(malformed("`${` is never closed")),
        };
        if numbers.contains(canonical(number)) {
            return Ok(number);
        }
        let message = format!("{} refers to no step of the plan", quote(written));
        Err(Box::new(
            Diagnostic::error(Code::UnknownStep, message).help(FORM),
        ))
    }
}

/// How much of a word, a number or a path goes on at the beginning of `after`.
fn more_of_it(after: &str) -> usize {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let inside = match after.strip_prefix(',') {
        Some(inside) if inside.starts_with(|c: char| c.is_ascii_digit()) => inside,
        _ => after.strip_prefix('.').unwrap_or(after),
    };
    if inside.starts_with(is_word) {
        let skipped = after.len() - inside.len();
        return skipped + inside.find(|c| !is_word(c)).unwrap_or(inside.len());
    }
    usize::from(after.starts_with('['))
}

/// What the number between the borders of a marker means.
pub(super) fn read(number: &str, place: Place) -> Reference {
    let number = canonical(number);
    let read = Read::whole(Source::Step(StepId::new(number)));
    Reference::read(read, format!("${{{number}}}"), place)
}
