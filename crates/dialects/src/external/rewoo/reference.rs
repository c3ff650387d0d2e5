//! References `#E1`: their bounds and their meaning.

use std::collections::HashSet;

use planwright_core::plan::{Read, Reference, Source};
use planwright_core::{Code, Diagnostic, Place, StepId};

use crate::document::quote;
use crate::lowering::Fragment;
use crate::lowering::lines::digit_count;

const FORM: &str = "write `#E1` with nothing of a word behind it, and `##E1` for a literal `#E1`";

/// The ids of a plan's steps.
pub(super) type EvidenceIds = HashSet<String>;

/// The id of the step with the number `digits`, which may begin with zeros.
pub(super) fn id_of(digit_count: &str) -> String {
    let number = digit_count.trim_start_matches('0');
    format!("E{}", if number.is_empty() { "0" } else { number })
}

/// Splits `text` into literals and references to steps.
pub(super) fn fragments<'t>(text: &'t str, ids: &EvidenceIds) -> Vec<Fragment<'t>> {
    let mut found = Vec::new();
    let mut literal = String::new();
    let mut at = 0;
    while let Some(hash) = text[at..].find('#').map(|found| at + found) {
        literal.push_str(&text[at..hash]);
        let rest = &text[hash..];
        let run = rest.len() - rest.trim_start_matches('#').len();
        let start = hash + run;
        at = start;
        let Some(length) = marker(&text[start..], ids) else {
            literal.push_str(&text[hash..start]);
            continue;
        };
        // Each pair of `#` before a reference is one literal `#`.
        literal.extend(std::iter::repeat_n('#', run / 2));
        at = start + length;
        if run.is_multiple_of(2) {
            literal.push_str(&text[start..at]);
            continue;
        }
        if !literal.is_empty() {
            found.push(Fragment::Literal(std::mem::take(&mut literal).into()));
        }
        let range = start - 1..at;
        found.push(match fault(&text[start..at], ids) {
            None => Fragment::Marker(&text[start..at], range),
            Some(diagnostic) => Fragment::Fault(diagnostic, range),
        });
    }
    literal.push_str(&text[at..]);
    if !literal.is_empty() {
        found.push(Fragment::Literal(literal.into()));
    }
    found
}

/// The length of the text after a `#` that is a reference, or seems to be one.
fn marker(rest: &str, ids: &EvidenceIds) -> Option<usize> {
    let number = digit_count(rest.get(1..)?);
    let after = &rest[1 + number..];
    match rest.as_bytes().first() {
        Some(b'E') if number > 0 => Some(1 + number + continuation(after)),
        Some(b'E') => (!after.starts_with(char::is_alphanumeric)).then_some(1),
        Some(b'e') if number > 0 && continuation(after) == 0 => {
            let meant = id_of(&rest[1..=number]);
            ids.contains(&meant).then_some(1 + number)
        }
        _ => None,
    }
}

/// The length of the word or path that continues at the start of `after`.
fn continuation(after: &str) -> usize {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let inside = after.strip_prefix('.').unwrap_or(after);
    if inside.starts_with(is_word) {
        let skipped = after.len() - inside.len();
        return skipped + inside.find(|c| !is_word(c)).unwrap_or(inside.len());
    }
    usize::from(after.starts_with('['))
}

/// The fault in the text after a `#`.
fn fault(written: &str, ids: &EvidenceIds) -> Option<Box<Diagnostic>> {
    let is_whole = written.len() > 1 && digit_count(&written[1..]) + 1 == written.len();
    if is_whole && written.starts_with('E') && ids.contains(&id_of(&written[1..])) {
        return None;
    }
    let shown = quote(&format!("#{written}"));
    let (code, message) = if is_whole {
        match written.strip_prefix('e') {
            Some(number) => (
                Code::MalformedReference,
                format!("{shown} is not a reference: the step is `#E{number}`"),
            ),
            None => (
                Code::UnknownStep,
                format!("{shown} refers to no step of the plan"),
            ),
        }
    } else if written.len() > 1 {
        let message = format!("{shown} is not a reference: more follows the number");
        (Code::MalformedReference, message)
    } else {
        let message = format!("{shown} is not a reference: the number is missing");
        (Code::MalformedReference, message)
    };
    Some(Box::new(Diagnostic::error(code, message).help(FORM)))
}

/// The reference to the step that is `written` after the `#`: an `E` with a number.
pub(super) fn read(written: &str, place: Place) -> Reference {
    let id = id_of(written.trim_start_matches('E'));
    let read = Read::whole(Source::Step(StepId::new(id)));
    Reference::read(read, format!("#{written}"), place)
}
