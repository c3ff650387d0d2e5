//! References `$1` and `${1}`: their bounds, their meaning, and the arguments that hold them.

use std::collections::HashSet;
use std::sync::Arc;

use planwright_core::plan::{Field, Node, Read, Reference, Segment, Source};
use planwright_core::{Code, Diagnostic, Place, StepId};

use super::argument::{ArgumentKind, ArgumentValue, LineArgument};
use crate::document::quote;
use crate::lowering::lines::{LineContext, digit_count};
use crate::lowering::path::{PathSegment, parse_path};
use crate::lowering::{Fragment, LowerResult, MarkedText, lower_fragments};

const FORM: &str =
    "write `$1`, or `${1}` where more follows, and `$$` for a literal `$` before a number";

/// The numbers of a plan's steps.
pub(super) type StepNumbers = HashSet<String>;

/// A step number: digits without leading zeros.
pub(super) fn without_zeros(digit_count: &str) -> &str {
    match digit_count.trim_start_matches('0') {
        "" => "0",
        number => number,
    }
}

/// Splits `text` into literals and references to steps.
pub(super) fn fragments<'t>(text: &'t str, numbers: &StepNumbers) -> Vec<Fragment<'t>> {
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

/// The length of the path at the start of `after`: `.name`, whose first letter is a small one, since a sentence may begin after a
/// full stop, and `[0]`.
pub(super) fn path_length(after: &str) -> usize {
    let mut length = 0;
    loop {
        let rest = &after[length..];
        let is_part = |sign: char| sign.is_alphanumeric() || sign == '_';
        let one = if let Some(name) = rest.strip_prefix('.') {
            let begins = name.starts_with(|sign: char| sign.is_lowercase() || sign == '_');
            begins.then(|| 1 + name.find(|sign| !is_part(sign)).unwrap_or(name.len()))
        } else if let Some(index) = rest.strip_prefix('[') {
            let digits = digit_count(index);
            (digits > 0 && index[digits..].starts_with(']')).then_some(digits + 2)
        } else {
            None
        };
        match one {
            Some(one) => length += one,
            None => return length,
        }
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
pub(super) fn read(written: &str, place: Place) -> LowerResult<Reference> {
    let (number, path) = written.split_at(digit_count(written));
    let number = without_zeros(number);
    let text = format!("${{{number}{path}}}");
    let malformed = |what: String| {
        let message = format!("{} is not a reference: {what}", quote(&text));
        Box::new(Diagnostic::error(Code::MalformedReference, message).help(FORM))
    };
    let segments = parse_path(path)
        .map_err(malformed)?
        .into_iter()
        .map(|one| match one {
            PathSegment::Name(name) => Segment::key(name),
            PathSegment::Index(index) => Segment::Index(index),
            PathSegment::Each => Segment::Each,
            PathSegment::Star => Segment::key("*"),
        });
    let read = Read::part(Source::Step(StepId::new(number)), segments.collect());
    Ok(Reference::read(read, text, place))
}

/// The lowered arguments of one call.
#[derive(Debug)]
pub(super) struct CallArguments {
    /// The arguments without a name.
    pub(super) positional: Vec<Node>,
    /// The arguments with a name.
    pub(super) named: Vec<Field>,
}

/// Lowers `arguments`, which stand at `place`; references lead to the steps with `numbers`.
pub(super) fn lower(
    arguments: &[LineArgument],
    place: Place,
    numbers: &StepNumbers,
    context: &mut LineContext<'_>,
) -> CallArguments {
    let mut lowered = CallArguments {
        positional: Vec::new(),
        named: Vec::new(),
    };
    let mut seen = HashSet::new();
    for argument in arguments {
        let range = argument.value.range.clone();
        let Some(name) = &argument.name else {
            let place = context.item(place, lowered.positional.len(), range);
            let node = node(&argument.value, place, numbers, context);
            lowered.positional.push(node);
            continue;
        };
        let key: Arc<str> = context.source.text()[name.clone()].into();
        if !seen.insert(Arc::clone(&key)) {
            let message = format!("the argument `{key}` is given twice");
            context.report_malformed(name.clone(), message, "give it once");
            continue;
        }
        let place = context.part(place, &key, range);
        let value = node(&argument.value, place, numbers, context);
        lowered.named.push(Field { key, value });
    }
    lowered
}

fn node(
    written: &ArgumentValue,
    place: Place,
    numbers: &StepNumbers,
    context: &mut LineContext<'_>,
) -> Node {
    match &written.kind {
        ArgumentKind::Plain(value) => Node::literal(value.clone(), place),
        ArgumentKind::Text(quoted) => {
            let text: Arc<str> = quoted.text.as_str().into();
            let whole = MarkedText {
                text: &text,
                place,
                offsets: Some(quoted.offsets()),
            };
            let borders = (&mut *context.source, &mut *context.sink);
            Node {
                kind: lower_fragments(
                    whole,
                    fragments(&text, numbers),
                    borders,
                    &mut |written, place| read(written, place),
                ),
                place,
            }
        }
        ArgumentKind::List(items) => {
            let nodes = items.iter().enumerate().map(|(index, item)| {
                let place = context.item(place, index, item.range.clone());
                node(item, place, numbers, context)
            });
            let nodes = nodes.collect();
            Node::list(nodes, place)
        }
        ArgumentKind::Object(fields) => {
            let mut lowered: Vec<Field> = Vec::with_capacity(fields.len());
            for (key, value) in fields {
                let place = context.part(place, key, value.range.clone());
                let value = node(value, place, numbers, context);
                lowered.push(Field {
                    key: key.as_str().into(),
                    value,
                });
            }
            Node::object(lowered, place)
        }
    }
}
