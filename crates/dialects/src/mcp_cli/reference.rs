//! `${name.path:-default}`: reading and writing what stands in the braces.

use std::sync::Arc;

use planwright_core::plan::{
    Alternative, Form, Missing, Path, Read, Reference, Segment, SlotKind, Source, TextPart,
};
use planwright_core::{Code, Diagnostic, Place, StepId, Value};
use serde::de::IgnoredAny;

use crate::document::{number_out_of_range, quote};
use crate::lowering::Found;
use crate::path::{Move, moves};
use crate::printing::Unsaid;
use crate::template::{self, Piece};
use planwright_core::value::number::unkept_number;

const FORM: &str =
    "write `${name}`, `${name.field[0]}` or `${name:-default}`, and `$${` for a literal `${`";

/// How many defaults may stand inside of each other.
const MAX_DEFAULTS: usize = 16;

/// What a marker says, before it is known where the variable comes from.
#[derive(Debug)]
pub(super) struct Marker {
    name: Arc<str>,
    path: Path,
    default: Option<Default>,
}

/// What takes the place of a missing value.
#[derive(Debug)]
enum Default {
    Value(Value),
    /// Another variable, as in `${a:-${b}}`.
    Marker(Box<Marker>),
}

impl Marker {
    /// Reads what stands between the braces.
    pub(super) fn read(inside: &str) -> Found<Self> {
        Self::read_nested(inside, MAX_DEFAULTS)
    }

    fn read_nested(inside: &str, defaults: usize) -> Found<Self> {
        let malformed = |what: &str| {
            let written = quote(&format!("${{{inside}}}"));
            let message = format!("{written} is not a reference: {what}");
            Box::new(Diagnostic::error(Code::MalformedReference, message).help(FORM))
        };
        let (way, default) = match find_default(inside) {
            Some(at) => {
                let text = inside[at + 2..].trim();
                let Some(left) = defaults.checked_sub(1) else {
                    return Err(malformed("too many defaults stand inside of each other"));
                };
                let default = Default::read(text, left)?.ok_or_else(|| {
                    malformed("a default is a value or a reference, not a text around one")
                })?;
                (&inside[..at], Some(default))
            }
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
        let name = match all.next() {
            Some(Move::Name(name)) => name,
            Some(Move::Star) => "*".to_owned(),
            _ => return Err(malformed("it begins with no name")),
        };
        let path: Option<Path> = all.map(segment).collect();
        Ok(Self {
            name: name.into(),
            path: path.ok_or_else(|| malformed("this dialect has no `[*]`"))?,
            default,
        })
    }

    /// The reference; `origin` gives the step that a variable comes from, and nothing for the plan's variables.
    pub(super) fn resolve(
        self,
        origin: &dyn Fn(&str) -> Option<StepId>,
        inside: &str,
        place: Place,
    ) -> Reference {
        let mut alternatives = Vec::new();
        self.alternatives(origin, &mut alternatives);
        Reference {
            text: format!("${{{inside}}}").into(),
            place,
            form: Form::First(alternatives),
        }
    }

    fn alternatives(
        self,
        origin: &dyn Fn(&str) -> Option<StepId>,
        alternatives: &mut Vec<Alternative>,
    ) {
        let read = if let Some(step) = origin(&self.name) {
            Read::part(Source::Step(step), self.path)
        } else {
            let mut path = vec![Segment::Key(self.name)];
            path.extend(self.path);
            Read::part(Source::Slot(SlotKind::Inputs), path)
        };
        alternatives.push(Alternative::Read(read));
        match self.default {
            Some(Default::Value(value)) => alternatives.push(Alternative::Literal(value)),
            Some(Default::Marker(marker)) => marker.alternatives(origin, alternatives),
            None => {}
        }
    }
}

impl Default {
    /// Reads what stands after `:-`; nothing where a reference stands inside of a longer text.
    fn read(text: &str, defaults: usize) -> Found<Option<Self>> {
        if let Some(value) = json_default(text)? {
            return Ok(Some(Self::Value(value)));
        }
        Ok(match template::split(text, b"\"").as_slice() {
            [] => Some(Self::Value(Value::text(""))),
            [Piece::Literal(literal)] => Some(Self::Value(Value::text(&**literal))),
            [Piece::Marker(inside, _)] => {
                let marker = Marker::read_nested(inside, defaults)?;
                Some(Self::Marker(Box::new(marker)))
            }
            _ => None,
        })
    }
}

/// The value of a default that is JSON, and nothing where it is not. A text in it is read as any other: `$${` is a literal `${`.
fn json_default(text: &str) -> Found<Option<Value>> {
    if serde_json::from_str::<IgnoredAny>(text).is_err() {
        return Ok(None);
    }
    if let Some(number) = unkept_number(text) {
        return Err(Box::new(number_out_of_range(number)));
    }
    let Ok(value) = Value::from_json(text) else {
        return Ok(None);
    };
    let unescaped = with_texts(
        &value,
        &mut |text| match template::split(text, b"\"").as_slice() {
            [] => Some(text.to_owned()),
            [Piece::Literal(literal)] => Some(literal.clone().into_owned()),
            _ => None,
        },
    );
    match unescaped {
        Some(value) => Ok(Some(value)),
        None => {
            let message = format!("{} has a reference inside of a default", quote(text));
            let finding = Diagnostic::error(Code::MalformedReference, message);
            Err(Box::new(finding.help(FORM)))
        }
    }
}

/// `value` with what `change` makes of its texts and keys; nothing as soon as it makes nothing of one.
fn with_texts(value: &Value, change: &mut dyn FnMut(&str) -> Option<String>) -> Option<Value> {
    Some(match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        Value::Text(text) => Value::text(change(text)?),
        Value::List(items) => {
            let items: Option<Vec<Value>> =
                items.iter().map(|item| with_texts(item, change)).collect();
            items?.into()
        }
        Value::Object(fields) => {
            let mut changed = Vec::with_capacity(fields.len());
            for (key, field) in fields.iter() {
                changed.push((Arc::from(change(key)?), with_texts(field, change)?));
            }
            Value::object::<Arc<str>>(changed)
        }
    })
}

