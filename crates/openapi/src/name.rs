//! Names of tools and arguments that every model and client accepts.

use std::collections::HashSet;

/// The maximum length of a name; the providers of models accept no longer ones.
const MAX_LENGTH: usize = 64;

/// Returns `text` with letters, digits, `_` and `-` only.
pub(crate) fn valid_name(text: &str) -> String {
    let mut name = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_ascii_alphanumeric() || matches!(character, '_' | '-') {
            name.push(character);
        } else if !name.ends_with('_') {
            name.push('_');
        }
    }
    let trimmed = name.trim_matches('_');
    // A name that had underscores at its ends keeps them.
    let name = if trimmed.is_empty() || valid_as_it_is(text) {
        &*name
    } else {
        trimmed
    };
    name.chars().take(MAX_LENGTH).collect()
}

fn valid_as_it_is(text: &str) -> bool {
    text.chars()
        .all(|character| character.is_ascii_alphanumeric() || matches!(character, '_' | '-'))
}

/// Returns `name`, or the name with a number if it is taken.
pub(crate) fn distinct_name(name: String, taken: &mut HashSet<String>) -> String {
    let name = if name.is_empty() {
        "_".to_owned()
    } else {
        name
    };
    if taken.insert(name.clone()) {
        return name;
    }
    let mut number = 2_usize;
    loop {
        let suffix = format!("_{number}");
        let start: String = name.chars().take(MAX_LENGTH - suffix.len()).collect();
        let candidate = start + &suffix;
        if taken.insert(candidate.clone()) {
            return candidate;
        }
        number += 1;
    }
}
