//! Quoted texts in Python syntax.

use std::ops::Range;

use crate::document::Offsets;

/// A text, escapes resolved, and the places of its bytes.
#[derive(Debug)]
pub(super) struct PythonString {
    pub(super) text: String,
    pub(super) range: Range<usize>,
    runs: Vec<(usize, usize)>,
}

impl PythonString {
    /// The text in `range` of `source` without escapes.
    pub(super) fn plain(source: &str, range: Range<usize>) -> Self {
        Self {
            text: source[range.clone()].to_owned(),
            runs: vec![(0, range.start)],
            range,
        }
    }

    /// The text whose opening quote is at byte `start`; `None` if it is not closed. A single quote closes it on its
    /// line, a triple quote anywhere.
    pub(super) fn read(source: &str, start: usize) -> Option<Self> {
        let mark = &source[start..=start];
        let long = mark.repeat(3);
        let mark = if source[start..].starts_with(&long) {
            &long
        } else {
            mark
        };
        let mut quoted = Self {
            text: String::new(),
            range: start..start,
            runs: vec![(0, start + mark.len())],
        };
        let mut at = start + mark.len();
        loop {
            let rest = &source[at..];
            if rest.starts_with(mark) {
                quoted.range.end = at + mark.len();
                return Some(quoted);
            }
            let first = rest.chars().next()?;
            if first == '\n' && mark.len() == 1 {
                return None;
            }
            let (character, length) = match first {
                '\\' => escape(rest)?,
                _ => (Some(first), first.len_utf8()),
            };
            quoted.text.extend(character);
            at += length;
            // From here on, the text and its source differ in length.
            if character.is_none_or(|character| character.len_utf8() != length) {
                quoted.runs.push((quoted.text.len(), at));
            }
        }
    }

    pub(super) fn offsets(&self) -> Offsets {
        let mut offsets = Offsets::plain(self.range.start, self.range.len());
        for (inner, outer) in &self.runs {
            offsets.push_run(*inner, *outer);
        }
        offsets
    }
}

/// The character of the escape at the start of `rest`, and its length; `None` at the end of the text. Python preserves
/// the backslash of an unknown escape.
fn escape(rest: &str) -> Option<(Option<char>, usize)> {
    let letter = rest[1..].chars().next()?;
    let simple = match letter {
        '\n' => return Some((None, 2)),
        '\\' | '\'' | '"' => letter,
        'a' => '\u{7}',
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\u{b}',
        '0' => '\0',
        'x' => return Some(code(rest, 2)),
        'u' => return Some(code(rest, 4)),
        'U' => return Some(code(rest, 8)),
        _ => return Some((Some('\\'), 1)),
    };
    Some((Some(simple), 2))
}

/// The character whose code stands in `digits` digits after `\x`; the backslash if it is invalid.
fn code(rest: &str, digit_count: usize) -> (Option<char>, usize) {
    let character = rest
        .get(2..2 + digit_count)
        .filter(|written| written.bytes().all(|byte| byte.is_ascii_hexdigit()))
        .and_then(|written| u32::from_str_radix(written, 16).ok())
        .and_then(char::from_u32);
    match character {
        Some(character) => (Some(character), 2 + digit_count),
        None => (Some('\\'), 1),
    }
}
