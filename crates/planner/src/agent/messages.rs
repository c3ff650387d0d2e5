//! Messages about errors, and values cut to the length of a message.

use planwright_core::{Object, Value};

/// Returns an error message that concerns no single call.
pub(super) fn error_message(code: &str, message: &str) -> Value {
    Value::object([
        ("type", Value::from("error")),
        (
            "error",
            Value::object([
                ("code", Value::from(code)),
                ("message", Value::from(message)),
            ]),
        ),
    ])
}

/// Returns an error message about a call.
pub(super) fn call_error_message(call: &Value, error: Value) -> Value {
    Value::object([
        ("type", Value::from("error")),
        ("call", call.clone()),
        ("error", error),
    ])
}

/// Returns a value with texts of at most `max_chars` characters, and lists of at most a twentieth as many items. References still read the
/// full value.
pub(super) fn shorten(value: &Value, max_chars: usize) -> Value {
    match value {
        Value::Text(text) if text.chars().count() > max_chars => {
            // Counted in characters, since a cut between the bytes of one would not be text.
            let all = text.chars().count();
            let beginning: String = text.chars().take(max_chars).collect();
            Value::from(format!("{beginning}… ({} more letters)", all - max_chars))
        }
        Value::List(items) => {
            // An item has twenty characters or so, and a few of them show the form of all.
            let max_items = (max_chars / 20).max(3);
            let first = items.iter().take(max_items);
            let mut first: Vec<Value> = first.map(|item| shorten(item, max_chars)).collect();
            if items.len() > max_items {
                first.push(Value::from(format!(
                    "… ({} more items)",
                    items.len() - max_items
                )));
            }
            Value::from(first)
        }
        Value::Object(fields) => {
            let shorter = fields
                .iter()
                .map(|(name, value)| (name.clone(), shorten(value, max_chars)));
            Value::from(shorter.collect::<Object>())
        }
        other => other.clone(),
    }
}
