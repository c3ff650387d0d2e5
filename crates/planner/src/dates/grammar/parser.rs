//! The combinators that all parsers share.

use crate::dates::token;
use crate::dates::token::{DateToken, DateTokenKind};

/// The result of a parser, with the number of tokens used.
pub(super) type Parsed<T> = Option<(T, usize)>;

/// Matches a sequence of words, with optional hyphens between them.
pub(super) fn word_sequence(tokens: &[DateToken], wanted: &[&str]) -> Option<usize> {
    let mut used = 0;
    for (at, word) in wanted.iter().enumerate() {
        // `year-to-date`, `day-before-yesterday`
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

/// Matches one of several words.
pub(super) fn one_of(tokens: &[DateToken], wanted: &[&str]) -> Option<usize> {
    wanted.contains(&tokens.first()?.word()?).then_some(1)
}

/// Matches a sign.
pub(super) fn sign(tokens: &[DateToken], wanted: char) -> Option<usize> {
    tokens.first()?.is_sign(wanted).then_some(1)
}

/// Parses a number in digits or as a word; `a couple of` is two.
pub(super) fn count(tokens: &[DateToken]) -> Parsed<i32> {
    match &tokens.first()?.kind {
        DateTokenKind::Number(value, _) => Some((i32::try_from(*value).ok()?, 1)),
        DateTokenKind::Word(word) if word == "couple" => {
            Some((2, 1 + one_of(tokens.get(1..)?, &["of"]).unwrap_or(0)))
        }
        DateTokenKind::Word(word) if word == "a" && tokens.get(1)?.word() == Some("couple") => {
            let (two, used) = count(tokens.get(1..)?)?;
            Some((two, used + 1))
        }
        DateTokenKind::Word(word) => Some((token::number(word)?, 1)),
        _ => None,
    }
}

/// Parses a number, or `a` and `an` as one.
pub(super) fn count_or_one(tokens: &[DateToken]) -> Parsed<i32> {
    count(tokens).or_else(|| Some((1, one_of(tokens, &["a", "an"])?)))
}

/// Looks the next word up in a vocabulary.
pub(super) fn lookup<T>(tokens: &[DateToken], table: fn(&str) -> Option<T>) -> Parsed<T> {
    Some((table(tokens.first()?.word()?)?, 1))
}

/// Parses the number of a day in its month.
pub(super) fn day_number(tokens: &[DateToken]) -> Parsed<i8> {
    let value = match &tokens.first()?.kind {
        // More digits are a year.
        DateTokenKind::Number(value, 1..=2) | DateTokenKind::Ordinal(value) => *value,
        _ => return None,
    };
    let day = i8::try_from(value)
        .ok()
        .filter(|day| (1..=31).contains(day));
    Some((day?, 1))
}

/// Parses a year of four digits.
pub(super) fn year_number(tokens: &[DateToken]) -> Parsed<i16> {
    match tokens.first()?.kind {
        DateTokenKind::Number(value, 4) if 0 < value => Some((i16::try_from(value).ok()?, 1)),
        _ => None,
    }
}

/// Words between the start and the end of a range.
const CONNECTORS: &[&[&str]] = &[
    &["to"],
    &["until"],
    &["till"],
    &["through"],
    &["thru"],
    &["up", "to"],
];

/// Matches a connector, a dash, or dots.
pub(super) fn connector(tokens: &[DateToken]) -> Option<usize> {
    let dash = || sign(tokens, '-').or_else(|| sign(tokens, '…'));
    let dots = || {
        let dots = tokens.iter().take_while(|token| token.is_sign('.')).count();
        (2 <= dots).then_some(dots)
    };
    CONNECTORS
        .iter()
        .find_map(|words| word_sequence(tokens, words))
        .or_else(dash)
        .or_else(dots)
}
