//! What all readers share.

use crate::dates::token::{Kind, Token};
use crate::dates::vocabulary;

/// What was found at the beginning of a list of tokens, and how many of them it took.
pub(super) type Read<T> = Option<(T, usize)>;

/// How many tokens these words take, where the list begins with them; `-` may stand between them.
pub(super) fn words(tokens: &[Token], wanted: &[&str]) -> Option<usize> {
    let mut used = 0;
    for (at, word) in wanted.iter().enumerate() {
        if 0 < at && tokens.get(used).is_some_and(|token| token.is_sign('-')) {
            used += 1;
        }
        if tokens.get(used)?.word()? != *word {
            return None;
        }
        used += 1;
    }
    Some(used)
}

/// One, where the list begins with one of these words.
pub(super) fn any(tokens: &[Token], wanted: &[&str]) -> Option<usize> {
    wanted.contains(&tokens.first()?.word()?).then_some(1)
}

/// One, where the list begins with this sign.
pub(super) fn sign(tokens: &[Token], wanted: char) -> Option<usize> {
    tokens.first()?.is_sign(wanted).then_some(1)
}

/// A number, in digits or as a word; `a couple of` is two.
pub(super) fn count(tokens: &[Token]) -> Read<i32> {
    match &tokens.first()?.kind {
        Kind::Number(value, _) => Some((i32::try_from(*value).ok()?, 1)),
        Kind::Word(word) if word == "couple" => {
            Some((2, 1 + any(tokens.get(1..)?, &["of"]).unwrap_or(0)))
        }
        Kind::Word(word) if word == "a" && tokens.get(1)?.word() == Some("couple") => {
            let (two, used) = count(tokens.get(1..)?)?;
            Some((two, used + 1))
        }
        Kind::Word(word) => Some((vocabulary::number(word)?, 1)),
        _ => None,
    }
}

/// A number, or `a` and `an` for one.
pub(super) fn count_or_one(tokens: &[Token]) -> Read<i32> {
    count(tokens).or_else(|| Some((1, any(tokens, &["a", "an"])?)))
}

/// A word that the table `known` has.
pub(super) fn known<T>(tokens: &[Token], known: fn(&str) -> Option<T>) -> Read<T> {
    Some((known(tokens.first()?.word()?)?, 1))
}

/// The number of a day in its month.
pub(super) fn day_number(tokens: &[Token]) -> Read<i8> {
    let value = match &tokens.first()?.kind {
        Kind::Number(value, 1..=2) | Kind::Ordinal(value) => *value,
        _ => return None,
    };
    let day = i8::try_from(value)
        .ok()
        .filter(|day| (1..=31).contains(day));
    Some((day?, 1))
}

/// The number of a year.
pub(super) fn year_number(tokens: &[Token]) -> Read<i16> {
    match tokens.first()?.kind {
        Kind::Number(value, 4) if 0 < value => Some((i16::try_from(value).ok()?, 1)),
        _ => None,
    }
}
