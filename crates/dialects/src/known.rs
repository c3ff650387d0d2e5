//! Known names, such as the ids of steps, and the one that a text begins with.

use std::collections::HashSet;
use std::hash::{BuildHasher, Hasher, RandomState};

/// Names that may hold any character.
#[derive(Debug, Default)]
pub(crate) struct KnownNames<'a> {
    names: HashSet<&'a str>,
    /// One for each name, made byte by byte, so that those of all beginnings of a text take no longer than that of the text.
    fingerprints: HashSet<u64>,
    state: RandomState,
}

impl<'a> FromIterator<&'a str> for KnownNames<'a> {
    fn from_iter<I: IntoIterator<Item = &'a str>>(names: I) -> Self {
        let names: HashSet<&str> = names.into_iter().collect();
        let state = RandomState::new();
        let fingerprint = |name: &&str| {
            let mut hasher = state.build_hasher();
            name.bytes().for_each(|byte| hasher.write_u8(byte));
            hasher.finish()
        };
        let fingerprints = names.iter().map(fingerprint).collect();
        Self {
            names,
            fingerprints,
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

    /// The length of the longest known name that `text` begins with and that ends where a path may begin: at a `.`, at a `[`,
    /// or with the text.
    pub(crate) fn longest(&self, text: &str) -> Option<usize> {
        let mut hasher = self.state.build_hasher();
        let mut likely = Vec::new();
        for (at, byte) in text.bytes().enumerate() {
            if matches!(byte, b'.' | b'[') && self.fingerprints.contains(&hasher.finish()) {
                likely.push(at);
            }
            hasher.write_u8(byte);
        }
        if self.fingerprints.contains(&hasher.finish()) {
            likely.push(text.len());
        }
        let mut lengths = likely.into_iter().rev();
        lengths.find(|length| self.names.contains(&text[..*length]))
    }
}

#[cfg(test)]
mod tests {
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
            assert_eq!(names.longest(text), wanted, "{text}");
        }
    }
}
