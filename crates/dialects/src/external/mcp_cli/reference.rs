//! References `${name.path:-default}`: reading and writing the content of the braces, and the step that writes a variable,
//! if several do and their order is only partly known.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;

use planwright_core::plan::{
    Alternative, Form, Missing, Path, Read, Reference, Segment, SlotKind, Source, TextPart,
};
use planwright_core::value::number::first_inexact_number;
use planwright_core::{Code, Diagnostic, Place, StepId, Value};
use serde::de::IgnoredAny;

use crate::document::template::{self, Piece};
use crate::document::{number_out_of_range, quote};
use crate::lowering::LowerResult;
use crate::lowering::path::{PathSegment, parse_path};
use crate::printing::LossReport;

const FORM: &str =
    "write `${name}`, `${name.field[0]}` or `${name:-default}`, and `$${` for a literal `${`";

/// The maximum nesting of defaults.
const MAX_DEFAULTS: usize = 16;

/// A marker, before the source of its variable is known.
#[derive(Debug)]
pub(super) struct VariableMarker {
    name: Arc<str>,
    path: Path,
    default: Option<MarkerDefault>,
}

/// The value in place of a missing one.
#[derive(Debug)]
enum MarkerDefault {
    Value(Value),
    /// Another variable, as in `${a:-${b}}`.
    Reference(Box<VariableMarker>),
}

impl VariableMarker {
    /// Reads the content of the braces.
    pub(super) fn read(inside: &str) -> LowerResult<Self> {
        Self::read_nested(inside, MAX_DEFAULTS)
    }

    fn read_nested(inside: &str, defaults: usize) -> LowerResult<Self> {
        let malformed = |what: &str| {
            let written = quote(&format!("${{{inside}}}"));
            let message = format!("{written} is not a reference: {what}");
            Box::new(Diagnostic::error(Code::MalformedReference, message).help(FORM))
        };
        let (path_text, default) = match find_default(inside) {
            Some(at) => {
                let text = inside[at + 2..].trim();
                let Some(left) = defaults.checked_sub(1) else {
                    return Err(malformed("the defaults are nested too deeply"));
                };
                let default = MarkerDefault::read(text, left)?.ok_or_else(|| {
                    malformed("a default is a value or a reference, not a text around one")
                })?;
                (&inside[..at], Some(default))
            }
            None => (inside, None),
        };
        let path_text = path_text.trim();
        if path_text.is_empty() {
            return Err(malformed("the name is missing"));
        }
        // With a dot before it, the name is a path segment like all others.
        let path_text = if path_text.starts_with('[') {
            path_text.to_owned()
        } else {
            format!(".{path_text}")
        };
        let mut all = parse_path(&path_text)
            .map_err(|what| malformed(&what))?
            .into_iter();
        let name = match all.next() {
            Some(PathSegment::Name(name)) => name,
            Some(PathSegment::Star) => "*".to_owned(),
            _ => return Err(malformed("it begins with no name")),
        };
        let path: Option<Path> = all.map(segment).collect();
        Ok(Self {
            name: name.into(),
            path: path.ok_or_else(|| malformed("this dialect has no `[*]`"))?,
            default,
        })
    }

    /// The reference; `origin` returns the step that writes a variable, and `None` for variables of the plan.
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
            Some(MarkerDefault::Value(value)) => alternatives.push(Alternative::Literal(value)),
            Some(MarkerDefault::Reference(marker)) => {
                marker.alternatives(origin, alternatives);
            }
            None => {}
        }
    }
}

impl MarkerDefault {
    /// Reads the text after `:-`; `None` if it is a longer text with a reference.
    fn read(text: &str, defaults: usize) -> LowerResult<Option<Self>> {
        if let Some(value) = json_default(text)? {
            return Ok(Some(Self::Value(value)));
        }
        Ok(match template::split(text, b"\"").as_slice() {
            [] => Some(Self::Value(Value::text(""))),
            [Piece::Literal(literal)] => Some(Self::Value(Value::text(&**literal))),
            [Piece::Marker(inside, _)] => {
                let marker = VariableMarker::read_nested(inside, defaults)?;
                Some(Self::Reference(Box::new(marker)))
            }
            _ => None,
        })
    }
}

/// The value of a default that is JSON, `None` for other text. Texts in it have escapes: `$${` is a literal `${`.
fn json_default(text: &str) -> LowerResult<Option<Value>> {
    if serde_json::from_str::<IgnoredAny>(text).is_err() {
        return Ok(None);
    }
    // A number that does not fit is an error; as text it would change its meaning.
    if let Some(number) = first_inexact_number(text) {
        return Err(Box::new(number_out_of_range(number)));
    }
    let Ok(value) = Value::from_json(text) else {
        return Ok(None);
    };
    let unescaped = map_texts(
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
            let diagnostic = Diagnostic::error(Code::MalformedReference, message);
            Err(Box::new(diagnostic.help(FORM)))
        }
    }
}

