//! Texts in quotes, as Python writes them.

use std::ops::Range;

use crate::document::Offsets;

/// A text, escapes resolved, and where its bytes stand.
#[derive(Debug)]
pub(super) struct PythonString {
    pub(super) text: String,
    pub(super) range: Range<usize>,
    runs: Vec<(usize, usize)>,
}

impl PythonString {
    /// The text in `range` of `source`, as it is.
    pub(super) fn plain(source: &str, range: Range<usize>) -> Self {
        Self {
            text: source[range.clone()].to_owned(),
            runs: vec![(0, range.start)],
            range,
        }
    }

    /// The text whose opening quote is at byte `start`; nothing where it is never closed. One quote closes it on its
    /// line, three anywhere.
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

/// What the escape that `rest` begins with stands for, and its length. Python keeps the backslash of one that it
/// does not know; nothing where the text ends.
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

/// The character whose number stands in `digits` digits behind `\x`; the backslash where there is none.
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
