//! Edits that correct the text of a plan, and preserve its comments and its formatting.

use planwright_core::{SourceText, Span, TextEdit, Value};

use super::ItemEntry;

/// The edits that rename the field `entry` to `key`, and replace its value by the JSON text `value`, if any. Empty if the field
/// is not written verbatim in the text: JSON inside a string has escaped quotes.
pub(crate) fn field_edits(
    source: &SourceText,
    entry: &ItemEntry,
    key: &str,
    value: Option<String>,
) -> Vec<TextEdit> {
    let Some(edit) = key_edit(source, (&entry.key, entry.key_span), key) else {
        return Vec::new();
    };
    let mut edits = Vec::new();
    if *entry.key != *key {
        edits.push(edit);
    }
    if let Some(value) = value {
        let Some(span) = source.span(entry.item.place) else {
            return Vec::new();
        };
        edits.push(TextEdit::new(span, value));
    }
    edits
}

/// The edit that removes the field `entry`, with the comma and the blanks that belong to it; `None` if the text does not have the
/// field as such.
pub(crate) fn removal(source: &SourceText, entry: &ItemEntry) -> Option<TextEdit> {
    key_edit(source, (&entry.key, entry.key_span), "")?;
    let text = source.text();
    let start = entry.key_span.start;
    let end = source.span(entry.item.place)?.end;
    let rest = text.get(end..)?;
    let after = rest.trim_start();
    if let Some(after) = after.strip_prefix(',') {
        // The next field comes to the place of this one.
        let next = after.trim_start();
        return Some(TextEdit::new(start..text.len() - next.len(), ""));
    }
    // The comma before the last field goes as well. If a comment is between them, the comma stays as a trailing one, which
    // readers accept.
    let before = text.get(..start)?.trim_end();
    let start = before.strip_suffix(',').map_or(start, str::len);
    Some(TextEdit::new(start..end, ""))
}

/// The edit that writes the text at `span` as JSON; `None` if it does not begin with a quote there.
pub(crate) fn text_edit(source: &SourceText, span: Span, text: &str) -> Option<TextEdit> {
    let written = source.text().get(span.start..span.end)?;
    written
        .starts_with(['"', '\''])
        .then(|| TextEdit::new(span, json(text)))
}

/// `text` as a JSON string.
pub(crate) fn json(text: &str) -> String {
    Value::from(text).to_json()
}

/// The edit that writes `name` in place of `key` at `span`; `None` if the text does not have the key there as such.
pub(crate) fn key_edit(
    source: &SourceText,
    (key, span): (&str, Span),
    name: &str,
) -> Option<TextEdit> {
    let written = source.text().get(span.start..span.end)?;
    let unquoted = |quote: char| written.strip_prefix(quote)?.strip_suffix(quote);
    let is_written = !written.is_empty()
        && (written == key || unquoted('"') == Some(key) || unquoted('\'') == Some(key));
    is_written.then(|| TextEdit::new(span, json(name)))
}

#[cfg(test)]
mod tests {
    use planwright_core::Diagnostic;
    use planwright_core::{Code, Diagnostics};

    use super::*;
    use crate::document::{Document, ReadLimits, read};

    fn document(text: &str) -> Document {
        let (document, _) = read(text, "test", 0, &ReadLimits::default());
        document.unwrap_or_else(|| panic!("{text} is readable"))
    }

    /// `text` without its field `b`.
    fn check(text: &str, expected: &str) {
        let document = document(text);
        let entry = document.root.as_object().unwrap();
        let entry = entry.iter().find(|entry| &*entry.key == "b").unwrap();
        let edit = removal(&document.source, entry);
        let found: Diagnostics = [Diagnostic::note(Code::ReadAs, "").fixes(edit)]
            .into_iter()
            .collect();
        assert_eq!(found.apply_fixes(text).as_deref(), Some(expected), "{text}");
    }

    #[test]
    fn a_field_is_removed_with_its_comma() {
        check(r#"{"a": 1, "b": 2, "c": 3}"#, r#"{"a": 1, "c": 3}"#);
        check(r#"{"b": 2}"#, "{}");
        check(r#"{"a": 1, "b": 2}"#, r#"{"a": 1}"#);
        check("{\n  \"b\": 2,\n  \"c\": 3\n}", "{\n  \"c\": 3\n}");
        check("{\n  \"a\": 1,\n  b: [2]\n}", "{\n  \"a\": 1\n}");
        check("{'b': 2, // why\n 'a': 1}", "{// why\n 'a': 1}");
        check("{'a': 1, // one\n 'b': 2}", "{'a': 1, // one\n }");
    }

    #[test]
    fn a_key_inside_of_another_text_is_not_edited() {
        let text = r#"{"x": "{\"b\": 1}"}"#;
        let mut document = document(text);
        let inner = document.root.get("x").unwrap().clone();
        let limits = ReadLimits::default();
        let (read, _) = crate::document::read_inside(&mut document.source, &inner, &limits);
        let read = read.unwrap();
        let entry = &read.as_object().unwrap()[0];
        assert_eq!(removal(&document.source, entry), None);
        assert!(field_edits(&document.source, entry, "c", None).is_empty());
    }
}
