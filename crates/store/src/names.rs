//! Ids of runs and names of plans: words that are never mistaken for paths, patterns or each other.

use planwright_engine::is_run_id;

use crate::error::StoreError;

/// How much of a name that is none is shown, in characters; also the longest name.
const LONGEST: usize = 128;

/// Whether something may be called `name`.
pub(crate) fn check(what: &'static str, name: &str) -> Result<(), StoreError> {
    // A command would take it for an option. Names that older versions allowed are still found.
    if is_name(name) && !name.starts_with('-') {
        return Ok(());
    }
    Err(StoreError::BadName {
        what,
        name: name.chars().take(LONGEST).collect(),
    })
}

/// Plans are called as runs are.
pub(crate) fn is_name(name: &str) -> bool {
    is_run_id(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_new_name_looks_like_an_option() {
        for (name, is_allowed) in [("a-rf", true), ("-rf", false), ("--", false), ("-", false)] {
            assert_eq!(check("id of a run", name).is_ok(), is_allowed, "{name}");
        }
    }

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
