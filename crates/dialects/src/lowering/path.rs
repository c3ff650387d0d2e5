//! Paths such as `.a.0["odd key"][1]`, and the known names before them.

use std::collections::HashSet;
use std::hash::{BuildHasher, Hasher, RandomState};

/// A segment of a written path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PathSegment {
    /// `.name` or `["name"]`.
    Name(String),
    /// `[0]`, `[-1]`.
    Index(i64),
    /// `[*]`.
    Each,
    /// `.*`, which some dialects read as `[*]` and others as a name.
    Star,
}

/// Reads the path `text`, which is empty or begins with `.` or `[`.
///
/// # Errors
///
/// A clause for a message that describes the error.
pub(crate) fn parse_path(text: &str) -> Result<Vec<PathSegment>, String> {
    let mut segments = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (one, after) = if let Some(inside) = rest.strip_prefix('[') {
            bracket(inside)?
        } else if let Some(name) = rest.strip_prefix('.') {
            let end = name.find(['.', '[']).unwrap_or(name.len());
            if end == 0 {
                return Err("a name is missing after `.`".to_owned());
            }
            let one = match &name[..end] {
                "*" => PathSegment::Star,
                plain => PathSegment::Name(plain.to_owned()),
            };
            (one, &name[end..])
        } else {
            return Err("`]` must be followed by `.`, `[` or the end".to_owned());
        };
        segments.push(one);
        rest = after;
    }
    Ok(segments)
}

/// Reads the content of a bracket, and returns the text after `]`.
fn bracket(inside: &str) -> Result<(PathSegment, &str), String> {
    if inside.starts_with('"') {
        return quoted(inside);
    }
    let unclosed = || "`[` is never closed".to_owned();
    let end = inside.find(']').ok_or_else(unclosed)?;
    let (content, after) = (inside[..end].trim(), &inside[end + 1..]);
    if content == "*" {
        return Ok((PathSegment::Each, after));
    }
    let digits = content.strip_prefix('-').unwrap_or(content);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    match content.parse() {
        Ok(index) if is_number => Ok((PathSegment::Index(index), after)),
        _ => Err("only a whole number or a text in double quotes can stand in `[…]`".to_owned()),
    }
}

/// Reads `"…"]`, and returns the text after it.
pub(crate) fn quoted(text: &str) -> Result<(PathSegment, &str), String> {
    let mut stream = serde_json::Deserializer::from_str(text).into_iter::<String>();
    let Some(Ok(name)) = stream.next() else {
        return Err("the text in `[\"…\"]` is not closed or not JSON".to_owned());
    };
    let rest = &text[stream.byte_offset()..];
    match rest.strip_prefix(']') {
        Some(after) => Ok((PathSegment::Name(name), after)),
        None => Err("`[\"…\"` is not followed by `]`".to_owned()),
    }
}

/// `["name"]`.
pub(crate) fn write_quoted_name(name: &str) -> String {
    format!("[{}]", serde_json::Value::from(name))
}

/// A set of names that may hold any character.
#[derive(Debug, Default)]
pub(crate) struct KnownNames<'a> {
    names: HashSet<&'a str>,
    /// A hash of each name, computed byte by byte: one pass over a text gives the hashes of all its prefixes.
    prefix_hashes: HashSet<u64>,
    state: RandomState,
}

impl<'a> FromIterator<&'a str> for KnownNames<'a> {
    fn from_iter<I: IntoIterator<Item = &'a str>>(names: I) -> Self {
        let names: HashSet<&str> = names.into_iter().collect();
        let state = RandomState::new();
        let hash_of = |name: &&str| {
            let mut hasher = state.build_hasher();
            name.bytes().for_each(|byte| hasher.write_u8(byte));
            hasher.finish()
        };
        let prefix_hashes = names.iter().map(hash_of).collect();
        Self {
            names,
            prefix_hashes,
            state,
        }
    }
}

impl<'a> KnownNames<'a> {
    pub(crate) fn contains(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &'a str> {
        self.names.iter().copied()
    }

    /// The length of the longest known name that is a prefix of `text` and ends where a path may begin: at `.`, at
    /// `[`, or at the end.
    pub(crate) fn longest_prefix(&self, text: &str) -> Option<usize> {
        let mut hasher = self.state.build_hasher();
        let mut likely = Vec::new();
        for (at, byte) in text.bytes().enumerate() {
            if matches!(byte, b'.' | b'[') && self.prefix_hashes.contains(&hasher.finish()) {
                likely.push(at);
            }
            hasher.write_u8(byte);
        }
        if self.prefix_hashes.contains(&hasher.finish()) {
            likely.push(text.len());
        }
        let mut lengths = likely.into_iter().rev();
        // Hashes can collide, so each candidate is compared as well.
        lengths.find(|length| self.names.contains(&text[..*length]))
    }
}

#[cfg(test)]
mod path_tests {
    use super::*;

    #[test]
    fn paths_are_read_segment_by_segment() {
        let name = |text: &str| PathSegment::Name(text.to_owned());
        let cases = [
            ("", Ok(vec![])),
            (".a.b-c.0", Ok(vec![name("a"), name("b-c"), name("0")])),
            (
                "[0][-1][ 2 ]",
                Ok(vec![
                    PathSegment::Index(0),
                    PathSegment::Index(-1),
                    PathSegment::Index(2),
                ]),
            ),
            (
                ".a[\"x.]\\\"\"].ü",
                Ok(vec![name("a"), name("x.]\""), name("ü")]),
            ),
            (
                ".*[*][\"*\"]",
                Ok(vec![PathSegment::Star, PathSegment::Each, name("*")]),
            ),
            (".a.", Err("a name is missing after `.`")),
            ("..a", Err("a name is missing after `.`")),
            ("[0", Err("`[` is never closed")),
            ("[0]a", Err("`]` must be followed by `.`, `[` or the end")),
            (
                "[x]",
                Err("only a whole number or a text in double quotes can stand in `[…]`"),
            ),
            (
                "[+1]",
                Err("only a whole number or a text in double quotes can stand in `[…]`"),
            ),
            (
                "[99999999999999999999]",
                Err("only a whole number or a text in double quotes can stand in `[…]`"),
            ),
            (
                "[\"x]",
                Err("the text in `[\"…\"]` is not closed or not JSON"),
            ),
            ("[\"x\" ]", Err("`[\"…\"` is not followed by `]`")),
        ];
        for (text, wanted) in cases {
            assert_eq!(parse_path(text), wanted.map_err(str::to_owned), "{text}");
        }
    }
}

#[cfg(test)]
mod known_names_tests {
    use super::*;

    #[test]
    fn the_longest_known_name_is_found() {
        let names: KnownNames<'_> = ["a", "a.b", "ü[0]", "x-1", ""].into_iter().collect();
        let cases = [
            ("a", Some(1)),
            ("a.c", Some(1)),
            ("a.b", Some(3)),
            ("a.b[1].c", Some(3)),
            ("a.bc", Some(1)),
            ("ab", None),
            ("ü[0].d", Some(5)),
            ("ü.d", None),
            ("x-1[0]", Some(3)),
            (".z", Some(0)),
        ];
        for (text, wanted) in cases {
            assert_eq!(names.longest_prefix(text), wanted, "{text}");
        }
    }
}