/// `value` with its texts and keys replaced by `change`; `None` if `change` rejects one.
fn map_texts(value: &Value, change: &mut dyn FnMut(&str) -> Option<String>) -> Option<Value> {
    Some(match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        Value::Text(text) => Value::text(change(text)?),
        Value::List(items) => {
            let items: Option<Vec<Value>> =
                items.iter().map(|item| map_texts(item, change)).collect();
            items?.into()
        }
        Value::Object(fields) => {
            let mut changed = Vec::with_capacity(fields.len());
            for (key, field) in fields.iter() {
                changed.push((Arc::from(change(key)?), map_texts(field, change)?));
            }
            Value::object::<Arc<str>>(changed)
        }
    })
}

fn segment(one: PathSegment) -> Option<Segment> {
    match one {
        PathSegment::Name(name) => Some(Segment::key(name)),
        PathSegment::Index(index) => Some(Segment::Index(index)),
        PathSegment::Star => Some(Segment::key("*")),
        PathSegment::Each => None,
    }
}

/// The position of `:-` outside of quotes.
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

/// Returns true if a text is a marker followed by braces alone, which is probably a misspelt whole reference.
pub(super) fn has_stray_brace(parts: &[TextPart]) -> bool {
    match parts {
        [TextPart::Reference(_), TextPart::Literal(rest)] => rest.bytes().all(|byte| byte == b'}'),
        _ => false,
    }
}

/// The variable from which a source is read.
#[derive(Debug)]
pub(super) struct Variable {
    /// The name of the variable.
    pub(super) name: Arc<str>,
    /// The number of path segments that the name covers.
    pub(super) used: usize,
}

/// Writes `reference` as the executor of mcp-cli reads it; `variable` returns the variable of a source.
pub(super) fn write(
    reference: &Reference,
    variable: &dyn Fn(&Read) -> Option<Variable>,
    losses: &mut LossReport<'_>,
) -> String {
    let Some(read) = reference.as_read() else {
        let what = "alternatives or expressions in a reference";
        return refuse(reference, what, losses);
    };
    let Some(Variable { name, used }) = variable(read) else {
        let what = format!("the reference {}", quote(&reference.text));
        return refuse(reference, &what, losses);
    };
    let mut written = format!("${{{name}");
    let mut is_supported = is_plain(&name);
    for segment in &read.path[used..] {
        match segment {
            Segment::Each => return refuse(reference, "a path that maps over a list", losses),
            Segment::Index(_) => return refuse(reference, "an item of a list", losses),
            // On a list, a number is a position, and mcp-cli follows no path into lists.
            Segment::Key(key) if is_number(key) => {
                return refuse(reference, "an item of a list", losses);
            }
            Segment::Key(key) => {
                is_supported &= is_plain(key);
                written.extend([".", key]);
            }
        }
    }
    if !is_supported {
        let what = format!("the name in {}", quote(&reference.text));
        return refuse(reference, &what, losses);
    }
    if read.path.len() > used {
        if read.missing == Missing::Null {
            return refuse(reference, "that a missing value gives `null`", losses);
        }
        let what = "that a missing value fails the step";
        let difference = "mcp-cli hands the reference to the tool as text";
        losses.difference(reference.place, what, difference);
    }
    written.push('}');
    written
}

/// Returns true if mcp-cli reads `name` as one name: it splits at every `.` and ends at the first `}`.
fn is_plain(name: &str) -> bool {
    let special = |c: char| matches!(c, '.' | '{' | '}' | '[' | ']' | '"' | ':') || c.is_control();
    !name.is_empty() && name.trim() == name && name != "*" && !name.contains(special)
}

fn is_number(key: &str) -> bool {
    let digits = key.strip_prefix('-').unwrap_or(key);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn refuse(reference: &Reference, what: &str, losses: &mut LossReport<'_>) -> String {
    losses.error(reference.place, what);
    String::new()
}

/// The dependencies and the variable of a step.
#[derive(Clone, Debug)]
pub(super) struct StepLink<'a> {
    /// The index of the step.
    pub(super) index: &'a str,
    /// The indices of its dependencies.
    pub(super) after: Vec<&'a str>,
    /// The variable that it writes.
    pub(super) result: Option<&'a str>,
}

/// The source of a variable's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VariableOrigin {
    /// The step at this position.
    Step(usize),
    /// The plan or its caller.
    Initial,
}

/// The writers of all variables in execution order: by `depends_on`, else as listed.
#[derive(Debug)]
pub(super) struct VariableWriters<'a> {
    /// The rank of each step in that order.
    ranks: Vec<usize>,
    /// The writers of each variable by rank.
    writers: HashMap<&'a str, Vec<VariableWriter>>,
}

