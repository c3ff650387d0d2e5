//! Regular expressions (RE2 syntax, linear time), and limits on the cost of compiling them.

use regex::{Regex, RegexBuilder};

/// Maximum size of a compiled pattern, in bytes.
const MAX_COMPILED_BYTES: usize = 1 << 18;

/// Maximum number of character sets, such as `[^a-z]`, in a pattern. Compiling one may visit every letter and its case
/// variants, which takes some milliseconds.
const MAX_CHARACTER_SETS: usize = 24;

/// A budget for character sets in the case-insensitive patterns of one text. Only sets that may contain letters beyond
/// ASCII count, since the case variants of each letter are looked up.
///
/// Without it, a text of a few kilobytes could take seconds to compile.
#[derive(Debug)]
pub struct PatternBudget {
    left: usize,
}

impl PatternBudget {
    /// The default budget.
    pub const MAX_SETS: usize = 240;

    /// Creates an empty budget, for a text without patterns.
    pub fn none() -> Self {
        Self { left: 0 }
    }

    /// Spends the cost of `pattern`.
    ///
    /// # Errors
    ///
    /// Returns the reason if the pattern is too costly, alone or with earlier ones, as a clause that begins with a
    /// verb.
    pub(crate) fn spend(&mut self, pattern: &str) -> Result<(), String> {
        // Without the flag `i`, character sets are cheap to compile.
        if !has_flag(pattern, b'i') {
            return Ok(());
        }
        let sets = CharacterSets::of(pattern).costly();
        if sets > MAX_CHARACTER_SETS {
            return Err(format!(
                "ignores case and has more than {MAX_CHARACTER_SETS} sets of characters"
            ));
        }
        let left = self.left.checked_sub(sets).ok_or_else(|| {
            format!(
                "ignores case, and with those before it has more than {} sets of characters",
                Self::MAX_SETS
            )
        })?;
        self.left = left;
        Ok(())
    }
}

impl Default for PatternBudget {
    fn default() -> Self {
        Self {
            left: Self::MAX_SETS,
        }
    }
}

/// Returns the cost of compiling a `pattern` during evaluation, in units of work. It far exceeds that of any other
/// operation.
pub(super) fn compile_cost(pattern: &str) -> usize {
    const BASE_COST: usize = 5_000;
    const COST_PER_BYTE: usize = 50;
    const COST_PER_SET: usize = 4_000;
    let sets = CharacterSets::of(pattern);
    // Ignoring case also makes named sets costly.
    let sets = if has_flag(pattern, b'i') {
        sets.all()
    } else {
        sets.bracketed
    };
    BASE_COST
        .saturating_add(pattern.len().saturating_mul(COST_PER_BYTE))
        .saturating_add(sets.saturating_mul(COST_PER_SET))
}

/// The reason why a pattern is refused, and a hint.
pub(super) struct PatternError {
    pub(super) message: String,
    pub(super) help: Option<&'static str>,
}

impl From<String> for PatternError {
    fn from(message: String) -> Self {
        Self {
            message,
            help: None,
        }
    }
}

/// Compiles `pattern` within `budget`.
///
/// # Errors
///
/// Returns the reason if the pattern is malformed or too costly.
pub(super) fn compile(pattern: &str, budget: &mut PatternBudget) -> Result<Regex, PatternError> {
    if CharacterSets::of(pattern).bracketed > MAX_CHARACTER_SETS {
        let message = format!(
            "the pattern has more than {MAX_CHARACTER_SETS} sets of characters in brackets"
        );
        return Err(message.into());
    }
    budget.spend(pattern).map_err(|matter| PatternError {
        message: format!("the pattern {matter}"),
        help: Some("let fewer patterns ignore case, or write both cases, as `[aA]`"),
    })?;
    RegexBuilder::new(pattern)
        // A short pattern such as `(a{1000}){1000}` may compile to a very large program.
        .size_limit(MAX_COMPILED_BYTES)
        .nest_limit(64)
        .build()
        .map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => "the pattern is too large".to_owned().into(),
            _ => format!("the pattern `{pattern}` is malformed").into(),
        })
}

/// The number of character sets in a pattern.
#[derive(Default)]
struct CharacterSets {
    /// The sets in brackets.
    bracketed: usize,
    /// The sets in brackets that contain only ASCII letters, digits and spaces.
    ascii_only: usize,
    /// The named sets, such as `\p{L}`, and set operations, such as `a&&b`.
    others: usize,
}

