//! Periods named by the calendar: days, months, weekdays, and numeric dates.

use super::parser::{Parsed, day_number, lookup, one_of, sign, word_sequence, year_number};
use crate::dates::phrase::{Occurrence, Period, YearReference};
use crate::dates::token;
use crate::dates::token::{DateToken, DateTokenKind};

/// `October 1st`, `Oct 1, 2025`, `1st of October`, `October 1-10`, `1 to 10 October`, `Monday, October 6th`
pub(super) fn dates(tokens: &[DateToken]) -> Parsed<Period> {
    let named = lookup(tokens, token::weekday);
    let mut used = 0;
    if let Some((_, more)) = named {
        used += more;
        used += sign(tokens.get(used..)?, ',').unwrap_or(0);
        used += one_of(tokens.get(used..)?, &["the"]).unwrap_or(0);
    }
    let rest = tokens.get(used..)?;
    let ((month, first, last), more) = month_first(rest).or_else(|| day_first(rest))?;
    used += more;
    let (year, more) = year_of(tokens.get(used..)?, Occurrence::Latest);
    let dates = Period::MonthDays {
        month,
        first,
        last,
        year,
        weekday: named.map(|(weekday, _)| weekday),
    };
    Some((dates, used + more))
}

fn month_first(tokens: &[DateToken]) -> Parsed<(i8, i8, i8)> {
    let (month, mut used) = lookup(tokens, token::month)?;
    used += sign(tokens.get(used..)?, '.').unwrap_or(0);
    used += one_of(tokens.get(used..)?, &["the"]).unwrap_or(0);
    let (first, more) = day_number(tokens.get(used..)?)?;
    used += more;
    // The number after it may be the day of another month: `October 1 to 10 November`.
    let (last, more) = last_day(tokens.get(used..)?)
        .filter(|(_, more)| !is_followed_by_month(tokens, used + more))
        .unwrap_or((first, 0));
    Some(((month, first, last), used + more))
}

fn is_followed_by_month(tokens: &[DateToken], at: usize) -> bool {
    let rest = tokens.get(at..).unwrap_or_default();
    let of = one_of(rest, &["of"]).unwrap_or(0);
    lookup(rest.get(of..).unwrap_or_default(), token::month).is_some()
}

fn day_first(tokens: &[DateToken]) -> Parsed<(i8, i8, i8)> {
    let (first, mut used) = day_number(tokens)?;
    // `1 to 10 October`: both days come before the month.
    let (last, more) = last_day(tokens.get(used..)?).unwrap_or((first, 0));
    used += more;
    used += one_of(tokens.get(used..)?, &["of"])
        .or_else(|| hyphen(tokens.get(used..)?))
        .unwrap_or(0);
    let (month, more) = lookup(tokens.get(used..)?, token::month)?;
    used += more;
    used += dot_before_year(tokens.get(used..)?);
    Some(((month, first, last), used))
}

/// Parses the last day of a range: `-10`, `to the 10th`.
fn last_day(tokens: &[DateToken]) -> Parsed<i8> {
    let mut used = super::parser::connector(tokens)?;
    used += one_of(tokens.get(used..)?, &["the"]).unwrap_or(0);
    let (day, more) = day_number(tokens.get(used..)?)?;
    Some((day, used + more))
}

/// `October`, `Oct 2025`, `last October`, `October of last year`
pub(super) fn month(tokens: &[DateToken]) -> Parsed<Period> {
    let (which, mut used) = which(tokens);
    let (month, more) = lookup(tokens.get(used..)?, token::month)?;
    used += more;
    used += dot_before_year(tokens.get(used..)?);
    let (year, more) = year_of(tokens.get(used..)?, which);
    Some((Period::Month { month, year }, used + more))
}

/// `Monday`, `last Friday`, `this weekend`
pub(super) fn weekday(tokens: &[DateToken]) -> Parsed<Period> {
    let (which, used) = which(tokens);
    let rest = tokens.get(used..)?;
    if let Some(more) = one_of(rest, &["weekend"]) {
        return Some((Period::Weekend(which), used + more));
    }
    let (weekday, more) = lookup(rest, token::weekday)?;
    Some((Period::Weekday(weekday, which), used + more))
}

/// `Monday last week`, `Tuesday of next week`, `last week on Monday`
pub(super) fn weekday_in(tokens: &[DateToken]) -> Parsed<Period> {
    let week = |tokens: &[DateToken]| {
        let word = tokens.first()?.word()?;
        let offset = match word {
            "last" | "previous" => -1,
            "this" => 0,
            "next" => 1,
            _ => return None,
        };
        Some((offset, 1 + one_of(tokens.get(1..)?, &["week"])?))
    };
    if let Some((weekday, used)) = lookup(tokens, token::weekday) {
        let of = one_of(tokens.get(used..)?, &["in", "of"]).unwrap_or(0);
        let (offset, more) = week(tokens.get(used + of..)?)?;
        return Some((Period::WeekdayOfWeek(weekday, offset), used + of + more));
    }
    let (offset, used) = week(tokens)?;
    let on = one_of(tokens.get(used..)?, &["on"]).unwrap_or(0);
    let (weekday, more) = lookup(tokens.get(used + on..)?, token::weekday)?;
    Some((Period::WeekdayOfWeek(weekday, offset), used + on + more))
}

/// Parses a day in the month of `before`: the end of `October 1 and 10`.
pub(super) fn same_month(before: &Period, tokens: &[DateToken]) -> Parsed<Period> {
    let Period::MonthDays {
        month,
        year: YearReference::Unstated(_),
        ..
    } = *before
    else {
        return None;
    };
    let skipped = one_of(tokens, &["the"]).unwrap_or(0);
    let (day, more) = day_number(tokens.get(skipped..)?)?;
    let used = skipped + more;
    let (year, more) = year_of(tokens.get(used..)?, Occurrence::Latest);
    let dates = Period::month_day(month, day, year);
    Some((dates, used + more))
}

