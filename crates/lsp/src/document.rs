//! A text that is open in the editor, and the translation of its positions.

use std::ops::Range;

use line_index::{LineCol, LineIndex, TextSize, WideEncoding, WideLineCol};
use lsp_types::{Position, TextDocumentContentChangeEvent};

/// The unit of columns, as the client and the server agreed on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnUnit {
    /// Bytes of UTF-8.
    Utf8,
    /// Units of UTF-16, which every client understands.
    Utf16,
}

/// A text and the positions of its lines.
#[derive(Clone, Debug)]
pub(crate) struct TextDocument {
    text: String,
    lines: LineIndex,
    unit: ColumnUnit,
}

impl TextDocument {
    pub(crate) fn new(text: String, unit: ColumnUnit) -> Self {
        Self {
            lines: LineIndex::new(&text),
            text,
            unit,
        }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Applies a change of the editor: to a range, or to the whole text.
    pub(crate) fn apply(&mut self, change: TextDocumentContentChangeEvent) {
        let text = match change.range {
            None => change.text,
            Some(range) => {
                let (start, end) = (self.offset(range.start), self.offset(range.end));
                let mut text = std::mem::take(&mut self.text);
                text.replace_range(start..end.max(start), &change.text);
                text
            }
        };
        *self = Self::new(text, self.unit);
    }

    /// The byte at `position`. A position after the end of a line is its end, and one after the last line the end of the text.
    pub(crate) fn offset(&self, position: Position) -> usize {
        let Some(line) = self.lines.line(position.line) else {
            return self.text.len();
        };
        let (start, end) = (usize::from(line.start()), usize::from(line.end()));
        let content = self.text.get(start..end).unwrap_or_default();
        let content = content.trim_end_matches(['\n', '\r']);
        let column = match self.unit {
            ColumnUnit::Utf8 => Some(LineCol {
                line: position.line,
                col: position.character,
            }),
            ColumnUnit::Utf16 => {
                let units = content.encode_utf16().count();
                let col =
                    usize::try_from(position.character).map_or(units, |column| column.min(units));
                let wide = WideLineCol {
                    line: position.line,
                    col: u32::try_from(col).unwrap_or(u32::MAX),
                };
                self.lines.to_utf8(WideEncoding::Utf16, wide)
            }
        };
        let offset = column
            .and_then(|column| self.lines.offset(column))
            .map_or(start, usize::from);
        self.text
            .floor_char_boundary(offset.min(start + content.len()))
    }

    /// The position of the byte `offset`.
    pub(crate) fn position(&self, offset: usize) -> Position {
        let offset = self.text.floor_char_boundary(offset.min(self.text.len()));
        let size = TextSize::try_from(offset).unwrap_or_default();
        let narrow = self.lines.line_col(size);
        match self.unit {
            ColumnUnit::Utf8 => Position::new(narrow.line, narrow.col),
            ColumnUnit::Utf16 => {
                let wide = self.lines.to_wide(WideEncoding::Utf16, narrow);
                wide.map_or_else(Position::default, |wide| Position::new(wide.line, wide.col))
            }
        }
    }

    /// The range between two bytes.
    pub(crate) fn range(&self, span: Range<usize>) -> lsp_types::Range {
        lsp_types::Range::new(self.position(span.start), self.position(span.end))
    }

    /// The range of the whole text.
    pub(crate) fn whole(&self) -> lsp_types::Range {
        self.range(0..self.text.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(
        range: Option<((u32, u32), (u32, u32))>,
        text: &str,
    ) -> TextDocumentContentChangeEvent {
        let position = |(line, column)| Position::new(line, column);
        TextDocumentContentChangeEvent {
            range: range.map(|(start, end)| lsp_types::Range::new(position(start), position(end))),
            range_length: None,
            text: text.to_owned(),
        }
    }

    #[test]
    fn positions_count_units_of_utf_16() {
        let document = TextDocument::new("a😀é\r\nb\n".to_owned(), ColumnUnit::Utf16);
        let cases = [
            ((0, 0), 0),
            ((0, 1), 1),
            ((0, 3), 5),
            ((0, 4), 7),
            ((1, 0), 9),
            ((1, 1), 10),
            ((2, 0), 11),
        ];
        for ((line, column), offset) in cases {
            let position = Position::new(line, column);
            assert_eq!(document.offset(position), offset, "{position:?}");
            assert_eq!(document.position(offset), position, "{offset}");
        }
        // Beyond a line, within a character, beyond the text.
        assert_eq!(document.offset(Position::new(0, 99)), 7);
        assert_eq!(document.offset(Position::new(9, 0)), 11);
        assert_eq!(document.position(99), Position::new(2, 0));
    }

    #[test]
    fn positions_count_bytes_if_the_client_does() {
        let document = TextDocument::new("😀é\n".to_owned(), ColumnUnit::Utf8);
        assert_eq!(document.offset(Position::new(0, 4)), 4);
        assert_eq!(document.offset(Position::new(0, 5)), 4);
        assert_eq!(document.position(6), Position::new(0, 6));
    }

    #[test]
    fn changes_are_applied_in_turn() {
        let mut document = TextDocument::new("one\ntwo\n".to_owned(), ColumnUnit::Utf16);
        document.apply(change(Some(((0, 3), (1, 0))), ", "));
        assert_eq!(document.text(), "one, two\n");
        document.apply(change(Some(((1, 0), (1, 0))), "three\n"));
        assert_eq!(document.text(), "one, two\nthree\n");
        document.apply(change(None, "{}"));
        assert_eq!(document.text(), "{}");
    }
}
