//! Periods that have a name in the calendar: days of months, months, weekdays.

use super::reading::{Read, any, day_number, known, sign, words, year_number};
use crate::dates::phrase::{Period, Which, YearOf};
use crate::dates::token::Token;
use crate::dates::vocabulary;

/// `October 1st`, `Oct 1, 2025`, `1st of October`, `October 1-10`, `1 to 10 October`, `Monday, October 6th`
pub(super) fn dates(tokens: &[Token]) -> Read<Period> {
    let named = known(tokens, vocabulary::weekday);
    let mut used = 0;
    if let Some((_, more)) = named {
        used += more;
        used += sign(tokens.get(used..)?, ',').unwrap_or(0);
        used += any(tokens.get(used..)?, &["the"]).unwrap_or(0);
    }
    let rest = tokens.get(used..)?;
    let ((month, first, last), more) = month_first(rest).or_else(|| day_first(rest))?;
    used += more;
    let (year, more) = year_of(tokens.get(used..)?, Which::Latest);
    let dates = Period::Dates {
        month,
        first,
        last,
        year,
        weekday: named.map(|(weekday, _)| weekday),
    };
    Some((dates, used + more))
}

fn month_first(tokens: &[Token]) -> Read<(i8, i8, i8)> {
    let (month, mut used) = known(tokens, vocabulary::month)?;
    used += sign(tokens.get(used..)?, '.').unwrap_or(0);
    used += any(tokens.get(used..)?, &["the"]).unwrap_or(0);
    let (first, more) = day_number(tokens.get(used..)?)?;
    used += more;
    // The number behind it may be the day of another month: `October 1 to 10 November`.
    let (last, more) = last_day(tokens.get(used..)?)
        .filter(|(_, more)| !is_followed_by_month(tokens, used + more))
        .unwrap_or((first, 0));
    Some(((month, first, last), used + more))
}

fn is_followed_by_month(tokens: &[Token], at: usize) -> bool {
    let rest = tokens.get(at..).unwrap_or_default();
    let of = any(rest, &["of"]).unwrap_or(0);
    known(rest.get(of..).unwrap_or_default(), vocabulary::month).is_some()
}

fn day_first(tokens: &[Token]) -> Read<(i8, i8, i8)> {
    let (first, mut used) = day_number(tokens)?;
    let (last, more) = last_day(tokens.get(used..)?).unwrap_or((first, 0));
    used += more;
    used += any(tokens.get(used..)?, &["of"])
        .or_else(|| hyphen(tokens.get(used..)?))
        .unwrap_or(0);
    let (month, more) = known(tokens.get(used..)?, vocabulary::month)?;
    used += more;
    used += dot_before_year(tokens.get(used..)?);
    Some(((month, first, last), used))
}

/// The last day of several: `-10`, `to the 10th`.
fn last_day(tokens: &[Token]) -> Read<i8> {
    let mut used = super::range::connector(tokens)?;
    used += any(tokens.get(used..)?, &["the"]).unwrap_or(0);
    let (day, more) = day_number(tokens.get(used..)?)?;
    Some((day, used + more))
}

/// `October`, `Oct 2025`, `last October`, `October of last year`
pub(super) fn month(tokens: &[Token]) -> Read<Period> {
    let (which, mut used) = which(tokens);
    let (month, more) = known(tokens.get(used..)?, vocabulary::month)?;
    used += more;
    used += dot_before_year(tokens.get(used..)?);
    let (year, more) = year_of(tokens.get(used..)?, which);
    Some((Period::Month { month, year }, used + more))
}

/// `Monday`, `last Friday`, `this weekend`
pub(super) fn weekday(tokens: &[Token]) -> Read<Period> {
    let (which, used) = which(tokens);
    let rest = tokens.get(used..)?;
    if let Some(more) = any(rest, &["weekend"]) {
        return Some((Period::Weekend(which), used + more));
    }
    let (weekday, more) = known(rest, vocabulary::weekday)?;
    Some((Period::Weekday(weekday, which), used + more))
}

