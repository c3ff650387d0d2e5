//! Printing of forms and paths in the syntax that the parser reads.

use super::parser::name_length;
use super::{MAX_EXPRESSION_CHARS, parse_form};
use crate::Value;
use crate::plan::{Alternative, Form, Missing, Read, Segment, SlotKind, Source};

/// Names at the beginning of a path that are no steps.
const ROOTS: &[&str] = &[
    "inputs", "vars", "slots", "steps", "results", "item", "index", "last", "env", "secrets",
    "true", "false", "null", "in",
];

/// Prints `form` as the text between `${` and `}`, so that [`parse_form`] returns the same form. Returns `None` for a
/// form without alternatives and for a text that exceeds the limit.
pub fn print_form(form: &Form) -> Option<String> {
    let text = match form {
        Form::First(alternatives) => {
            let parts: Vec<String> = alternatives.iter().map(print_alternative).collect();
            parts.join(" ?? ")
        }
        Form::All(reads) if reads.is_empty() => return None,
        Form::All(reads) => {
            let parts: Vec<String> = reads.iter().map(print_read).collect();
            format!("all({})", parts.join(", "))
        }
    };
    if text.is_empty() || text.chars().nth(MAX_EXPRESSION_CHARS).is_some() {
        return None;
    }
    // A literal list or object may be nested deeper than the parser allows.
    let has_literal = matches!(form, Form::First(all) if all.iter().any(|one| {
        matches!(one, Alternative::Literal(Value::List(_) | Value::Object(_)))
    }));
    if has_literal && parse_form(&text).is_err() {
        return None;
    }
    Some(text)
}

fn print_alternative(alternative: &Alternative) -> String {
    match alternative {
        Alternative::Read(read) => print_read(read),
        Alternative::Literal(value) => value.to_json(),
        Alternative::Expression(expression) => expression.text().to_string(),
    }
}

pub(super) fn print_read(read: &Read) -> String {
    let mut text = match &read.source {
        // An id that is also a reserved name would be read as that name.
        Source::Step(id) if is_plain(id.as_str()) && !ROOTS.contains(&id.as_str()) => {
            id.as_str().to_owned()
        }
        Source::Step(id) => format!("steps[{}]", json(id.as_str())),
        Source::Result(id) => format!("results[{}]", json(id.as_str())),
        Source::Slot(SlotKind::Inputs) => "inputs".into(),
        Source::Slot(SlotKind::Vars) => "vars".into(),
        Source::Slot(SlotKind::State) => "slots.state".into(),
        Source::Slot(SlotKind::Data) => "slots.data".into(),
        Source::Item => "item".into(),
        Source::Index => "index".into(),
        Source::Last => "last".into(),
        Source::ExternalValue(what, name) => {
            format!("{what}{}", print_path(&[Segment::Key(name.clone())]))
        }
    };
    text.push_str(&print_path_with(&read.path, read.missing));
    text
}

/// Prints `path` as written after the id of a step: `.field[0][*]["odd key"]`.
pub fn print_path(path: &[Segment]) -> String {
    print_path_with(path, Missing::Fail)
}

fn print_path_with(path: &[Segment], missing: Missing) -> String {
    let mut text = String::new();
    let mut is_marked = missing != Missing::NullInItems;
    for segment in path {
        match segment {
            Segment::Key(key) if !key.is_empty() && name_length(key) == key.len() => {
                text.extend([".", key]);
            }
            Segment::Key(key) => text.extend(["[", &json(key), "]"]),
            Segment::Index(index) => text.extend(["[", &index.to_string(), "]"]),
            // One mark on the first `[*]` applies to the whole path.
            Segment::Each if is_marked => text.push_str("[*]"),
            Segment::Each => {
                text.push_str("[*?]");
                is_marked = true;
            }
        }
    }
    if missing == Missing::Null {
        text.push('?');
    }
    text
}

/// Returns true if a step's id can begin a path without quotes.
fn is_plain(id: &str) -> bool {
    name_length(id) == id.len() && !id.starts_with(|letter: char| letter.is_ascii_digit())
}

fn json(text: &str) -> String {
    Value::text(text).to_json()
}
