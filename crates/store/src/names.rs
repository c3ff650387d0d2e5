//! Validation of run ids and plan names: a name can be mistaken for no path, pattern or option.

use planwright_engine::is_run_id;

use crate::error::StoreError;

/// The maximum length of a name, and of the part of an invalid one that a message quotes, in characters.
const MAX_NAME_LENGTH: usize = 128;

/// Checks the name of a new run or plan.
pub(crate) fn check(what: &'static str, name: &str) -> Result<(), StoreError> {
    // A command would parse a leading `-` as an option. `is_name` accepts it, since older versions created such names.
    if is_name(name) && !name.starts_with('-') {
        return Ok(());
    }
    Err(StoreError::BadName {
        what,
        name: name.chars().take(MAX_NAME_LENGTH).collect(),
    })
}

/// Returns true if `name` can be the id of a run or the name of a plan: the same rules hold for both.
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
        for name in ["a", "A-1_b.c", "0", "-", &"x".repeat(MAX_NAME_LENGTH)] {
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
            &"x".repeat(MAX_NAME_LENGTH + 1),
        ] {
            assert!(!is_name(name), "{name}");
        }
    }
}
