//! Paragraphs, broken into lines.

use anstream::adapter::strip_str;
use planwright::terminal_text;

/// Breaks each line of `text` that is longer than `columns`. The further lines stand two columns to the right of the first.
pub(crate) fn fitted(text: &str, columns: usize) -> String {
    let lines = text.lines().map(|line| {
        if width(line) <= columns {
            return line.to_owned();
        }
        let words = line.trim_start_matches(' ');
        let margin = " ".repeat(line.len() - words.len());
        let lines = filled(words, columns.saturating_sub(margin.len()), 2);
        let lines = lines.lines().map(|line| format!("{margin}{line}"));
        lines.collect::<Vec<_>>().join("\n")
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Breaks `text` into lines of at most `columns`, if its words are short enough. All lines but the first are indented. Text
/// between backticks, such as a command to paste, is not broken.
pub(crate) fn filled(text: &str, columns: usize, indentation: usize) -> String {
    let mut filled = String::new();
    let mut column = 0;
    for word in words(text) {
        let width = width(word);
        if column > indentation && column + 1 + width > columns {
            filled.push('\n');
            filled.extend(std::iter::repeat_n(' ', indentation));
            column = indentation;
        } else if column > 0 {
            filled.push(' ');
            column += 1;
        }
        filled.push_str(word);
        column += width;
    }
    filled
}

/// Returns the columns of a text, which may have styles.
fn width(text: &str) -> usize {
    terminal_text::width(&strip_str(text).to_string())
}

/// The words of `text`. White space between backticks separates no words and is preserved: it may be part of a name.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut is_quoted = false;
    let mut start = None;
    for (at, character) in text.char_indices() {
        is_quoted ^= character == '`';
        let is_gap = character.is_whitespace() && !is_quoted;
        match start {
            Some(begin) if is_gap => {
                words.extend(text.get(begin..at));
                start = None;
            }
            None if !is_gap => start = Some(at),
            Some(_) | None => {}
        }
    }
    words.extend(start.and_then(|begin| text.get(begin..)));
    words
}

#[cfg(test)]
mod tests {
    use super::{filled, fitted};

    #[test]
    fn long_lines_are_broken() {
        let text = "a: b\n  hint: say `x y z` or `u`";
        assert_eq!(fitted(text, 30), text);
        let styled = "\u{1b}[32m✓\u{1b}[0m two words";
        assert_eq!(fitted(styled, 11), styled);
        assert_eq!(
            fitted(text, 14),
            "a: b\n  hint: say\n    `x y z` or\n    `u`"
        );
    }

    #[test]
    fn lines_break_between_words() {
        for (text, columns, indentation, expected) in [
            ("", 10, 0, ""),
            ("a b c", 3, 0, "a b\nc"),
            ("a  b\nc", 9, 2, "a b c"),
            ("- one two", 5, 2, "- one\n  two"),
            ("longer than it", 4, 0, "longer\nthan\nit"),
            ("東京 東京", 5, 0, "東京\n東京"),
            ("say `a b c`, d", 8, 0, "say\n`a b c`,\nd"),
            ("an `open one", 4, 0, "an\n`open one"),
            ("rm `a  b`  now", 8, 0, "rm\n`a  b`\nnow"),
        ] {
            assert_eq!(filled(text, columns, indentation), expected, "{text}");
        }
    }
}
