//! Paragraphs, broken into lines.

use planwright::terminal_text;

/// Breaks `text` into lines of at most `columns`, where its words allow it. All lines but the first are indented.
pub(crate) fn filled(text: &str, columns: usize, indentation: usize) -> String {
    let mut filled = String::new();
    let mut column = 0;
    for word in text.split_whitespace() {
        let width = terminal_text::width(word);
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

#[cfg(test)]
mod tests {
    use super::filled;

    #[test]
    fn lines_break_between_words() {
        for (text, columns, indentation, expected) in [
            ("", 10, 0, ""),
            ("a b c", 3, 0, "a b\nc"),
            ("a  b\nc", 9, 2, "a b c"),
            ("- one two", 5, 2, "- one\n  two"),
            ("longer than it", 4, 0, "longer\nthan\nit"),
            ("東京 東京", 5, 0, "東京\n東京"),
        ] {
            assert_eq!(filled(text, columns, indentation), expected, "{text}");
        }
    }
}
