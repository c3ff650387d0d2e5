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
    let translated = translated(text, language)?;
    crate::native::reference::is_expression(&translated).then_some(translated)
}

/// Returns true if `text` is an expression of this dialect as it stands, by what is readable and by what it can mean.
pub(in crate::native) fn is_own_expression(text: &str) -> bool {
    translated(text, Language::Own).is_some_and(|translated| translated == text.trim_end())
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
