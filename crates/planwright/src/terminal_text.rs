//! Untrusted text for a line of a terminal: removal of control characters, width, and shortening.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::time::Duration;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Returns `text` on one line, without characters that control a terminal. Line breaks and tabs become spaces, and other control characters
/// become their escapes, such as `\u{1b}`.
pub fn one_line(text: &str) -> Cow<'_, str> {
    cleaned(text.trim_end(), |character| {
        matches!(character, '\n' | '\r' | '\t').then_some(" ")
    })
}

/// Returns `text` on one line as [`one_line`] does, but with line breaks and tabs as their escapes, `\n` and `\t`: what a person copies from a
/// message keeps its meaning.
pub fn escaped_line(text: &str) -> Cow<'_, str> {
    cleaned(text.trim_end(), |character| match character {
        '\n' => Some("\\n"),
        '\r' => Some("\\r"),
        '\t' => Some("\\t"),
        _ => None,
    })
}

/// Returns `text` without characters that control a terminal. Line breaks stay, and tabs become four spaces.
pub fn lines(text: &str) -> Cow<'_, str> {
    cleaned(text, |character| match character {
        '\n' => Some("\n"),
        '\r' => Some(""),
        '\t' => Some("    "),
        _ => None,
    })
}

/// Returns `text` with its colours and line breaks, for data on a terminal. Other control characters become their escapes in JSON, such as
/// `\u202e`, which have the same meaning inside of JSON.
pub fn data(text: &str) -> Cow<'_, str> {
    let steered = |character: char| {
        controls_terminal(character) && !matches!(character, '\n' | '\r' | '\t' | '\u{1b}')
    };
    if !text.chars().any(steered) {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len());
    for character in text.chars() {
        if steered(character) {
            // Writing to a text does not fail.
            let _ = write!(clean, "\\u{:04x}", u32::from(character));
        } else {
            clean.push(character);
        }
    }
    Cow::Owned(clean)
}

/// Returns the number of columns of `text`.
pub fn width(text: &str) -> usize {
    text.width()
}

/// Cuts `text` to at most `columns`, including the `ellipsis` for the removed part.
pub fn shortened<'t>(text: &'t str, columns: usize, ellipsis: &str) -> Cow<'t, str> {
    if width(text) <= columns {
        return Cow::Borrowed(text);
    }
    let room = columns.saturating_sub(width(ellipsis));
    let mut used = 0;
    let prefix: String = text
        .chars()
        .take_while(|character| {
            used += character.width().unwrap_or(0);
            used <= room
        })
        .collect();
    Cow::Owned(format!("{}{ellipsis}", prefix.trim_end()))
}

/// Returns `text` with spaces after it, so that it takes at least `columns`.
pub fn padded(text: &str, columns: usize) -> String {
    let gap = columns.saturating_sub(width(text));
    format!("{text}{}", " ".repeat(gap))
}

/// Formats a duration for people: `12ms`, `0.4s`, `2m 05s`, `1h 02m`.
pub fn time(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0 if time < Duration::from_millis(1) => "<1ms".to_owned(),
        0 if time < Duration::from_millis(100) => format!("{}ms", time.as_millis()),
        // A step that took 59.99 s must not be reported as 60.0 s of 60.
        0..60 => format!("{}.{}s", seconds, time.subsec_millis() / 100),
        60..3600 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h {:02}m", seconds / 3600, seconds % 3600 / 60),
    }
}

fn cleaned(text: &str, replace: impl Fn(char) -> Option<&'static str>) -> Cow<'_, str> {
    if !text.chars().any(controls_terminal) {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len());
    for character in text.chars() {
        match (controls_terminal(character), replace(character)) {
            (true, Some(replacement)) => clean.push_str(replacement),
            (true, None) => clean.extend(character.escape_default()),
            (false, _) => clean.push(character),
        }
    }
    Cow::Owned(clean)
}

/// Returns true for control characters, and for characters that change the direction of text or break lines.
fn controls_terminal(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The system's reason in our style: without its number, and in lower case.
pub fn io_reason(error: &std::io::Error) -> String {
    if error.kind() == std::io::ErrorKind::InvalidData {
        return "it is not UTF-8 text".to_owned();
    }
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or(&text);
    let mut characters = text.chars();
    match characters.next() {
        Some(first) => first.to_lowercase().chain(characters).collect(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_steers_the_terminal() {
        let cases = [
            ("plain, é, 東京", "plain, é, 東京"),
            ("a\nb\tc\r\nd", "a b c  d"),
            ("ends here\n", "ends here"),
            ("\u{1b}[31mred", "\\u{1b}[31mred"),
            ("a\u{202e}b", "a\\u{202e}b"),
            ("bell\u{7}", "bell\\u{7}"),
            ("a\u{61c}b\u{2028}c", "a\\u{61c}b\\u{2028}c"),
        ];
        for (text, wanted) in cases {
            assert_eq!(one_line(text), wanted);
        }
        assert_eq!(lines("a\r\n\tb\u{1b}"), "a\n    b\\u{1b}");
        assert_eq!(
            data("{\n\t\u{1b}[1m東\u{1b}[m}"),
            "{\n\t\u{1b}[1m東\u{1b}[m}"
        );
        assert_eq!(
            data("\u{9b}2J\u{7f}\u{202e}\u{7}"),
            "\\u009b2J\\u007f\\u202e\\u0007"
        );
    }

    #[test]
    fn a_cut_text_fits() {
        let cases = [
            ("short", 5, "short"),
            ("too long", 5, "too…"),
            ("東京東京", 5, "東京…"),
            ("abc", 1, "…"),
        ];
        for (text, columns, wanted) in cases {
            assert_eq!(shortened(text, columns, "…"), wanted);
        }
        assert_eq!(padded("東", 4), "東  ");
    }

    #[test]
    fn times_as_people_say_them() {
        let cases = [
            (0, "<1ms"),
            (12_000, "12ms"),
            (99_999, "99ms"),
            (449_000, "0.4s"),
            (59_990_000, "59.9s"),
            (125_000_000, "2m 05s"),
            (3_720_000_000, "1h 02m"),
        ];
        for (micros, wanted) in cases {
            assert_eq!(time(Duration::from_micros(micros)), wanted);
        }
    }
}
