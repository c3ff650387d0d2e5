//! Periods counted from today.

use super::combinators::{Parsed, count, count_or_one, lookup, one_of, sign, word_sequence};
use crate::dates::phrase::{Period, TimeUnit};
use crate::dates::token::DateToken;
use crate::dates::vocabulary;

const DAYS: &[(&[&str], i32)] = &[
    (&["today"], 0),
    (&["now"], 0),
    (&["tonight"], 0),
    (&["this", "morning"], 0),
    (&["this", "afternoon"], 0),
    (&["this", "evening"], 0),
    (&["yesterday"], -1),
    (&["tomorrow"], 1),
    (&["day", "before", "yesterday"], -2),
    (&["day", "after", "tomorrow"], 2),
];

const TO_DATE: &[(&str, TimeUnit)] = &[
    ("wtd", TimeUnit::Week),
    ("mtd", TimeUnit::Month),
    ("qtd", TimeUnit::Quarter),
    ("ytd", TimeUnit::Year),
];

/// `yesterday`, `the day after tomorrow`
pub(super) fn named(tokens: &[DateToken]) -> Parsed<Period> {
    DAYS.iter().find_map(|(words, offset)| {
        Some((
            Period::Offset(*offset, TimeUnit::Day),
            word_sequence(tokens, words)?,
        ))
    })
}

/// `last 30 days`, `previous two months`, `next year`, `this week`
pub(super) fn counted(tokens: &[DateToken]) -> Parsed<Period> {
    let direction = tokens.first()?.word()?;
    let mut used = 1;
    let mut is_whole = skip_adjective(tokens, &mut used);
    let number = count(tokens.get(used..)?).map(|(number, more)| {
        used += more;
        number
    });
    is_whole |= skip_adjective(tokens, &mut used);
    let (unit, more) = lookup(tokens.get(used..)?, vocabulary::unit)?;
    used += more;
    let one = number.unwrap_or(1);
    if one < 1 {
        return None;
    }
    let is_short = matches!(unit, TimeUnit::Minute | TimeUnit::Hour);
    let is_calendar = is_whole
        || number.is_none() && matches!(unit, TimeUnit::Month | TimeUnit::Quarter | TimeUnit::Year);
    // A number and `past` count back from today. `previous` means whole calendar units, and so does `last` before a month, a
    // quarter, or a year.
    let period = match direction {
        // A fortnight has no agreed first day.
        "this" | "current" if unit == TimeUnit::Fortnight => return None,
        "this" | "current" if number.is_none() => Period::ToDate(unit),
        "previous" | "preceding" | "prior" if !is_short => Period::CalendarUnits(-one, -1, unit),
        "last" if is_calendar && !is_short => Period::CalendarUnits(-one, -1, unit),
        "past" if is_whole && !is_short => Period::CalendarUnits(-one, -1, unit),
        "last" | "past" | "previous" | "preceding" | "prior" => Period::Rolling(-one, unit),
        "next" if (is_whole || number.is_none()) && !is_short && unit != TimeUnit::Fortnight => {
            Period::CalendarUnits(1, one, unit)
        }
        "next" | "coming" | "upcoming" | "following" => Period::Rolling(one, unit),
        _ => return None,
    };
    Some((period, used))
}

fn skip_adjective(tokens: &[DateToken], used: &mut usize) -> bool {
    let rest = tokens.get(*used..).unwrap_or_default();
    let skipped = one_of(rest, &["calendar", "complete", "full", "whole"]);
    *used += skipped.unwrap_or(0);
    skipped.is_some()
}

/// `3 days ago`, `in two weeks`, `a month from now`, `the week before last`
pub(super) fn distant(tokens: &[DateToken]) -> Parsed<Period> {
    around(tokens).or_else(|| {
        let comes = one_of(tokens, &["in"]).unwrap_or(0);
        let (number, more) = count_or_one(tokens.get(comes..)?)?;
        let mut used = comes + more;
        let (unit, more) = lookup(tokens.get(used..)?, vocabulary::unit)?;
        used += more;
        if comes == 1 {
            let more_time = one_of(tokens.get(used..)?, &["time"]).unwrap_or(0);
            return Some((Period::Offset(number, unit), used + more_time));
        }
        let rest = tokens.get(used..)?;
        if let Some(more) = one_of(rest, &["ago", "back", "earlier"]) {
            return Some((Period::Offset(-number, unit), used + more));
        }
        let more = word_sequence(rest, &["from", "now"])
            .or_else(|| word_sequence(rest, &["from", "today"]));
        Some((Period::Offset(number, unit), used + more?))
    })
}

fn around(tokens: &[DateToken]) -> Parsed<Period> {
    let (unit, used) = lookup(tokens, vocabulary::unit)?;
    let rest = tokens.get(used..).filter(|_| unit != TimeUnit::Fortnight)?;
    if let Some(more) = word_sequence(rest, &["before", "last"]) {
        return Some((Period::CalendarUnits(-2, -2, unit), used + more));
    }
    let more = word_sequence(rest, &["after", "next"])?;
    Some((Period::CalendarUnits(2, 2, unit), used + more))
}

/// `year to date`, `YTD`
pub(super) fn to_date(tokens: &[DateToken]) -> Parsed<Period> {
    let short = TO_DATE
        .iter()
        .find_map(|(word, unit)| Some((*unit, one_of(tokens, &[*word])?)));
    let long = || {
        let (unit, used) = lookup(tokens, vocabulary::unit)?;
        let hyphen = sign(tokens.get(used..)?, '-').unwrap_or(0);
        let used = used + hyphen;
        Some((
            unit,
            used + word_sequence(tokens.get(used..)?, &["to", "date"])?,
        ))
    };
    let (unit, used) = short.or_else(long)?;
    Some((Period::ToDate(unit), used))
}
