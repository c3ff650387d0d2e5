//! The part of a text that a diagnostic is about: a few lines, long ones cut around the spot.

use miette::{MietteError, MietteSpanContents, SourceCode, SourceSpan, SpanContents};
use planwright::core::Span;
use planwright::terminal_text;

/// The lines shown before the spot, and after it.
const AROUND: usize = 1;

/// The lines shown after a spot that goes over several lines: its own first ones.
const AFTER_LONG: usize = 2;

/// The bytes that are looked at for a column that is shown. A plan may be one line of megabytes, with many diagnostics in it.
const BYTES_OF_COLUMN: usize = 16;

/// A few lines of a text, with the spot marked.
#[derive(Debug)]
pub(super) struct Excerpt {
    name: String,
    text: String,
    /// The spot in `text`.
    spot: (usize, usize),
    first_line: usize,
    line: usize,
    column: usize,
    line_count: usize,
}

impl Excerpt {
    /// The lines of `text` around `span`, none longer than `width` columns. Of a span over several lines, the first is
    /// marked.
    pub(super) fn of(name: &str, text: &str, span: Span, width: usize) -> Self {
        // A part missing at the end of a text is marked behind its last word.
        let start = floor(text, span.start).min(text.trim_end().len());
        let end = floor(text, span.end).max(start);
        let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |at| start + at);
        let is_long = end > line_end;
        let end = end.min(line_end).max(start);
        let line = text[..start].matches('\n').count();

        let before: Vec<&str> = text[..line_start].lines().rev().take(AROUND).collect();
        let after = if is_long { AFTER_LONG } else { AROUND };
        let after: Vec<&str> = text[line_end..].lines().skip(1).take(after).collect();

        let mut shown = String::new();
        for context in before.iter().rev() {
            shown.push_str(&terminal_text::shortened(
                &clean(first(context, width)),
                width,
                "…",
            ));
            shown.push('\n');
        }
        let spot = push_marked_line(
            &mut shown,
            &clean(last(&text[line_start..start], width)),
            &clean(first(&text[start..end], width)),
            clean(first(&text[end..line_end], width)).trim_end(),
            width,
        );
        for context in &after {
            shown.push('\n');
            shown.push_str(&terminal_text::shortened(
                &clean(first(context, width)),
                width,
                "…",
            ));
        }
        Self {
            name: name.to_owned(),
            text: shown,
            spot,
            first_line: line - before.len(),
            line,
            column: text[line_start..start].chars().count(),
            line_count: before.len() + 1 + after.len(),
        }
    }

    /// The spot, in the excerpt.
    pub(super) fn spot(&self) -> SourceSpan {
        (self.spot.0, self.spot.1 - self.spot.0).into()
    }

    /// The spot's line and column in the whole text, from 1.
    pub(super) fn position(&self) -> (usize, usize) {
        (self.line + 1, self.column + 1)
    }
}

impl SourceCode for Excerpt {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        lines_before: usize,
        lines_after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let name = self.name.clone();
        let contents = if lines_before + lines_after > 0 {
            let whole: SourceSpan = (0, self.text.len()).into();
            let bytes = self.text.as_bytes();
            MietteSpanContents::new_named(name, bytes, whole, self.first_line, 0, self.line_count)
        } else {
            let bytes = self
                .text
                .as_bytes()
                .get(span.offset()..span.offset() + span.len())
                .ok_or(MietteError::OutOfBounds)?;
            MietteSpanContents::new_named(name, bytes, *span, self.line, self.column, 1)
        };
        Ok(Box::new(contents))
    }
}

/// Appends the line with the spot, cut on both sides if it is too long, and returns the new position of the spot.
fn push_marked_line(
    shown: &mut String,
    before: &str,
    marked: &str,
    after: &str,
    width: usize,
) -> (usize, usize) {
    // The end of a line has nothing to underline but a space.
    let marked = if marked.is_empty() && after.is_empty() {
        " "
    } else {
        marked
    };
    let marked = terminal_text::shortened(marked, width * 2 / 3, "…");
    let room = width.saturating_sub(terminal_text::width(&marked));
    // The text before the spot is more informative than the text after it.
    let spare = room.saturating_sub(terminal_text::width(after));
    let before = last_columns(before, spare.max(room * 2 / 3));
    let room = room.saturating_sub(terminal_text::width(&before));
    let after = terminal_text::shortened(after, room, "…");
    shown.push_str(&before);
    let start = shown.len();
    shown.push_str(&marked);
    let end = shown.len();
    shown.push_str(&after);
    (start, end)
}

/// The end of `text`, in at most `columns`.
fn last_columns(text: &str, columns: usize) -> String {
    if terminal_text::width(text) <= columns {
        return text.to_owned();
    }
    let mut start = text.len();
    let mut taken = 1;
    for (at, character) in text.char_indices().rev() {
        taken += terminal_text::width(character.encode_utf8(&mut [0; 4]));
        if taken > columns {
            break;
        }
        start = at;
    }
    format!("…{}", &text[start..])
}

/// As much of the beginning of `text` as may be shown in `columns`.
fn first(text: &str, columns: usize) -> &str {
    &text[..floor(text, columns.saturating_mul(BYTES_OF_COLUMN))]
}

/// As much of the end of `text` as may be shown in `columns`.
fn last(text: &str, columns: usize) -> &str {
    let start = text
        .len()
        .saturating_sub(columns.saturating_mul(BYTES_OF_COLUMN));
    &text[floor(text, start)..]
}

/// Returns `text` without control characters.
fn clean(text: &str) -> String {
    terminal_text::lines(text).replace('\n', "")
}

/// `at`, or the start of the character that it is inside of.
fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
