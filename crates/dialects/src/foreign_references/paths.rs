//! Paths and references within a text: their ends, and their forms.

use std::borrow::Cow;
use std::ops::Range;

use crate::document::template::{self, QUOTES};

/// The maximum length of a marker.
pub(super) const MAX_MARKER_BYTES: usize = 256;

/// The rest of `text` after `prefix`, ignoring ASCII case.
pub(super) fn strip_prefix_any_case<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let (start, rest) = text.split_at_checked(prefix.len())?;
    start.eq_ignore_ascii_case(prefix).then_some(rest)
}

/// `a['b'].c` as `a.b.c`; `None` if nothing is quoted.
pub(super) fn dotted(path: &str) -> Option<String> {
    let mut dotted = path.to_owned();
    for quote in ["'", "\""] {
        dotted = dotted
            .replace(&format!("[{quote}"), ".")
            .replace(&format!("{quote}]"), "");
    }
    (dotted != path).then_some(dotted)
}

/// The references of this dialect in `text` with all dollars before them, escaped ones included: their content is not
/// searched for markers. `${{` begins none.
pub(super) fn references(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = text[at..].find("${").map(|start| at + start) {
        if !begins_reference(&text[start..]) {
            at = start + "${{".len();
            continue;
        }
        let first = at + text[at..start].trim_end_matches('$').len();
        let end = end_of_reference(text, start);
        found.push(first..end);
        at = end;
    }
    found
}

/// Returns true if `text` begins with a reference of this dialect.
pub(super) fn begins_reference(text: &str) -> bool {
    text.starts_with("${") && !text.starts_with("${{")
}

/// Returns the end of the reference that begins at byte `start` of `text`.
pub(super) fn end_of_reference(text: &str, start: usize) -> usize {
    template::end_of_marker(text, start + "${".len(), QUOTES).map_or(text.len(), |end| end + 1)
}

/// The number of bytes from byte `inside` of `text` to the first `close` that `is_apart` from the references of this
/// dialect; `None` if a marker may not be that long.
pub(super) fn length_to(
    close: &str,
    text: &str,
    inside: usize,
    is_apart: impl Fn(usize) -> bool,
) -> Option<usize> {
    let window = marker_window(text, inside);
    let mut at = 0;
    loop {
        let length = at + window[at..].find(close)?;
        if is_apart(inside + length) {
            return Some(length);
        }
        // The closing brackets are ASCII, so the next byte begins a character.
        at = length + 1;
    }
}

/// The part of `text` from byte `start` on that a marker may cover, so that the cost of many unclosed markers is
/// linear.
pub(super) fn marker_window(text: &str, start: usize) -> &str {
    let end = text.len().min(start + MAX_MARKER_BYTES);
    &text[start..text.floor_char_boundary(end)]
}

/// Returns the set of the ASCII characters of `text`, a bit for each.
pub(super) fn ascii_characters(text: &str) -> u128 {
    let ascii = text.bytes().filter(u8::is_ascii);
    ascii.fold(0, |characters, byte| characters | 1 << byte)
}

/// Returns false if a text with these `characters` certainly does not contain `part`, which is ASCII.
pub(super) fn may_contain(characters: u128, part: &str) -> bool {
    ascii_characters(part) & !characters == 0
}

/// The path `rest` with brackets around the positions in it: `.0.name` as `[0].name`.
pub(super) fn with_positions(rest: &str) -> Cow<'_, str> {
    let is_position =
        |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if !rest.split('.').skip(1).any(is_position) {
        return rest.into();
    }
    let mut parts = rest.split('.');
    let mut written = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        if is_position(part) {
            written.extend(["[", part, "]"]);
        } else {
            written.extend([".", part]);
        }
    }
    written.into()
}

/// The length of the fields and positions at the start of `text`: `[0].name`.
pub(crate) fn path_length(text: &str) -> usize {
    let mut length = 0;
    loop {
        let rest = &text[length..];
        let is_of_name = |sign: char| sign.is_alphanumeric() || sign == '_';
        let found = if let Some(inside) = rest.strip_prefix('[') {
            let digits = inside.find(|sign: char| !sign.is_ascii_digit());
            digits
                .filter(|digits| *digits > 0 && inside[*digits..].starts_with(']'))
                .map(|digits| digits + 2)
        } else {
            let name = rest
                .strip_prefix('.')
                .filter(|name| name.starts_with(|sign: char| sign.is_alphabetic() || sign == '_'));
            name.map(|name| 1 + name.find(|sign| !is_of_name(sign)).unwrap_or(name.len()))
        };
        match found {
            Some(found) => length += found,
            None => return length,
        }
    }
}

/// The name at the start of a path, and the rest.
pub(super) fn split_name(path: &str) -> (&str, &str) {
    path.split_at(path.find(['.', '[']).unwrap_or(path.len()))
}
