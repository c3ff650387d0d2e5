//! `${step[N].data…}`: reading and writing what stands in the braces.

use std::collections::HashMap;

use planwright_core::plan::{Missing, Path, Read, Reference, Segment, Source};
use planwright_core::{Code, Diagnostic, Place, StepId, Value};

use crate::document::quote;
use crate::lowering::Found;
use crate::path::{Move, moves, write_path};
use crate::printing::{Unsaid, WriteReferences};
use crate::template;

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

impl Writer<'_> {
    fn write(&self, read: &Read) -> Option<String> {
        let (step, part) = match &read.source {
            Source::Step(step) => (step, ".data"),
            Source::Result(step) if is_of_result(&read.path) => (step, ""),
            _ => return None,
        };
        let position = self.positions.get(step.as_str())?;
        let path = write_path(&read.path, Some(".*"))?;
        Some(format!("${{step[{position}]{part}{path}}}"))
    }
}

impl WriteReferences for Writer<'_> {
    fn whole(&self, reference: &Reference, unsaid: &mut Unsaid<'_>) -> Value {
        self.inside(reference, unsaid).into()
    }

    fn inside(&self, reference: &Reference, unsaid: &mut Unsaid<'_>) -> String {
        let Some(read) = reference.as_read() else {
            unsaid.error(
                reference.place,
                "alternatives or expressions in a reference",
            );
            return String::new();
        };
        let maps = read.path.contains(&Segment::Each);
        if read.missing == Missing::Null && !read.path.is_empty() {
            unsaid.warning(reference.place, "that a missing value gives `null`");
        } else if read.missing == Missing::Fail && maps {
            unsaid.warning(
                reference.place,
                "that an item without the value fails the step",
            );
        }
        self.write(read).unwrap_or_else(|| {
            let what = format!("what {} refers to", quote(&reference.text));
            unsaid.error(reference.place, &what);
            String::new()
        })
    }

    fn text(&self, text: &str, before_marker: bool) -> String {
        template::escape(text, before_marker)
    }
}
