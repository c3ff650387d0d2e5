//! References `$1` and `${1}`: their bounds and their meaning.

use std::collections::HashSet;

use planwright_core::plan::{Read, Reference, Source};
use planwright_core::{Code, Diagnostic, Place, StepId};

use crate::document::quote;
use crate::lowering::call_arguments::{LineReferences, path_length, path_segments};
use crate::lowering::lines::digit_count;
use crate::lowering::path::parse_path;
use crate::lowering::python_arguments::UnquotedReference;
use crate::lowering::{Fragment, LowerResult};

const FORM: &str =
    "write `$1`, or `${1}` where more follows, and `$$` for a literal `$` before a number";

/// The numbers of a plan's steps.
pub(super) type StepNumbers = HashSet<String>;

/// The references to the steps with `numbers`.
pub(super) fn references(numbers: &StepNumbers) -> LineReferences<'_> {
    LineReferences {
        ids: numbers,
        fragments,
        read,
    }
}

/// An unquoted `$1` or `${1}`.
pub(super) const UNQUOTED: UnquotedReference = UnquotedReference {
    sign: '$',
    length: |after| match after.strip_prefix('{') {
        Some(inside) => inside.find('}').map(|end| end + 2),
        None => {
            let digits = digit_count(after);
            (digits > 0).then(|| digits + path_length(&after[digits..]))
        }
    },
    form: "write `$1` or `${1}`, and texts in quotes",
};

/// A step number: digits without leading zeros.
pub(super) fn without_zeros(digit_count: &str) -> &str {
    match digit_count.trim_start_matches('0') {
        "" => "0",
        number => number,
    }
}

/// Splits `text` into literals and references to steps.
fn fragments<'t>(text: &'t str, numbers: &StepNumbers) -> Vec<Fragment<'t>> {
    let mut found = Vec::new();
    let mut literal = String::new();
    let mut at = 0;
    while let Some(dollar) = text[at..].find('$').map(|found| at + found) {
        literal.push_str(&text[at..dollar]);
        let rest = &text[dollar..];
        let run = rest.len() - rest.trim_start_matches('$').len();
        let start = dollar + run;
        at = start;
        let Some(marker) = NumberMarker::at(&text[start..]) else {
            literal.push_str(&text[dollar..start]);
            continue;
        };
        // Each pair of dollars before a reference is one literal dollar.
        literal.extend(std::iter::repeat_n('$', run / 2));
        if run.is_multiple_of(2) {
            // The escaped text is literal up to the end of what could have been a reference.
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
            Err(diagnostic) => Fragment::Problem(diagnostic, range),
        });
    }
    literal.push_str(&text[at..]);
    if !literal.is_empty() {
        found.push(Fragment::Literal(literal.into()));
    }
    found
}

/// The text after a `$` that begins a reference, or seems to.
enum NumberMarker<'t> {
    /// A number, with the path of a field after it, that no word continues.
    Number(&'t str),
    /// Braces: their content, and the length of all.
    Braces(&'t str, usize),
    /// A number with more after it; the length of all.
    Longer(usize),
    /// A brace that is not closed; the length of the rest.
    Open(usize),
}

impl<'t> NumberMarker<'t> {
    fn at(rest: &'t str) -> Option<Self> {
        if let Some(inside) = rest.strip_prefix('{') {
            return Some(match inside.find('}') {
                Some(end) => Self::Braces(inside[..end].trim(), end + 2),
                None => Self::Open(rest.len()),
            });
        }
        let number = digit_count(rest);
        if number == 0 {
            return None;
        }
        let path = number + path_length(&rest[number..]);
        let more = continuation(&rest[path..]);
        Some(match more {
            0 => Self::Number(&rest[..path]),
            _ => Self::Longer(path + more),
        })
    }

    fn length(&self) -> usize {
        match self {
            Self::Number(number) => number.len(),
            Self::Braces(_, length) | Self::Longer(length) | Self::Open(length) => *length,
        }
    }

    /// The number of the step, or the problem in the text `written`.
    fn number(&self, written: &str, numbers: &StepNumbers) -> LowerResult<&'t str> {
        let malformed = |what: &str| {
            let message = format!("{} is not a reference: {what}", quote(written));
            Box::new(Diagnostic::error(Code::MalformedReference, message).help(FORM))
        };
        let number = match self {
            Self::Number(number) => number,
            Self::Braces(inside, _)
                if digit_count(inside) > 0
                    && parse_path(&inside[digit_count(inside)..]).is_ok() =>
            {
                inside
            }
            Self::Braces(..) => return Err(malformed("a step is named by its number")),
            Self::Longer(_) => return Err(malformed("more follows the number")),
            Self::Open(_) => return Err(malformed("`${` is never closed")),
        };
        if numbers.contains(without_zeros(&number[..digit_count(number)])) {
            return Ok(number);
        }
        let message = format!("{} refers to no step of the plan", quote(written));
        let help = format!(
            "{}, and `$$` stands for a literal `$` before a number",
            known(numbers)
        );
        Err(Box::new(
            Diagnostic::error(Code::UnknownStep, message).help(help),
        ))
    }
}

/// The maximum number of steps in advice.
const MAX_SHOWN: usize = 20;

/// The steps that a reference can name.
fn known(numbers: &StepNumbers) -> String {
    let mut sorted: Vec<&String> = numbers.iter().collect();
    sorted.sort_by_key(|number| (number.len(), *number));
    let names: Vec<String> = sorted
        .iter()
        .take(MAX_SHOWN)
        .map(|number| format!("`${number}`"))
        .collect();
    match (&*names, sorted.len() > MAX_SHOWN) {
        ([only], _) => format!("the only step is {only}"),
        (_, false) => format!("the steps are {}", names.join(", ")),
        (_, true) => format!("the steps are {} and others", names.join(", ")),
    }
}

/// The length of the word, number or path that continues at the start of `after`.
fn continuation(after: &str) -> usize {
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

/// The reference `written`: the number of a step, and the path of a field.
fn read(written: &str, place: Place) -> LowerResult<Reference> {
    let (number, path) = written.split_at(digit_count(written));
    let number = without_zeros(number);
    let text = format!("${{{number}{path}}}");
    let malformed = |what: String| {
        let message = format!("{} is not a reference: {what}", quote(&text));
        Box::new(Diagnostic::error(Code::MalformedReference, message).help(FORM))
    };
    let path = path_segments(path).map_err(malformed)?;
    let read = Read::part(Source::Step(StepId::new(number)), path);
    Ok(Reference::read(read, text, place))
}
