//! Texts that stand for expressions, names and ids.

use std::collections::HashSet;

use super::translation::{Language, translated};

/// The expression that a text without `${…}` is meant as; `None` if it is none.
pub(crate) fn expression_of(text: &str) -> Option<String> {
    expression_in(text, Language::Own)
}

/// The expression that the text in `language` without `${…}` is meant as; `None` if it is none.
pub(crate) fn expression_in(text: &str, language: Language) -> Option<String> {
    let text = text.trim();
    let stripped = [("${{", "}}"), ("{{", "}}")]
        .iter()
        .find_map(|(open, close)| text.strip_prefix(open)?.strip_suffix(close));
    let text = stripped.unwrap_or(text).trim();
    // `${{…: …}}` is a reference of this dialect to an object.
    if text.contains("${") || (stripped.is_some() && text.contains(':')) {
        return None;
    }
    let translate = |text: &str| {
        let translated = translated(text, language)?;
        crate::native::reference::is_expression(&translated).then_some(translated)
    };
    translate(text).or_else(|| translate(&with_methods(text)?))
}

/// Returns true if `text` is an expression of this dialect as it stands, by what is readable and by what it can mean.
pub(in crate::native) fn is_own_expression(text: &str) -> bool {
    translated(text, Language::Own).is_some_and(|translated| translated == text.trim_end())
}

/// Words between two values that stand for a method of the first one.
const METHODS: [(&str, &str); 9] = [
    (" does not contain ", "!contains"),
    (" not contains ", "!contains"),
    (" contains ", "contains"),
    (" includes ", "contains"),
    (" starts with ", "startsWith"),
    (" startswith ", "startsWith"),
    (" startsWith ", "startsWith"),
    (" ends with ", "endsWith"),
    (" matches ", "matches"),
];

/// Words after a value that say something about it.
const STATES: [(&str, &str); 9] = [
    (" is not empty", ".size() > 0"),
    (" is empty", ".size() == 0"),
    (" is not null", " != null"),
    (" is not None", " != null"),
    (" is defined", " != null"),
    (" exists", " != null"),
    (" is null", " == null"),
    (" is None", " == null"),
    (" is true", " == true"),
];

/// The expression that a sentence such as `a contains 'b'` or `a is not empty` is meant as.
fn with_methods(text: &str) -> Option<String> {
    let is_value = |text: &str| crate::native::reference::is_expression(text);
    for (words, method) in METHODS {
        if let Some((value, other)) = text.split_once(words)
            && !value.trim().contains(' ')
        {
            let (value, other) = (value.trim(), other.trim());
            let expression = match method.strip_prefix('!') {
                Some(method) => format!("!{value}.{method}({other})"),
                None => format!("{value}.{method}({other})"),
            };
            return is_value(&expression).then_some(expression);
        }
    }
    STATES.iter().find_map(|(words, after)| {
        let value = text.strip_suffix(words)?;
        (is_value(value) && !value.contains(' ')).then(|| format!("{value}{after}"))
    })
}

/// The name in a text such as `now`, `$now` or `${now}`.
pub(super) fn bare_name(text: &str) -> Option<String> {
    let name = text.trim_matches(|c: char| "${} ".contains(c));
    let is_name = !name.is_empty()
        && name.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && name
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
    is_name.then(|| name.to_owned())
}

/// The path of the output of the step `id`.
pub(crate) fn path_of(id: &str) -> String {
    if bare_name(id).as_deref() == Some(id) {
        return id.to_owned();
    }
    // Single quotes need no escape in the JSON of a plan.
    if !id.contains(['\'', '"', '\\']) {
        return format!("steps['{id}']");
    }
    format!("steps[{}]", planwright_core::Value::from(id).to_json())
}

/// An id for a call of `tool` that is not among `ids`.
pub(crate) fn free_id(tool: &str, ids: &HashSet<String>) -> String {
    let name = tool.rsplit(['.', '/', ':']).next().unwrap_or(tool);
    let name: String = name
        .chars()
        .map(|c| {
            if c.is_alphanumeric() || c == '_' {
                c
            } else {
                '_'
            }
        })
        .collect();
    let numbered = (2..).map(|number| format!("{name}_{number}"));
    let mut candidates = std::iter::once(name.clone()).chain(numbered);
    candidates.find(|id| !ids.contains(id)).unwrap_or(name)
}