/// `Monday last week`, `Tuesday of next week`, `last week on Monday`
pub(super) fn weekday_in(tokens: &[Token]) -> Read<Period> {
    let week = |tokens: &[Token]| {
        let word = tokens.first()?.word()?;
        let offset = match word {
            "last" | "previous" => -1,
            "this" => 0,
            "next" => 1,
            _ => return None,
        };
        Some((offset, 1 + any(tokens.get(1..)?, &["week"])?))
    };
    if let Some((weekday, used)) = known(tokens, vocabulary::weekday) {
        let of = any(tokens.get(used..)?, &["in", "of"]).unwrap_or(0);
        let (offset, more) = week(tokens.get(used + of..)?)?;
        return Some((Period::WeekdayIn(weekday, offset), used + of + more));
    }
    let (offset, used) = week(tokens)?;
    let on = any(tokens.get(used..)?, &["on"]).unwrap_or(0);
    let (weekday, more) = known(tokens.get(used + on..)?, vocabulary::weekday)?;
    Some((Period::WeekdayIn(weekday, offset), used + on + more))
}

/// A day of the month that `before` is in: the end of `October 1 and 10`.
pub(super) fn same_month(before: &Period, tokens: &[Token]) -> Read<Period> {
    let Period::Dates {
        month,
        year: YearOf::Open(_),
        ..
    } = *before
    else {
        return None;
    };
    let skipped = any(tokens, &["the"]).unwrap_or(0);
    let (day, more) = day_number(tokens.get(skipped..)?)?;
    let used = skipped + more;
    let (year, more) = year_of(tokens.get(used..)?, Which::Latest);
    let dates = Period::Dates {
        month,
        first: day,
        last: day,
        year,
        weekday: None,
    };
    Some((dates, used + more))
}

pub(super) fn which(tokens: &[Token]) -> (Which, usize) {
    let which = |word: &str| match word {
        "last" | "past" | "previous" => Some(Which::Last),
        "this" => Some(Which::This),
        "next" | "coming" | "upcoming" => Some(Which::Next),
        _ => None,
    };
    known(tokens, which).unwrap_or((Which::Latest, 0))
}

/// The year behind something that comes once in each, or that it is not said.
pub(super) fn year_of(tokens: &[Token], which: Which) -> (YearOf, usize) {
    let said = || {
        let comma = sign(tokens, ',').or_else(|| hyphen(tokens)).unwrap_or(0);
        if let Some((year, more)) = year_number(tokens.get(comma..)?) {
            return Some((YearOf::Given(year), comma + more));
        }
        let of = any(tokens, &["of", "in"]).unwrap_or(0);
        let rest = tokens.get(of..)?;
        if let Some(more) = words(rest, &["the", "year"]).filter(|_| of == 1) {
            return Some((YearOf::Relative(0), of + more));
        }
        if let Some((year, more)) = year_number(rest) {
            return Some((YearOf::Given(year), of + more));
        }
        let relative = [("last", -1), ("previous", -1), ("this", 0), ("next", 1)];
        let (offset, more) = relative
            .into_iter()
            .find_map(|(word, offset)| Some((offset, words(rest, &[word, "year"])?)))?;
        Some((YearOf::Relative(offset), of + more))
    };
    match which {
        Which::Latest => said().unwrap_or((YearOf::Open(which), 0)),
        _ => (YearOf::Open(which), 0),
    }
}

/// A `-` that joins what stands before it and behind it.
fn hyphen(tokens: &[Token]) -> Option<usize> {
    let is_joined = tokens.get(..2)?.iter().all(|token| token.touches);
    sign(tokens, '-').filter(|_| is_joined)
}

/// One, where the list begins with the dot of `Oct.` and a year.
fn dot_before_year(tokens: &[Token]) -> usize {
    let is_before_year = year_number(tokens.get(1..).unwrap_or_default()).is_some();
    sign(tokens, '.').filter(|_| is_before_year).unwrap_or(0)
}