#[derive(Clone, Copy, Debug)]
struct VariableWriter {
    rank: usize,
    position: usize,
}

impl<'a> VariableWriters<'a> {
    /// Ranks all steps in O(steps · log steps + dependencies).
    pub(super) fn of(links: &[StepLink<'a>]) -> Self {
        let order = execution_order(links);
        let mut ranks = vec![0; links.len()];
        let mut writers: HashMap<&str, Vec<VariableWriter>> = HashMap::new();
        for (rank, position) in order.into_iter().enumerate() {
            ranks[position] = rank;
            if let Some(name) = links[position].result {
                let writer = VariableWriter { rank, position };
                writers.entry(name).or_default().push(writer);
            }
        }
        Self { ranks, writers }
    }

    /// Returns the source from which the step at `reader` reads `name`. `declared` is true if the plan gives the variable a value.
    pub(super) fn origin(&self, name: &str, reader: usize, declared: bool) -> VariableOrigin {
        let rank = self.ranks[reader];
        let writers = self.writers.get(name).map_or(&[][..], Vec::as_slice);
        // The latest writer before the reader counts; later ones only if nothing else provides a value.
        let (before, rest) = writers.split_at(writers.partition_point(|one| one.rank < rank));
        if let Some(writer) = before.last() {
            return VariableOrigin::Step(writer.position);
        }
        let later = rest.iter().find(|writer| writer.position != reader);
        match later {
            Some(writer) if !declared => VariableOrigin::Step(writer.position),
            _ => VariableOrigin::Initial,
        }
    }
}

/// The positions of all steps, each after its dependencies, else as listed. Steps in a cycle, and those that depend on
/// one, come last.
fn execution_order(links: &[StepLink<'_>]) -> Vec<usize> {
    let mut positions: HashMap<&str, usize> = HashMap::with_capacity(links.len());
    for (position, link) in links.iter().enumerate() {
        positions.entry(link.index).or_insert(position);
    }
    let mut followers: Vec<Vec<usize>> = vec![Vec::new(); links.len()];
    let mut waiting = vec![0usize; links.len()];
    for (position, link) in links.iter().enumerate() {
        for index in &link.after {
            if let Some(first) = positions.get(index) {
                followers[*first].push(position);
                waiting[position] += 1;
            }
        }
    }
    // The heap yields ready steps in listed order.
    let mut ready: BinaryHeap<Reverse<usize>> = (0..links.len())
        .filter(|position| waiting[*position] == 0)
        .map(Reverse)
        .collect();
    let mut order = Vec::with_capacity(links.len());
    while let Some(Reverse(position)) = ready.pop() {
        order.push(position);
        for follower in &followers[position] {
            waiting[*follower] -= 1;
            if waiting[*follower] == 0 {
                ready.push(Reverse(*follower));
            }
        }
    }
    let unordered = (0..links.len()).filter(|position| waiting[*position] > 0);
    order.extend(unordered);
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link<'a>(index: &'a str, after: &[&'a str], result: &'a str) -> StepLink<'a> {
        StepLink {
            index,
            after: after.to_vec(),
            result: (!result.is_empty()).then_some(result),
        }
    }

    #[test]
    fn the_origin_of_a_variable() {
        let listed = [
            link("1", &[], "x"),
            link("2", &[], ""),
            link("3", &[], "x"),
            link("4", &[], ""),
        ];
        let reordered = [
            link("1", &["3"], ""),
            link("2", &["1"], "x"),
            link("3", &[], "x"),
        ];
        let cycle = [
            link("1", &["2"], "x"),
            link("2", &["1"], "x"),
            link("3", &["ghost"], ""),
        ];
        let cases: [(&[StepLink<'_>], &str, usize, bool, VariableOrigin); 11] = [
            (&listed, "x", 1, false, VariableOrigin::Step(0)),
            (&listed, "x", 3, true, VariableOrigin::Step(2)),
            (&listed, "x", 0, false, VariableOrigin::Step(2)),
            (&listed, "x", 0, true, VariableOrigin::Initial),
            (&listed, "x", 2, false, VariableOrigin::Step(0)),
            (&listed, "y", 2, false, VariableOrigin::Initial),
            (&reordered, "x", 0, false, VariableOrigin::Step(2)),
            (&reordered, "x", 1, false, VariableOrigin::Step(2)),
            (&reordered, "x", 2, false, VariableOrigin::Step(1)),
            (&cycle, "x", 2, false, VariableOrigin::Step(0)),
            (&cycle, "x", 0, false, VariableOrigin::Step(1)),
        ];
        for (links, name, reader, declared, wanted) in cases {
            let writers = VariableWriters::of(links);
            assert_eq!(
                writers.origin(name, reader, declared),
                wanted,
                "{name} at {reader} of {links:?}"
            );
        }
    }
}
