//! The arguments that a plan means: a parameter under another name, and a literal in another form.

use std::sync::Arc;

use crate::schema::{Compatibility, Type};
use crate::{Schema, Value};

/// Words that tools use for the same parameter.
const WORDS: [&[&str]; 11] = [
    &["limit", "max", "count", "top", "n"],
    &[
        "path",
        "file",
        "filename",
        "filepath",
        "dir",
        "directory",
        "folder",
    ],
    &["text", "message", "msg", "content", "body"],
    &["query", "sql", "q", "statement", "search"],
    &["from", "source", "src"],
    &["to", "target", "dest", "destination", "dst"],
    &["url", "uri", "link", "address"],
    &["timezone", "tz", "zone"],
    &["city", "location", "place"],
    &["pattern", "glob", "regex"],
    &["id", "identifier"],
];

/// The maximum length of a value in advice, in bytes.
const MAX_SHOWN: usize = 300;

/// The maximum depth of a value that is put into another form.
const MAX_DEPTH: usize = 8;

/// Returns true if the parameter `known` may be meant by `written`: their words are the same, or one is a part of the other.
pub(super) fn is_related(written: &str, known: &str) -> bool {
    let (written, known) = (words(written), words(known));
    let is_part = |part: &[String], whole: &[String]| {
        part.iter()
            .all(|word| whole.iter().any(|other| is_same(word, other)))
    };
    !written.is_empty()
        && !known.is_empty()
        && (is_part(&written, &known) || is_part(&known, &written))
}

fn is_same(one: &str, other: &str) -> bool {
    let both = |group: &&[&str]| group.contains(&one) && group.contains(&other);
    one == other || WORDS.iter().any(both)
}

/// The words of a name in lower case: `maxCount` and `max_count` have two.
fn words(name: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    for sign in name.chars() {
        let ends = !sign.is_alphanumeric() || sign.is_uppercase();
        if ends && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if sign.is_alphanumeric() {
            word.extend(sign.to_lowercase());
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// The advice to write `value` in the form that `wanted` takes, if there is exactly one.
pub(super) fn literal_advice(wanted: &Type, value: &Value) -> Option<String> {
    let meant = fitted(wanted, value, 0)?;
    let json = (meant != *value).then(|| meant.to_json())?;
    let is_shown = json.len() <= MAX_SHOWN && !json.contains('`') && !json.contains("${");
    is_shown.then(|| format!("write `{json}`"))
}

/// `value` in the form that `wanted` takes: `"5"` as a number, an item as a list; `None` if it fits in no form.
fn fitted(wanted: &Type, value: &Value, depth: usize) -> Option<Value> {
    if depth > MAX_DEPTH {
        return None;
    }
    let fits = |value: &Value| wanted.accepts(&Type::Literal(value.clone())) == Compatibility::Yes;
    if fits(value) {
        return Some(value.clone());
    }
    let found = match (wanted, value) {
        // A number in quotes; other JSON in a text may be meant as text.
        (Type::Number | Type::Integer | Type::Boolean, Value::Text(text)) => {
            Value::from_json(text.trim().to_ascii_lowercase().as_str()).ok()?
        }
        (Type::Text, Value::Number(_) | Value::Bool(_)) => Value::text(value.to_json()),
        (Type::List(_), Value::List(items)) => {
            let items = items.iter().enumerate();
            let items = items.map(|(index, item)| fitted(&wanted.item(index), item, depth + 1));
            Value::list(items.collect::<Option<Vec<_>>>()?)
        }
        (Type::List(_), Value::Text(_) | Value::Number(_) | Value::Bool(_) | Value::Object(_)) => {
            Value::list([fitted(&wanted.item(0), value, depth + 1)?])
        }
        (Type::Object(_), Value::Object(fields)) => {
            let fields = fields.iter().map(|(key, field)| {
                let field = match wanted.property(key) {
                    Some(wanted) => fitted(&wanted, field, depth + 1)?,
                    None => field.clone(),
                };
                Some((Arc::clone(key), field))
            });
            Value::object(fields.collect::<Option<Vec<_>>>()?)
        }
        _ => return None,
    };
    fits(&found).then_some(found)
}

/// Returns true if `schema` says that there are no parameters, in words that allow more.
pub(super) fn lists_none(schema: &Schema) -> bool {
    let value = schema.as_value();
    let is_empty = |fields: &Value| {
        fields
            .as_object()
            .is_some_and(|fields| fields.iter().next().is_none())
    };
    value.get("properties").is_some_and(is_empty)
        && [
            "additionalProperties",
            "patternProperties",
            "anyOf",
            "oneOf",
            "allOf",
            "$ref",
        ]
        .iter()
        .all(|key| value.get(key).is_none())
}
