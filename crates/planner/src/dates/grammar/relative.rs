//! Periods that are counted from today.

use super::reading::{Read, any, count, count_or_one, known, words};
use crate::dates::phrase::{Period, Unit};
use crate::dates::token::Token;
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

const TO_DATE: &[(&str, Unit)] = &[
    ("wtd", Unit::Week),
    ("mtd", Unit::Month),
    ("qtd", Unit::Quarter),
    ("ytd", Unit::Year),
];

/// `yesterday`, `the day after tomorrow`
pub(super) fn named(tokens: &[Token]) -> Read<Period> {
    DAYS.iter()
        .find_map(|(said, offset)| Some((Period::Offset(*offset, Unit::Day), words(tokens, said)?)))
}

/// `last 30 days`, `previous two months`, `next year`, `this week`
pub(super) fn counted(tokens: &[Token]) -> Read<Period> {
    let direction = tokens.first()?.word()?;
    let mut used = 1;
    let mut is_whole = skip_adjective(tokens, &mut used);
    let number = count(tokens.get(used..)?).map(|(number, more)| {
        used += more;
        number
    });
    is_whole |= skip_adjective(tokens, &mut used);
    let (unit, more) = known(tokens.get(used..)?, vocabulary::unit)?;
    used += more;
    let one = number.unwrap_or(1);
    if one < 1 {
        return None;
    }
    let is_short = matches!(unit, Unit::Minute | Unit::Hour);
    let is_calendar =
        is_whole || number.is_none() && matches!(unit, Unit::Month | Unit::Quarter | Unit::Year);
    let period = match direction {
        // There is no first day of a fortnight that all agree on.
        "this" | "current" if unit == Unit::Fortnight => return None,
        "this" | "current" if number.is_none() => Period::Current(unit),
        "previous" | "preceding" | "prior" if !is_short => Period::Whole(-one, -1, unit),
        "last" if is_calendar && !is_short => Period::Whole(-one, -1, unit),
        "past" if is_whole && !is_short => Period::Whole(-one, -1, unit),
        "last" | "past" | "previous" | "preceding" | "prior" => Period::Rolling(-one, unit),
        "next" if (is_whole || number.is_none()) && !is_short && unit != Unit::Fortnight => {
            Period::Whole(1, one, unit)
        }
        "next" | "coming" | "upcoming" | "following" => Period::Rolling(one, unit),
        _ => return None,
    };
    Some((period, used))
}

fn skip_adjective(tokens: &[Token], used: &mut usize) -> bool {
    let rest = tokens.get(*used..).unwrap_or_default();
    let skipped = any(rest, &["calendar", "complete", "full", "whole"]);
    *used += skipped.unwrap_or(0);
    skipped.is_some()
}

/// `3 days ago`, `in two weeks`, `a month from now`, `the week before last`
pub(super) fn distant(tokens: &[Token]) -> Read<Period> {
    around(tokens).or_else(|| {
        let comes = any(tokens, &["in"]).unwrap_or(0);
        let (number, more) = count_or_one(tokens.get(comes..)?)?;
        let mut used = comes + more;
        let (unit, more) = known(tokens.get(used..)?, vocabulary::unit)?;
        used += more;
        if comes == 1 {
            let behind = any(tokens.get(used..)?, &["time"]).unwrap_or(0);
            return Some((Period::Offset(number, unit), used + behind));
        }
        let rest = tokens.get(used..)?;
        if let Some(more) = any(rest, &["ago", "back", "earlier"]) {
            return Some((Period::Offset(-number, unit), used + more));
        }
        let more = words(rest, &["from", "now"]).or_else(|| words(rest, &["from", "today"]));
        Some((Period::Offset(number, unit), used + more?))
    })
}

fn around(tokens: &[Token]) -> Read<Period> {
    let (unit, used) = known(tokens, vocabulary::unit)?;
    let rest = tokens.get(used..).filter(|_| unit != Unit::Fortnight)?;
    if let Some(more) = words(rest, &["before", "last"]) {
        return Some((Period::Whole(-2, -2, unit), used + more));
    }
    let more = words(rest, &["after", "next"])?;
    Some((Period::Whole(2, 2, unit), used + more))
}

/// `year to date`, `YTD`
pub(super) fn to_date(tokens: &[Token]) -> Read<Period> {
    let short = TO_DATE
        .iter()
        .find_map(|(word, unit)| Some((*unit, any(tokens, &[*word])?)));
    let long = || {
        let (unit, used) = known(tokens, vocabulary::unit)?;
        let hyphen = super::reading::sign(tokens.get(used..)?, '-').unwrap_or(0);
        let used = used + hyphen;
        Some((unit, used + words(tokens.get(used..)?, &["to", "date"])?))
    };
    let (unit, used) = short.or_else(long)?;
    Some((Period::Current(unit), used))
}
