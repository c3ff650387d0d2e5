//! `${name.path:-default}`: reading and writing what stands in the braces.

use std::sync::Arc;

use planwright_core::plan::{
    Alternative, Form, Missing, Path, Read, Reference, Segment, SlotKind, Source,
};
use planwright_core::{Code, Diagnostic, Value};

use crate::document::quote;
use crate::lowering::Found;
use crate::path::{Move, moves, write_name, write_path};
use crate::printing::Unsaid;

const FORM: &str =
    "write `${name}`, `${name.field[0]}` or `${name:-default}`, and `$${` for a literal `${`";

/// What a marker says, before it is known where the variable comes from.
#[derive(Debug)]
pub(super) struct Marker {
    name: Arc<str>,
    path: Path,
    default: Option<Value>,
}

impl Marker {
    /// Reads what stands between the braces.
    pub(super) fn read(inside: &str) -> Found<Self> {
        let malformed = |what: &str| {
            let written = quote(&format!("${{{inside}}}"));
            let message = format!("{written} is not a reference: {what}");
            Box::new(Diagnostic::error(Code::MalformedReference, message).help(FORM))
        };
        let (way, default) = match find_default(inside) {
            Some(at) => (&inside[..at], Some(default_value(inside[at + 2..].trim()))),
            None => (inside, None),
        };
        let way = way.trim();
        if way.is_empty() {
            return Err(malformed("the name is missing"));
        }
        let way = if way.starts_with('[') {
            way.to_owned()
        } else {
            format!(".{way}")
        };
        let mut all = moves(&way).map_err(|what| malformed(&what))?.into_iter();
        let Some(Move::Name(name)) = all.next() else {
            return Err(malformed("it begins with no name"));
        };
        let path: Option<Path> = all.map(segment).collect();
        Ok(Self {
            name: name.into(),
            path: path.ok_or_else(|| malformed("this dialect has no `[*]`"))?,
            default,
        })
    }

    /// The variable's name.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The reference, where the variable comes from the step `origin`, or from the plan's variables.
    pub(super) fn resolve(
        self,
        origin: Option<planwright_core::StepId>,
        inside: &str,
        place: planwright_core::Place,
    ) -> Reference {
        let read = if let Some(step) = origin {
            Read::part(Source::Step(step), self.path)
        } else {
            let mut path = vec![Segment::Key(self.name)];
            path.extend(self.path);
            Read::part(Source::Slot(SlotKind::Inputs), path)
        };
        let mut alternatives = vec![Alternative::Read(read)];
        alternatives.extend(self.default.map(Alternative::Literal));
        Reference {
            text: format!("${{{inside}}}").into(),
            place,
            form: Form::First(alternatives),
        }
    }
}

fn segment(one: Move) -> Option<Segment> {
    match one {
        Move::Name(name) => Some(Segment::key(name)),
        Move::Index(index) => Some(Segment::Index(index)),
        Move::Each => None,
    }
}

/// Where `:-` begins, outside of quotes.
fn find_default(inside: &str) -> Option<usize> {
    let mut quoted = false;
    let mut escaped = false;
    for (at, character) in inside.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            ':' if !quoted && inside[at..].starts_with(":-") => return Some(at),
            _ => {}
        }
    }
    None
}

fn default_value(text: &str) -> Value {
    Value::from_json(text).unwrap_or_else(|_| Value::text(text))
}

/// The variable that a source is read from.
#[derive(Debug)]
pub(super) struct Variable {
    /// Its name.
    pub(super) name: Arc<str>,
    /// How many segments of the path the name stands for.
    pub(super) used: usize,
}

/// Writes `reference`; `variable` says which variable a source is read from.
pub(super) fn write(
    reference: &Reference,
    variable: &dyn Fn(&Read) -> Option<Variable>,
    unsaid: &mut Unsaid<'_>,
) -> String {
    let (read, default) = match &reference.form {
        Form::First(alternatives) => match alternatives.as_slice() {
            [Alternative::Read(read)] => (read, None),
            [Alternative::Read(read), Alternative::Literal(value)] => (read, Some(value.clone())),
            _ => {
                return refuse(
                    reference,
                    "alternatives or expressions in a reference",
                    unsaid,
                );
            }
        },
        Form::All(reads) => match reads.as_slice() {
            [read] => (read, None),
            _ => {
                return refuse(
                    reference,
                    "a reference that waits for several values",
                    unsaid,
                );
            }
        },
    };
    let Some(Variable { name, used }) = variable(read) else {
        let what = format!("what {} refers to", quote(&reference.text));
        return refuse(reference, &what, unsaid);
    };
    let Some(path) = write_path(&read.path[used..], None) else {
        return refuse(reference, "a path that maps over a list", unsaid);
    };
    let default = default.or_else(|| match read.missing {
        Missing::Null if read.path.len() > used => Some(Value::Null),
        _ => None,
    });
    let name = write_name(&name);
    let name = name.strip_prefix('.').unwrap_or(&name);
    match default {
        Some(value) => format!("${{{name}{path}:-{}}}", value.to_json()),
        None => format!("${{{name}{path}}}"),
    }
}

fn refuse(reference: &Reference, what: &str, unsaid: &mut Unsaid<'_>) -> String {
    unsaid.error(reference.place, what);
    String::new()
}
