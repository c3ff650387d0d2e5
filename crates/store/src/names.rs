//! Ids of runs and names of plans: words that are never mistaken for paths, patterns or each other.

use crate::error::StoreError;

/// How long an id or a name may be.
const LONGEST: usize = 128;

/// Whether something may be called `name`.
pub(crate) fn check(what: &'static str, name: &str) -> Result<(), StoreError> {
    if is_name(name) {
        return Ok(());
    }
    Err(StoreError::BadName {
        what,
        name: name.chars().take(LONGEST).collect(),
    })
}

/// Letters, digits, `_`, `-` and `.`, with no `.` in front.
pub(crate) fn is_name(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    !name.is_empty()
        && name.len() <= LONGEST
        && !name.starts_with('.')
        && name.bytes().all(is_letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_words() {
        for name in ["a", "A-1_b.c", "0", "-", &"x".repeat(LONGEST)] {
            assert!(is_name(name), "{name}");
        }
        for name in [
            "",
            ".",
            "..",
            ".a",
            "a/b",
            "a\\b",
            "a b",
            "ä",
            "a\0",
            "a*",
            &"x".repeat(LONGEST + 1),
        ] {
            assert!(!is_name(name), "{name}");
        }
    }
}
