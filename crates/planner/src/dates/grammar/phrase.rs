//! Whole phrases: a period, two of them, or the time before or after one.

use super::parser::{Parsed, connector, day_number, one_of, sign, word_sequence, year_number};
use super::{calendar, fiscal, relative};
use crate::dates::phrase::{DatePhrase, Period};
use crate::dates::token;
use crate::dates::token::{DateToken, DateTokenKind};

type PeriodParser = fn(&[DateToken]) -> Parsed<Period>;

/// Parsers of periods. Of results of equal length, the first wins.
const PERIOD_PARSERS: &[PeriodParser] = &[
    relative::named,
    relative::counted,
    relative::distant,
    relative::to_date,
    calendar::dates,
    calendar::month,
    relative::quarter,
    relative::half,
    relative::week,
    fiscal::fiscal,
    calendar::weekday,
    calendar::weekday_in,
    calendar::iso,
    calendar::slashed,
    calendar::year,
];

/// Words before a phrase that do not change its meaning.
const LEAD_WORDS: &str = "across at during for from in of on over throughout within";

/// Parses a text that is exactly one phrase.
pub(in crate::dates) fn parse_whole(tokens: &[DateToken]) -> Option<DatePhrase> {
    // Quotes and punctuation around the phrase do not matter, but a hyphen belongs to a date.
    let is_edge =
        |token: &DateToken| matches!(token.kind, DateTokenKind::Sign(sign) if sign != '-');
    let first = tokens.iter().position(|token| !is_edge(token))?;
    let end = tokens.iter().rposition(|token| !is_edge(token))? + 1;
    let tokens = tokens.get(first..end)?;
    let is_lead = |token: &DateToken| token.word().is_some_and(is_lead_word);
    // `in 3 days` differs from `3 days`, so that a lead word is only dropped as a last resort.
    let without = tokens.split_first().filter(|(lead, _)| is_lead(lead));
    [Some(tokens), without.map(|(_, rest)| rest)]
        .into_iter()
        .flatten()
        .find_map(|tokens| {
            let (found, used) = parse_phrase(tokens)?;
            (used == tokens.len()).then_some(found)
        })
}

/// Returns true for a word that may precede a phrase as its preposition.
pub(in crate::dates) fn is_lead_word(word: &str) -> bool {
    token::contains_word(LEAD_WORDS, word)
}

fn parse_period(tokens: &[DateToken]) -> Parsed<Period> {
    let skipped = one_of(tokens, &["the"]).unwrap_or(0);
    let tokens = tokens.get(skipped..)?;
    // Several parsers may match: `October`, and `October 1st, 2025`.
    let mut best: Parsed<Period> = None;
    for read in PERIOD_PARSERS {
        if let Some((found, used)) = read(tokens)
            && best.as_ref().is_none_or(|(_, longest)| *longest < used)
        {
            best = Some((found, used));
        }
    }
    let (found, used) = best?;
    Some((found, used + skipped))
}

/// Words before the end of a range without a start, and whether the range includes that end.
const END_WORDS: &[(&[&str], bool)] = &[
    (&["until"], true),
    (&["till"], true),
    (&["through"], true),
    (&["thru"], true),
    (&["up", "to"], true),
    (&["by"], true),
    (&["before"], false),
    (&["prior", "to"], false),
];

/// Parses the longest phrase at the start of the tokens.
pub(in crate::dates) fn parse_phrase(tokens: &[DateToken]) -> Parsed<DatePhrase> {
    let readings = [
        between(tokens),
        since(tokens),
        until(tokens),
        bare(tokens),
        relative::weeks(tokens),
    ];
    let mut best: Parsed<DatePhrase> = None;
    for reading in readings.into_iter().flatten() {
        if best
            .as_ref()
            .is_none_or(|(_, longest)| *longest < reading.1)
        {
            best = Some(reading);
        }
    }
    best
}