pub(super) fn which(tokens: &[DateToken]) -> (Occurrence, usize) {
    let which = |word: &str| match word {
        "last" | "past" | "previous" => Some(Occurrence::Last),
        "this" => Some(Occurrence::This),
        "next" | "coming" | "upcoming" => Some(Occurrence::Next),
        _ => None,
    };
    lookup(tokens, which).unwrap_or((Occurrence::Latest, 0))
}

/// Parses the year after a period that recurs every year; unstated if there is none.
pub(super) fn year_of(tokens: &[DateToken], which: Occurrence) -> (YearReference, usize) {
    let stated = || {
        // `October 1, 2025` and `5-Oct-2025`
        let comma = sign(tokens, ',').or_else(|| hyphen(tokens)).unwrap_or(0);
        if let Some((year, more)) = year_number(tokens.get(comma..)?) {
            return Some((YearReference::Fixed(year), comma + more));
        }
        let of = one_of(tokens, &["of", "in"]).unwrap_or(0);
        let rest = tokens.get(of..)?;
        if let Some(more) = word_sequence(rest, &["the", "year"]).filter(|_| of == 1) {
            return Some((YearReference::Relative(0), of + more));
        }
        if let Some((year, more)) = year_number(rest) {
            return Some((YearReference::Fixed(year), of + more));
        }
        let relative = [("last", -1), ("previous", -1), ("this", 0), ("next", 1)];
        let (offset, more) = relative
            .into_iter()
            .find_map(|(word, offset)| Some((offset, word_sequence(rest, &[word, "year"])?)))?;
        Some((YearReference::Relative(offset), of + more))
    };
    match which {
        Occurrence::Latest => stated().unwrap_or((YearReference::Unstated(which), 0)),
        // `last October` has its year already, so a number after it belongs to something else.
        Occurrence::Last | Occurrence::This | Occurrence::Next => {
            (YearReference::Unstated(which), 0)
        }
    }
}

/// Matches a `-` without spaces around it.
fn hyphen(tokens: &[DateToken]) -> Option<usize> {
    let is_joined = tokens.get(..2)?.iter().all(|token| token.is_adjacent);
    sign(tokens, '-').filter(|_| is_joined)
}

/// Matches the dot of `Oct.` before a year.
fn dot_before_year(tokens: &[DateToken]) -> usize {
    let is_before_year = year_number(tokens.get(1..).unwrap_or_default()).is_some();
    sign(tokens, '.').filter(|_| is_before_year).unwrap_or(0)
}

/// `2025-10-05`, `2025/10/05`, `2025-10`
pub(super) fn iso(tokens: &[DateToken]) -> Parsed<Period> {
    let (year, _) = year_number(tokens)?;
    let year = YearReference::Fixed(year);
    let sign = sign_between(tokens.get(1..)?)?;
    let (month, digits) = part(tokens.get(2)?)?;
    if sign_between(tokens.get(3..)?) == Some(sign)
        && let Some((day, _)) = part(tokens.get(4)?)
        && sign != '.'
    {
        let dates = Period::month_day(month, day, year);
        return Some((dates, 5));
    }
    // Two numbers in any form other than that of ISO 8601 are probably not a month: `2025/10`, `2025-5`.
    let is_month = sign == '-' && digits == 2 && (1..=12).contains(&month);
    is_month.then_some((Period::Month { month, year }, 3))
}

/// Parses `10/12/2025` in either order, and `12.10.2025`, which is always day first.
pub(super) fn slashed(tokens: &[DateToken]) -> Parsed<Period> {
    let (first, _) = part(tokens.first()?)?;
    let sign = sign_between(tokens.get(1..)?)?;
    let (second, _) = part(tokens.get(2)?)?;
    if sign_between(tokens.get(3..)?)? != sign {
        return None;
    }
    let (year, _) = year_number(tokens.get(4..)?)?;
    if sign == '.' {
        let dates = Period::MonthDays {
            month: second,
            first,
            last: first,
            year: YearReference::Fixed(year),
            weekday: None,
        };
        return Some((dates, 5));
    }
    let numbers = (first, second);
    Some((Period::NumericDate { numbers, year }, 5))
}

/// `2024`, `the year 2024`
pub(super) fn year(tokens: &[DateToken]) -> Parsed<Period> {
    let prefix = one_of(tokens, &["year"]).unwrap_or(0);
    let (year, more) = year_number(tokens.get(prefix..)?)?;
    // Any other number of four digits is an amount.
    let is_likely = prefix == 1 || (1900..=2100).contains(&year);
    is_likely.then_some((Period::Year(year), prefix + more))
}

/// Returns the sign that joins two numbers without spaces.
fn sign_between(tokens: &[DateToken]) -> Option<char> {
    match tokens {
        [
            DateToken {
                kind: DateTokenKind::Sign(sign @ ('-' | '/' | '.')),
                is_adjacent: true,
                ..
            },
            DateToken {
                is_adjacent: true, ..
            },
            ..,
        ] => Some(*sign),
        _ => None,
    }
}

/// Parses a number of one or two digits, and returns the number of digits.
fn part(token: &DateToken) -> Option<(i8, usize)> {
    match token.kind {
        DateTokenKind::Number(value, digits @ 1..=2) => Some((i8::try_from(value).ok()?, digits)),
        _ => None,
    }
}
