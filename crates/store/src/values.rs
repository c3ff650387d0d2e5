//! Values of the tables: validation of names, conversion of numbers.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use planwright_engine::RunId;

use super::error::{FileProblem, StoreError};
use crate::database::{QueryError, SqlRow};

/// The maximum length of a name, and of the part of an invalid one that a message quotes, in characters.
const MAX_NAME_LENGTH: usize = 128;

/// Checks the name of a new run or plan; `what` is its use in the message.
pub(crate) fn check_name(what: &'static str, name: &str) -> Result<(), StoreError> {
    // A command would parse a leading `-` as an option. `is_name` accepts it, since older versions created such names.
    if is_name(name) && !name.starts_with('-') {
        return Ok(());
    }
    Err(bad_name(what, name))
}

fn bad_name(what: &'static str, name: &str) -> StoreError {
    StoreError::BadName {
        what,
        name: name.chars().take(MAX_NAME_LENGTH).collect(),
    }
}

/// Checks the id of a new run.
pub(crate) fn new_run_id(text: &str) -> Result<RunId, StoreError> {
    let what = "id of a run";
    check_name(what, text)?;
    text.parse().map_err(|_| bad_name(what, text))
}

/// Returns true if `name` can be the id of a run or the name of a plan: the same rules hold for both.
pub(crate) fn is_name(name: &str) -> bool {
    RunId::is_valid(name)
}

/// Reads the id of a run from a column.
pub(crate) fn run_id(row: &dyn SqlRow, column: usize) -> Result<RunId, QueryError> {
    let text: String = row.get(column)?;
    let id = RunId::try_from(text);
    id.map_err(|error| QueryError::of(FileProblem::Damaged(error.to_string())))
}

/// Converts a count, which saturates at `i64::MAX`.
pub(crate) fn to_i64(count: impl TryInto<i64>) -> i64 {
    count.try_into().unwrap_or(i64::MAX)
}

/// Converts a count from a table; a negative one becomes 0.
pub(crate) fn to_usize(count: i64) -> usize {
    usize::try_from(count).unwrap_or(0)
}

/// Returns the nanoseconds since 1970, which saturate in both directions.
pub(crate) fn to_nanos(time: SystemTime) -> i64 {
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => to_i64(after.as_nanos()),
        Err(before) => i64::try_from(before.duration().as_nanos()).map_or(i64::MIN, |nanos| -nanos),
    }
}

/// Returns the time that is `nanos` nanoseconds after 1970.
pub(crate) fn from_nanos(nanos: i64) -> SystemTime {
    let distance = Duration::from_nanos(nanos.unsigned_abs());
    if nanos < 0 {
        UNIX_EPOCH - distance
    } else {
        UNIX_EPOCH + distance
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_new_name_looks_like_an_option() {
        for (name, is_allowed) in [("a-rf", true), ("-rf", false), ("--", false), ("-", false)] {
            assert_eq!(
                check_name("id of a run", name).is_ok(),
                is_allowed,
                "{name}"
            );
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

    #[test]
    fn times_come_back() {
        for nanos in [0, 1, -1, 1_763_000_000_123_456_789, i64::MAX, -i64::MAX] {
            assert_eq!(to_nanos(from_nanos(nanos)), nanos);
        }
    }
}