fn segment(one: Move) -> Option<Segment> {
    match one {
        Move::Name(name) => Some(Segment::key(name)),
        Move::Index(index) => Some(Segment::Index(index)),
        Move::Star => Some(Segment::key("*")),
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

/// Whether a text is a marker followed by braces alone: it looks like a whole reference and is none.
pub(super) fn has_stray_brace(parts: &[TextPart]) -> bool {
    match parts {
        [TextPart::Reference(_), TextPart::Literal(rest)] => rest.bytes().all(|byte| byte == b'}'),
        _ => false,
    }
}

/// The variable that a source is read from.
#[derive(Debug)]
pub(super) struct Variable {
    /// Its name.
    pub(super) name: Arc<str>,
    /// How many segments of the path the name stands for.
    pub(super) used: usize,
}

/// Writes `reference` as mcp-cli's own executor reads it; `variable` says which variable a source is read from.
pub(super) fn write(
    reference: &Reference,
    variable: &dyn Fn(&Read) -> Option<Variable>,
    unsaid: &mut Unsaid<'_>,
) -> String {
    let Some(read) = reference.as_read() else {
        let what = "alternatives or expressions in a reference";
        return refuse(reference, what, unsaid);
    };
    let Some(Variable { name, used }) = variable(read) else {
        let what = format!("what {} refers to", quote(&reference.text));
        return refuse(reference, &what, unsaid);
    };
    let mut written = format!("${{{name}");
    let mut is_sayable = is_plain(&name);
    for segment in &read.path[used..] {
        match segment {
            Segment::Each => return refuse(reference, "a path that maps over a list", unsaid),
            Segment::Index(_) => return refuse(reference, "an item of a list", unsaid),
            // On a list, a number is a position, and mcp-cli follows no path into lists.
            Segment::Key(key) if is_number(key) => {
                return refuse(reference, "an item of a list", unsaid);
            }
            Segment::Key(key) => {
                is_sayable &= is_plain(key);
                written.extend([".", key]);
            }
        }
    }
    if !is_sayable {
        let what = format!("the name in {}", quote(&reference.text));
        return refuse(reference, &what, unsaid);
    }
    if read.path.len() > used {
        if read.missing == Missing::Null {
            return refuse(reference, "that a missing value gives `null`", unsaid);
        }
        let what = "that a missing value fails the step";
        let difference = "mcp-cli hands the reference to the tool as text";
        unsaid.difference(reference.place, what, difference);
    }
    written.push('}');
    written
}

/// Whether mcp-cli reads `name` as one name: it splits at every `.` and ends at the first `}`.
fn is_plain(name: &str) -> bool {
    let special = |c: char| matches!(c, '.' | '{' | '}' | '[' | ']' | '"' | ':') || c.is_control();
    !name.is_empty() && name.trim() == name && name != "*" && !name.contains(special)
}

fn is_number(key: &str) -> bool {
    let digits = key.strip_prefix('-').unwrap_or(key);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn refuse(reference: &Reference, what: &str, unsaid: &mut Unsaid<'_>) -> String {
    unsaid.error(reference.place, what);
    String::new()
}
