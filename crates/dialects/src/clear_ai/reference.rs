//! `${step[N].data…}`: reading and writing what stands in the braces.

use std::collections::HashMap;

use planwright_core::plan::{Missing, Path, Read, Reference, Segment, Source};
use planwright_core::{Code, Diagnostic, Place, StepId, Value};

use crate::document::quote;
use crate::lowering::Found;
use crate::path::{Move, moves};
use crate::printing::{Unsaid, WriteReferences};

const FORM: &str = "write `${step[0].data.field}`, `${step[0].data[0]}` or `${step[0].data.*.field}`, \
                    and `$${` for a literal `${`";

/// The parts of a step's result, beside its data.
const RESULT_PARTS: [&str; 3] = ["success", "error", "tool"];

/// Whether `path` leads into a step's result, and not into its data, which `.data` reads as the step's output: the output of a
/// step that failed is not there, whereas its result has `data` all the same.
fn is_of_result(path: &[Segment]) -> bool {
    match path.first() {
        None => true,
        Some(Segment::Key(key)) => RESULT_PARTS.contains(&&**key),
        Some(_) => false,
    }
}

/// Reads what stands between the braces.
pub(super) fn read(inside: &str, place: Place) -> Found<Reference> {
    let written = format!("${{{inside}}}");
    let malformed = |what: &str| {
        let message = format!("{} is not a reference: {what}", quote(&written));
        Box::new(Diagnostic::error(Code::MalformedReference, message).help(FORM))
    };
    let Some(rest) = inside.trim().strip_prefix("step[") else {
        return Err(malformed("it does not begin with `step[`"));
    };
    let Some((position, way)) = rest.split_once(']') else {
        return Err(malformed("`[` is never closed"));
    };
    let Some(step) = canonical_position(position.trim()) else {
        return Err(malformed("a step is named by its position from 0"));
    };
    let path: Path = moves(way)
        .map_err(|what| malformed(&what))?
        .into_iter()
        .map(segment)
        .collect();
    let (source, path) = match path.first() {
        None => (Source::Result(step), path),
        Some(Segment::Key(key)) if **key == *"data" => (Source::Step(step), path[1..].to_vec()),
        Some(_) if is_of_result(&path) => (Source::Result(step), path),
        Some(_) => {
            return Err(malformed(
                "a step has `.data`, `.success`, `.error` and `.tool`",
            ));
        }
    };
    let read = Read::part(source, path).or_missing(Missing::NullInItems);
    Ok(Reference::read(read, written, place))
}

/// The id of the step at the position `written`: without leading zeros, so that it is found.
fn canonical_position(written: &str) -> Option<StepId> {
    if written.is_empty() || !written.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let digits = written.trim_start_matches('0');
    Some(StepId::new(if digits.is_empty() { "0" } else { digits }))
}

fn segment(one: Move) -> Segment {
    match one {
        Move::Name(name) => Segment::key(name),
        Move::Index(index) => Segment::Index(index),
        Move::Each | Move::Star => Segment::Each,
    }
}

/// Writes references; `positions` are those of the steps.
pub(super) struct Writer<'a> {
    pub(super) positions: &'a HashMap<&'a str, usize>,
}

impl WriteReferences for Writer<'_> {
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
        let Some(position) = self.positions.get(step.as_str()) else {
            let what = format!("what {} refers to", quote(&reference.text));
            return refuse(&what, unsaid);
        };
        if read.path.is_empty() {
            let what = "a reference to all of an output";
            let way_out = "refer to a field: clear-ai hands a reference without one on as text";
            unsaid.error_with(reference.place, what, way_out);
            return Value::Null;
        }
        let mut written = format!("${{step[{position}].data");
        let mut maps = 0;
        for segment in &read.path {
            match segment {
                Segment::Each => {
                    maps += 1;
                    written.push_str(".*");
                }
                Segment::Index(index) if *index >= 0 => {
                    written.extend(["[", &index.to_string(), "]"]);
                }
                Segment::Index(_) => return refuse("an item counted from the end", unsaid),
                Segment::Key(key) if is_identifier(key) => written.extend([".", key]),
                Segment::Key(key) => {
                    return refuse(&format!("the field {}", quote(key)), unsaid);
                }
            }
        }
        if maps > 1 {
            return refuse("a path that maps over a list in a list", unsaid);
        }
        if read.missing == Missing::Null {
            unsaid.warning(reference.place, "that a missing value gives `null`");
        } else if read.missing == Missing::Fail && maps > 0 {
            unsaid.warning(
                reference.place,
                "that an item without the value fails the step",
            );
        }
        written.push('}');
        written.into()
    }

    fn inside(&self, reference: &Reference, unsaid: &mut Unsaid<'_>) -> String {
        let what = "a reference inside of a text";
        let way_out = "let a step make the text: clear-ai drops what stands around a reference";
        unsaid.error_with(reference.place, what, way_out);
        String::new()
    }

    fn report_text(&self, text: &str, is_key: bool, place: Place, unsaid: &mut Unsaid<'_>) {
        if !is_key && text.contains("${") {
            unsaid.error_with(place, "a literal `${`", "clear-ai has no escape for it");
        }
    }

    fn text(&self, text: &str, _before_marker: bool) -> String {
        text.to_owned()
    }
}

/// Whether clear-ai reads `key` as one field name; it skips any other character of a path.
fn is_identifier(key: &str) -> bool {
    let mut characters = key.chars();
    let first = characters.next();
    first.is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && characters.all(|c| c.is_ascii_alphanumeric() || c == '_')
}
