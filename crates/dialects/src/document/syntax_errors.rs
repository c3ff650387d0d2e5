//! The diagnostics of the JSON reader.

use std::ops::Range;

use planwright_core::place::push_pointer_segment;
use planwright_core::{Code, Diagnostic, Diagnostics, Place, PointerSegment, TextEdit, Value};

use super::json_reader::{ContainerKind, JsonReader, OpenContainer, Unrecoverable};
use super::scalar::{StringError, escape_of};
use super::{Item, ItemEntry, ItemKind, Syntax, quote};

/// The exclusive maximum of missing brackets that advice spells out.
const MAX_SHOWN_BRACKETS: usize = 20;

/// The maximum length of the end of a text in advice, in bytes.
const MAX_LAST_BYTES: usize = 40;

/// The maximum length of a value in advice, in bytes.
const MAX_SHOWN_BYTES: usize = 500;

/// The maximum number of fields of each of two objects that become one.
const MAX_JOINED_FIELDS: usize = 20;

/// The advice for a text that is not JSON at all.
pub(crate) const EXPECT_JSON: &str = "give a JSON object";

impl JsonReader<'_> {
    /// Adds an error about the bytes from `start` to `end`, which belong to `place`.
    pub(super) fn report_error(
        &mut self,
        code: Code,
        place: Place,
        start: usize,
        end: usize,
        message: String,
        help: Option<String>,
    ) {
        let mut diagnostic = Diagnostic::error(code, message);
        diagnostic.help = help;
        self.push(diagnostic, place, start, end);
    }

    /// Adds `diagnostic` about the bytes from `start` to `end`, which belong to `place`.
    pub(super) fn push(&mut self, diagnostic: Diagnostic, place: Place, start: usize, end: usize) {
        if self.diagnostics.len() >= self.limits.diagnostics {
            self.suppressed += 1;
            return;
        }
        let pointer = self.source.pointer(place).unwrap_or_default();
        let span = self.span(start, end);
        self.diagnostics.push(diagnostic.at_span(pointer, span));
    }

    /// Adds a structural error, after which the value is unusable.
    pub(super) fn report_structure(
        &mut self,
        place: Place,
        start: usize,
        end: usize,
        message: String,
        help: &str,
    ) {
        // The repaired value may differ from what was meant, so it is only used to find further problems.
        self.is_broken = true;
        self.report_error(
            Code::NotJson,
            place,
            start,
            end,
            message,
            Some(help.to_owned()),
        );
    }

    /// Adds a structural error that exactly one edit fixes.
    pub(super) fn report_repairable(
        &mut self,
        place: Place,
        (start, end): (usize, usize),
        message: String,
        help: &str,
        edit: TextEdit,
    ) {
        // Only a text of its own has one meaning then: JSON in a text may be cut off as well.
        self.is_broken |= !self.is_json_alone();
        let diagnostic = Diagnostic::error(Code::NotJson, message).help(help);
        let edits = Some(edit).filter(|_| self.is_lenient());
        self.push(diagnostic.fixes(edits), place, start, end);
    }

    /// The diagnostics so far; the last one states how many were suppressed.
    pub(super) fn take_diagnostics(&mut self) -> Diagnostics {
        let mut diagnostics = std::mem::take(&mut self.diagnostics);
        diagnostics.sort();
        if self.suppressed > 0 {
            diagnostics.note_omitted(self.suppressed);
        }
        diagnostics
    }

    /// Reports an error unless JSON may begin here.
    pub(super) fn expect_json(&mut self, parent: Place) -> Result<(), Unrecoverable> {
        let Some(byte) = self.peek() else {
            let message = "the text is empty".to_owned();
            self.report_structure(parent, self.at, self.at, message, EXPECT_JSON);
            return Err(Unrecoverable);
        };
        let rest = &self.text[self.at..];
        let word = &self.text[self.at..self.end_of_word()];
        let is_start = matches!(byte, b'{' | b'[' | b'"' | b'\'' | b'-' | b'0'..=b'9');
        // A single word such as `None` is left to the reader of scalars, which has better advice.
        let is_word = !word.is_empty() && rest.trim_end() == word;
        if is_start || is_word {
            return Ok(());
        }
        let first_line = rest.lines().next().unwrap_or_default().trim_end();
        let message = format!("the text is not JSON, it begins with {}", quote(first_line));
        let help = if rest.contains("```") {
            "give the JSON alone, without the Markdown fence around it"
        } else if rest.contains('{') {
            "give the JSON alone, without the words around it"
        } else {
            EXPECT_JSON
        };
        let end = self.at + first_line.len();
        self.report_structure(parent, self.at, end, message, help);
        Err(Unrecoverable)
    }

    pub(super) fn report_trailing_text(&mut self, root: Place) {
        let rest = self.text[self.at..].trim_end();
        let first_line = rest.lines().next().unwrap_or_default().trim_end();
        let message = format!("unexpected text after the value: {}", quote(first_line));
        let end = self.at + rest.len();
        let help = if rest.starts_with('{') {
            "a text contains one value: put several values into a list"
        } else {
            "a text contains one value"
        };
        self.report_structure(root, self.at, end, message, help);
    }

    pub(super) fn report_unclosed(&mut self, stack: &[OpenContainer]) {
        let Some(open) = stack.last() else {
            return;
        };
        let (word, end) = open.kind.name_and_end();
        let message = format!("{word} is never closed");
        let help = match stack.len() {
            1 => format!("add `{end}` at its end"),
            2..MAX_SHOWN_BRACKETS => {
                let ends = stack.iter().rev().map(|open| open.kind.name_and_end().1);
                let ends: String = ends.collect();
                format!(
                    "the text may be cut off after {}: give all of it, or add `{ends}` at its end if nothing else is missing",
                    self.last_words()
                )
            }
            count => format!(
                "the text may be cut off: {} around it are not closed either",
                count - 1
            ),
        };
        let (place, start) = (open.place, open.start);
        self.report_error(Code::NotJson, place, start, start + 1, message, Some(help));
    }

    /// The end of the text, in quotes.
    pub(super) fn last_words(&self) -> String {
        let text = self.text.trim_end();
        let line = text.rsplit('\n').next().unwrap_or_default().trim_start();
        let start = line.len().saturating_sub(MAX_LAST_BYTES);
        quote(&line[line.ceil_char_boundary(start)..])
    }

    pub(super) fn report_too_deep(&mut self, place: Place, start: usize) -> Unrecoverable {
        let message = format!(
            "the text is nested deeper than the allowed {} levels",
            self.limits.effective_depth()
        );
        let help = "flatten the value, or pass it as an input of the run".to_owned();
        self.report_error(Code::TooDeep, place, start, start + 1, message, Some(help));
        Unrecoverable
    }

    pub(super) fn report_unexpected_character(&mut self, parent: Place) -> Unrecoverable {
        let end = self.end_of_character(self.at);
        let found = &self.text[self.at..end];
        let message = format!("{} has no meaning here", quote(found));
        let help = match found {
            "“" | "”" | "„" | "‘" | "’" | "`" => "use straight double quotes",
            "/" if self.syntax == Syntax::Lines => "a comment starts with `#`",
            "/" => "a comment starts with `//` or `/*`",
            "#" => "a comment starts with `//`",
            _ => "put text in double quotes",
        };
        self.report_structure(parent, self.at, end, message, help);
        Unrecoverable
    }

    pub(super) fn report_unclosed_comment(&mut self, parent: Place) -> Unrecoverable {
        let message = "a comment is never closed".to_owned();
        self.report_structure(parent, self.at, self.at + 2, message, "add `*/`");
        Unrecoverable
    }

    pub(super) fn report_missing_value(&mut self, parent: Place) {
        let message = "a value is missing".to_owned();
        let end = self.end_of_character(self.at);
        self.report_structure(parent, self.at, end, message, "write a value or `null`");
    }

    pub(super) fn report_leading_comma(&mut self, parent: Place) {
        let message = "a comma has nothing before it".to_owned();
        let edit = TextEdit::new(self.at..self.at + 1, "");
        let bytes = (self.at, self.at + 1);
        self.report_repairable(parent, bytes, message, "remove the comma", edit);
    }

    /// Reports a token in place of a comma or a closing bracket. If the token could begin another value, reading
    /// continues with it, so that a missing comma hides no other problem.
    pub(super) fn report_missing_comma(
        &mut self,
        open: &OpenContainer,
        byte: u8,
        wanted: char,
    ) -> Result<(), Unrecoverable> {
        let end = self.end_of_character(self.at);
        if byte == b'+'
            && let Some((joined, range)) = self.joined_values(open)
            && joined.len() <= MAX_SHOWN_BYTES
            && !joined.contains('`')
        {
            let help = format!("write `{joined}`");
            let edit = TextEdit::new(range, joined);
            let message = "JSON has no `+`".to_owned();
            self.report_repairable(open.place, (self.at, end), message, &help, edit);
            return Err(Unrecoverable);
        }
        let found = quote(&self.text[self.at..end]);
        let message = format!("expected `,` or `{wanted}`, found {found}");
        let (word, _) = open.kind.name_and_end();
        let help = match byte {
            b'}' | b']' | b')' => format!("close {word} with `{wanted}` first"),
            _ if !byte.is_ascii() && self.text[self.at..end].trim().is_empty() => {
                "write a plain space in place of this unusual one".to_owned()
            }
            _ => "put a comma between the two".to_owned(),
        };
        let continues = match open.kind {
            ContainerKind::List(_) => matches!(byte, b'"' | b'{' | b'[' | b'-' | b'0'..=b'9'),
            ContainerKind::Object { .. } => byte == b'"',
        };
        let before = open
            .kind
            .last()
            .and_then(|item| self.source.span(item.place));
        match before.filter(|_| continues) {
            Some(before) => {
                let comma = TextEdit::new(before.end..before.end, ",");
                self.report_repairable(open.place, (self.at, end), message, &help, comma);
                Ok(())
            }
            None => {
                self.report_structure(open.place, self.at, end, message, &help);
                Err(Unrecoverable)
            }
        }
    }

    /// Reports that the key of the entry `first` of an object is that of the entry `again` as well.
    pub(super) fn report_duplicate_key(
        &mut self,
        place: Place,
        entries: &[ItemEntry],
        (first, again): (usize, usize),
    ) {
        if self.diagnostics.len() >= self.limits.diagnostics {
            self.suppressed += 1;
            return;
        }
        let (Some(first), Some(before), Some(again)) = (
            entries.get(first),
            entries.get(again.saturating_sub(1)),
            entries.get(again),
        ) else {
            return;
        };
        let position = Position::of(self.source.text(), first.key_span.start);
        let message = format!("the object has the key {} twice", quote(&again.key));
        let (advice, edits) = match self.joined_objects(first, before, again) {
            Some((joined, edits)) => (format!("write one, `{joined}`"), edits),
            None => ("leave one of them out".to_owned(), Vec::new()),
        };
        let help = format!(
            "the first is in line {}, column {}: {advice}",
            position.line, position.column
        );
        let mut pointer = self.source.pointer(place).unwrap_or_default();
        // Both fields have the same pointer; the span tells them apart.
        push_pointer_segment(&mut pointer, &PointerSegment::Key(again.key.clone()));
        let edits = edits.into_iter().filter(|_| self.is_lenient());
        let diagnostic = Diagnostic::error(Code::DuplicateKey, message)
            .at_span(pointer, again.key_span)
            .fixes(edits)
            .help(help);
        self.diagnostics.push(diagnostic);
    }

    /// The field that two fields with one key make, if they are objects with different fields, and the edits that write it; `before`
    /// is the field before the second one.
    fn joined_objects(
        &self,
        first: &ItemEntry,
        before: &ItemEntry,
        again: &ItemEntry,
    ) -> Option<(String, Vec<TextEdit>)> {
        let fields = joined_fields(&first.item, &again.item)?;
        let item = Item {
            kind: ItemKind::Object(fields),
            place: first.item.place,
        };
        let joined = format!(
            "{}: {}",
            Value::text(&*again.key).to_json(),
            item.to_value().to_json()
        );
        let span = |entry: &ItemEntry| self.source.span(entry.item.place);
        let (first, before, again) = (span(first)?, span(before)?, span(again)?);
        let inside = self
            .source
            .text()
            .get(again.start + 1..again.end.checked_sub(1)?)?;
        let edits = vec![
            TextEdit::new(first.end - 1..first.end - 1, format!(", {}", inside.trim())),
            TextEdit::new(before.end..again.end, ""),
        ];
        let is_shown = joined.len() <= MAX_SHOWN_BYTES && !joined.contains('`');
        is_shown.then_some((joined, edits))
    }

    /// The text that values joined by `+` stand for, and the bytes of these values; the first one is the last value of `open`.
    fn joined_values(&self, open: &OpenContainer) -> Option<(String, Range<usize>)> {
        let text = self.source.text();
        let start = self.source.span(open.kind.last()?.place)?.start;
        let mut written = String::new();
        let mut at = start;
        loop {
            let rest = text.get(at..)?;
            let length = match rest.strip_prefix('"') {
                Some(inside) => {
                    let end = end_of_text(inside)?;
                    written.push_str(&inside[..end]);
                    end + 2
                }
                None => {
                    let is_of_path = |sign: char| sign.is_alphanumeric() || "_.[]".contains(sign);
                    let end = rest.find(|sign| !is_of_path(sign))?;
                    rest.starts_with(char::is_alphabetic).then_some(())?;
                    written.extend(["${", &rest[..end], "}"]);
                    end
                }
            };
            at += length;
            let next = text.get(at..)?.trim_start();
            match next.strip_prefix('+') {
                Some(next) => at = text.len() - next.trim_start().len(),
                None => {
                    let is_end = next.starts_with([',', '}', ']']);
                    return is_end.then(|| (format!("\"{written}\""), start..at));
                }
            }
        }
    }

    /// Reports a problem of a string. Only its first control character is reported; `controls` are the edits that escape all
    /// of them.
    pub(super) fn report_string_problem(
        &mut self,
        place: Place,
        problem: &StringError,
        controls: &[TextEdit],
    ) {
        match *problem {
            StringError::Control(at, character) => {
                let escape = escape_of(character);
                let message = "a text contains a control character that is not escaped".to_owned();
                let help = format!("write `{escape}`");
                let edits = controls.iter().filter(|_| self.is_lenient()).cloned();
                let diagnostic = Diagnostic::error(Code::NotJson, message).help(help);
                let diagnostic = diagnostic.fixes(edits);
                self.push(diagnostic, place, at, at + 1);
            }
            StringError::Escape(start, end) => {
                let message = format!("{} is not an escape", quote(&self.text[start..end]));
                let help = Some("write `\\\\` for a backslash".to_owned());
                self.report_error(Code::NotJson, place, start, end, message, help);
            }
            StringError::Surrogate(start, end) => {
                let written = quote(&self.text[start..end]);
                let message = format!("the escape {written} is half of a character");
                let help = "a character beyond `\\uffff` takes two escapes, the first from \
                            `\\ud800` to `\\udbff`, the second from `\\udc00` to `\\udfff`";
                let help = Some(help.to_owned());
                self.report_error(Code::LoneSurrogate, place, start, end, message, help);
            }
        }
    }
}

/// The fields of two objects that have none in common.
pub(super) fn joined_fields(first: &Item, second: &Item) -> Option<Vec<ItemEntry>> {
    let (first, second) = (first.as_object()?, second.as_object()?);
    let is_common = |entry: &ItemEntry| second.iter().any(|other| other.key == entry.key);
    let is_small = first.len() <= MAX_JOINED_FIELDS && second.len() <= MAX_JOINED_FIELDS;
    let is_any = !first.is_empty() && !second.is_empty() && is_small;
    (is_any && !first.iter().any(is_common)).then(|| [first, second].concat())
}

/// The number of bytes before the quote that ends a text of JSON.
fn end_of_text(inside: &str) -> Option<usize> {
    let mut is_escaped = false;
    inside.bytes().position(|byte| {
        let is_end = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        is_end
    })
}

/// A line and a column, both from 1.
struct Position {
    line: usize,
    column: usize,
}

impl Position {
    fn of(text: &str, at: usize) -> Self {
        let before = text.get(..at).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Self {
            line: before.bytes().filter(|byte| *byte == b'\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
        }
    }
}