impl CharacterSets {
    fn of(pattern: &str) -> Self {
        // With the flag `x`, whitespace is ignored, so the end of a set is not obvious.
        let is_plain = !has_flag(pattern, b'x');
        let mut sets = Self::default();
        let mut rest = pattern.as_bytes();
        while let [byte, after @ ..] = rest {
            rest = after;
            match byte {
                b'[' => {
                    sets.bracketed += 1;
                    if is_plain && let Some(outside) = after_ascii_set(after) {
                        sets.ascii_only += 1;
                        rest = outside;
                    }
                }
                b'\\' => {
                    sets.others += usize::from(matches!(after, [b'p' | b'P', ..]));
                    rest = after.get(1..).unwrap_or_default();
                }
                b'&' | b'-' | b'~' if sets.bracketed > 0 && after.first() == Some(byte) => {
                    sets.others += 1;
                    rest = after.get(1..).unwrap_or_default();
                }
                _ => {}
            }
        }
        sets
    }

    fn all(&self) -> usize {
        self.bracketed + self.others
    }

    /// Returns the number of sets whose case variants are costly.
    fn costly(&self) -> usize {
        self.all() - self.ascii_only
    }
}

/// Returns the rest after the ASCII-only set whose content `text` begins with, or `None` if the set may contain other
/// characters.
fn after_ascii_set(text: &[u8]) -> Option<&[u8]> {
    let end = text.iter().position(|byte| *byte == b']')?;
    let (inside, after) = text.split_at_checked(end)?;
    if matches!(inside, [] | [b'^']) {
        // A leading bracket is a literal.
        return None;
    }
    let mut rest = inside;
    while let [byte, after @ ..] = rest {
        rest = match (byte, after) {
            (
                b'\\',
                [
                    b'd' | b's' | b't' | b'n' | b'r' | b'.' | b'-' | b'/' | b'\\',
                    after @ ..,
                ],
            ) => after,
            (b'&', [b'&', ..]) | (b'-', [b'-', ..]) | (b'~', [b'~', ..]) | (b'\\' | b'[', _) => {
                return None;
            }
            (byte, after) if byte.is_ascii() => after,
            _ => return None,
        };
    }
    after.get(1..)
}

/// Returns true if a group of the pattern may set `flag`. Flags follow a question mark.
fn has_flag(pattern: &str, flag: u8) -> bool {
    pattern.split('?').skip(1).any(|rest| {
        let is_flag = |byte: &u8| byte.is_ascii_alphabetic() || *byte == b'-';
        rest.bytes().take_while(is_flag).any(|byte| byte == flag)
    })
}

#[cfg(test)]
mod tests {
    use super::{CharacterSets, PatternBudget};

    fn check(pattern: &str, bracketed: usize, costly: usize) {
        let sets = CharacterSets::of(pattern);
        assert_eq!(
            (sets.bracketed, sets.costly()),
            (bracketed, costly),
            "{pattern}"
        );
    }

    #[test]
    fn sets_are_counted_by_cost() {
        check("abc", 0, 0);
        check(r"^[a-z0-9_.-]+[^\s\d]*$", 2, 0);
        check(r"[\w.+-]+@[\w-]+", 2, 2);
        check(r"\[\p{L}\W", 0, 1);
        check("[[:alpha:]][é][a-é]", 4, 3);
        check("[a&b~c-d][a&&b]", 2, 2);
        // The brackets close no set.
        check(r"[]a][^]a][\]a]", 3, 3);
        check("[a", 1, 1);
        check("(?x)[ ]a-é]", 1, 1);
    }

    #[test]
    fn patterns_share_a_budget() {
        let mut budget = PatternBudget::default();
        for _ in 0..PatternBudget::MAX_SETS {
            assert_eq!(budget.spend(r"(?i)\pL [a-z]"), Ok(()));
        }
        assert_eq!(
            budget.spend(r"\pL(?i)[a-z]{3}"),
            Err(
                "ignores case, and with those before it has more than 240 sets of characters"
                    .to_owned()
            )
        );
        assert_eq!(budget.spend(r"\pL"), Ok(()));
        assert_eq!(budget.spend("(?i)[a-z]"), Ok(()));
    }
}
