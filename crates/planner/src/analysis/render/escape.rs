//! Escapes names and data of results so that they cannot pass as figures or instructions.

use std::fmt;

use planwright_core::Value;
use planwright_core::text::visible;

use crate::analysis::clipped;

/// The length of a name that is written without quotes, in characters.
const MAX_PLAIN_NAME: usize = 60;

/// The length of quoted data in a line, in characters.
const MAX_QUOTED_TEXT: usize = 120;

/// Renders the name of a step, a tool, or a field: as is if it is one plain word, else quoted.
pub(crate) fn display_name(text: &str) -> String {
    if is_plain(text, "_-.$@") {
        text.to_owned()
    } else {
        quote(text)
    }
}

/// Renders a pointer to follow the name of its step.
pub(crate) fn display_pointer(at: &str) -> String {
    match at {
        "" => String::new(),
        _ if is_plain(at, "_-.$@/*~") => format!(" {at}"),
        _ => format!(" {}", quote(at)),
    }
}

/// Quotes data, and escapes all invisible characters.
pub(crate) fn quote(text: &str) -> String {
    // JSON escapes line breaks, so that data cannot start a line of its own.
    let escaped = Value::text(clipped(text, MAX_QUOTED_TEXT)).to_json();
    visible(&escaped).into_owned()
}

/// Renders a value as JSON with visible characters unescaped.
pub(crate) fn display_value(value: &Value) -> String {
    match value {
        Value::Text(text) => quote(text),
        other => visible(&other.to_json()).into_owned(),
    }
}

pub(crate) fn comma_separated<T: fmt::Display>(texts: impl IntoIterator<Item = T>) -> String {
    let texts: Vec<String> = texts.into_iter().map(|text| text.to_string()).collect();
    texts.join(", ")
}

fn is_plain(text: &str, signs: &str) -> bool {
    let is_usual = |letter: char| letter.is_alphanumeric() || signs.contains(letter);
    !text.is_empty() && text.chars().count() <= MAX_PLAIN_NAME && text.chars().all(is_usual)
}