/// `last week`, `October 1st to October 10th`
fn bare(tokens: &[DateToken]) -> Parsed<DatePhrase> {
    let (first, used) = parse_period(tokens)?;
    let rest = tokens.get(used..)?;
    // A slash joins two dates only in an ISO 8601 interval; elsewhere it lists alternatives.
    let interval = || {
        let slash = sign(rest, '/').filter(|_| is_iso(tokens))?;
        let last = rest.get(slash..).filter(|last| is_iso(last))?;
        let (last, more) = parse_period(last)?;
        Some((last, slash + more))
    };
    let Some((last, more)) = end(rest, connector).or_else(interval) else {
        return Some((DatePhrase::Single(first), used));
    };
    Some((DatePhrase::Between(first, last), used + more))
}

/// Returns true if the tokens start with a year, a hyphen, and a month, as an ISO 8601 interval does.
fn is_iso(tokens: &[DateToken]) -> bool {
    year_number(tokens).is_some() && tokens.get(1).is_some_and(|token| token.is_sign('-'))
}

/// `from X to Y`, `between X and Y`
fn between(tokens: &[DateToken]) -> Parsed<DatePhrase> {
    if let Some(found) = days_between(tokens) {
        return Some(found);
    }
    let is_from = one_of(tokens, &["from", "since"]).is_some();
    let lead = one_of(tokens, &["between", "from", "since"])?;
    let (first, used) = parse_period(tokens.get(lead..)?)?;
    let used = used + lead;
    let joins = if is_from { connector } else { and };
    let rest = tokens.get(used..)?;
    if let Some((last, more)) = end(rest, joins) {
        return Some((DatePhrase::Between(first, last), used + more));
    }
    // `between October 1 and 10`: the second day has no month.
    let joined = joins(rest)?;
    let (last, more) = calendar::same_month(&first, rest.get(joined..)?)?;
    Some((DatePhrase::Between(first, last), used + joined + more))
}

/// `between 5 and 10 October`
fn days_between(tokens: &[DateToken]) -> Parsed<DatePhrase> {
    let mut used = one_of(tokens, &["between"])?;
    used += one_of(tokens.get(used..)?, &["the"]).unwrap_or(0);
    let (first, more) = day_number(tokens.get(used..)?)?;
    used += more + and(tokens.get(used + more..)?)?;
    let (mut last, more) = parse_period(tokens.get(used..)?)?;
    let Period::MonthDays { first: from, .. } = &mut last else {
        return None;
    };
    *from = first;
    Some((DatePhrase::Single(last), used + more))
}

fn and(tokens: &[DateToken]) -> Option<usize> {
    one_of(tokens, &["and"]).or_else(|| sign(tokens, '-'))
}

fn end(tokens: &[DateToken], joins: fn(&[DateToken]) -> Option<usize>) -> Parsed<Period> {
    let used = joins(tokens)?;
    let (last, more) = parse_period(tokens.get(used..)?)?;
    Some((last, used + more))
}

/// `since X`, `after X`, `from X on`
fn since(tokens: &[DateToken]) -> Parsed<DatePhrase> {
    let lead = one_of(tokens, &["since", "from", "starting", "after"])?;
    let word = tokens.first()?.word()?;
    let with = if word == "starting" {
        one_of(tokens.get(1..)?, &["from", "on", "with"]).unwrap_or(0)
    } else {
        0
    };
    let lead = lead + with;
    let (first, used) = parse_period(tokens.get(lead..)?)?;
    let used = used + lead;
    if word == "from" {
        let more = one_of(tokens.get(used..)?, &["on", "onward", "onwards"])?;
        return Some((DatePhrase::Since(first), used + more));
    }
    let phrase = if word == "after" {
        DatePhrase::After(first)
    } else {
        DatePhrase::Since(first)
    };
    Some((phrase, used))
}

/// `until X`, `before X`
fn until(tokens: &[DateToken]) -> Parsed<DatePhrase> {
    let (lead, is_inclusive) = END_WORDS
        .iter()
        .find_map(|(words, is_inclusive)| Some((word_sequence(tokens, words)?, *is_inclusive)))?;
    let (last, used) = parse_period(tokens.get(lead..)?)?;
    let phrase = if is_inclusive {
        DatePhrase::Until(last)
    } else {
        DatePhrase::Before(last)
    };
    Some((phrase, lead + used))
}
