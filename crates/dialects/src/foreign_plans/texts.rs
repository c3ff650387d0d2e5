//! References and constants in the texts of other systems.

use std::sync::Arc;

use planwright_core::Value;

/// A copy of `value` with each text replaced by `replace`.
pub(super) fn replaced(value: &Value, replace: &impl Fn(&str) -> String) -> Value {
    match value {
        Value::Text(text) => Value::text(replace(text)),
        Value::List(items) => Value::list(items.iter().map(|item| replaced(item, replace))),
        Value::Object(fields) => {
            let fields = fields.iter();
            Value::object(fields.map(|(key, field)| (Arc::clone(key), replaced(field, replace))))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// A copy of `value` with escaped texts: in literal texts of other systems `${` begins no reference.
pub(crate) fn escaped(value: &Value) -> Value {
    replaced(value, &|text| text.replace("${", "$${"))
}

/// The maximum length of the path in a reference, in bytes; a longer one is not replaced.
const MAX_PATH_BYTES: usize = 256;

/// The maximum length of a constant, in bytes. It bounds the size of a text that contains the constant many times.
const MAX_CONSTANT_BYTES: usize = 256;

/// Replaces the references `${…}`, `{{ … }}` and `${{ … }}` in `text` by the text that `meaning` gives for the path in them. References
/// without a meaning stay.
pub(super) fn replace_references(text: &str, meaning: impl Fn(&str) -> Option<String>) -> String {
    let mut written = String::new();
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        let found = [("${{", "}}"), ("{{", "}}"), ("${", "}")]
            .iter()
            .find_map(|(open, close)| {
                let inside = rest.strip_prefix(*open)?;
                let window = &inside[..inside.floor_char_boundary(MAX_PATH_BYTES)];
                let end = window.find(*close)?;
                Some((meaning(window[..end].trim())?, &inside[end + close.len()..]))
            });
        match found {
            Some((path, behind)) => {
                written.push_str(&path);
                rest = behind;
            }
            None => {
                written.push(character);
                rest = &rest[character.len_utf8()..];
            }
        }
    }
    written
}

/// The text that replaces a reference to `value` inside a longer text, if `value` is a short literal.
pub(super) fn constant(value: &Value) -> Option<String> {
    match value {
        Value::Text(text) if text.len() > MAX_CONSTANT_BYTES => None,
        Value::Text(text) if !text.contains("${") && !text.contains("{{") => Some(text.to_string()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_json()),
        Value::Text(_) | Value::Null | Value::List(_) | Value::Object(_) => None,
    }
}
