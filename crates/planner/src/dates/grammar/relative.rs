//! Periods counted from today, and quarters, halves, and weeks by number.

use super::calendar::{which, year_of};
use super::parser::{
    Parsed, connector, count, count_or_one, lookup, one_of, sign, word_sequence, year_number,
};
use crate::dates::phrase::{DatePhrase, Occurrence, Period, TimeUnit, YearReference};
use crate::dates::token;
use crate::dates::token::{DateToken, DateTokenKind};

/// Words before the number of a week.
const WEEKS: &[&str] = &["cw", "kw", "week", "wk"];

/// `Q3`, `Q3 2024`, `2024 Q3`, `2024Q3`, `third quarter of last year`, `last quarter of 2024`
pub(super) fn quarter(tokens: &[DateToken]) -> Parsed<Period> {
    let quarter = |number: i8, year| {
        (1..=4).contains(&number).then_some(Period::Quarter {
            quarter: number,
            year,
        })
    };
    if let Some(found) = after_year(tokens, &["q"], quarter) {
        return Some(found);
    }
    if let Some(used) = word_sequence(tokens, &["last", "quarter"])
        .or_else(|| word_sequence(tokens, &["final", "quarter"]))
    {
        let (year, more) = year_of(tokens.get(used..)?, Occurrence::Latest);
        // Without a year, `last quarter` is the previous quarter.
        return (0 < more).then_some((Period::Quarter { quarter: 4, year }, used + more));
    }
    let (which, mut used) = which(tokens);
    let (number, more) = lookup(tokens.get(used..)?, token::quarter)?;
    // `third` needs the word `quarter` after it, `Q3` does not.
    let is_word = !tokens.get(used)?.word()?.starts_with('q');
    used += more;
    if is_word {
        used += one_of(tokens.get(used..)?, &["quarter"])?;
    }
    let (year, more) = before_year(tokens.get(used..)?, which);
    Some((quarter(number, year)?, used + more))
}

/// `H1 2025`, `2025-H1`, `1H 2025`, `first half of last year`
pub(super) fn half(tokens: &[DateToken]) -> Parsed<Period> {
    let half = |number: i8, year| {
        (1..=2)
            .contains(&number)
            .then_some(Period::Half { half: number, year })
    };
    if let Some(found) = after_year(tokens, &["h"], half) {
        return Some(found);
    }
    let number = match &tokens.first()?.kind {
        DateTokenKind::Word(word) => match word.as_str() {
            "h1" | "1h" => Some((1, 1)),
            "h2" | "2h" => Some((2, 1)),
            "first" => Some((1, 1 + one_of(tokens.get(1..)?, &["half"])?)),
            "second" => Some((2, 1 + one_of(tokens.get(1..)?, &["half"])?)),
            _ => None,
        },
        DateTokenKind::Ordinal(number @ 1..=2) => {
            let half = one_of(tokens.get(1..)?, &["half"])?;
            Some((i8::try_from(*number).ok()?, 1 + half))
        }
        _ => None,
    };
    let (number, used) = number?;
    let (year, more) = before_year(tokens.get(used..)?, Occurrence::Latest);
    // Months and matches have halves, too.
    let is_year = 0 < more
        || tokens
            .first()?
            .word()
            .is_some_and(|word| word.starts_with('h'));
    is_year.then_some((half(number, year)?, used + more))
}

/// `2025-W40`, `2025W40`, `W40 2025`, `week 40 of 2025`, `KW 40`, `calendar week 1 2026`
pub(super) fn week(tokens: &[DateToken]) -> Parsed<Period> {
    let week = |number: i8, year| {
        (1..=53)
            .contains(&number)
            .then_some(Period::Week { week: number, year })
    };
    if let Some(found) = after_year(tokens, &["w"], week) {
        return Some(found);
    }
    let kind = one_of(tokens, &["calendar", "iso"]).unwrap_or(0);
    let rest = tokens.get(kind..)?;
    let word = rest.first()?.word()?;
    let (number, mut used) = if WEEKS.contains(&word) {
        let named = one_of(rest.get(1..)?, &["no", "number", "nr"]).unwrap_or(0);
        // Only an abbreviation has a dot: `no. 40`.
        let dot = sign(rest.get(1 + named..)?, '.')
            .filter(|_| named == 1)
            .unwrap_or(0);
        let DateTokenKind::Number(number, 1..=2) = rest.get(1 + named + dot)?.kind else {
            return None;
        };
        (i8::try_from(number).ok()?, 2 + named + dot)
    } else {
        let (letters, number) = numbered(word)?;
        let is_week = letters == "w" || WEEKS.contains(&letters);
        (number.filter(|_| is_week)?, 1)
    };
    used += kind;
    let (year, more) = before_year(tokens.get(used..)?, Occurrence::Latest);
    // `W40` alone has other meanings.
    let is_week = 0 < more || numbered(word).is_none_or(|(letters, _)| letters != "w");
    is_week.then_some((week(number, year)?, used + more))
}

/// `weeks 12 to 14 of 2025`, `KW 12-14`
pub(super) fn weeks(tokens: &[DateToken]) -> Parsed<DatePhrase> {
    let kind = one_of(tokens, &["calendar", "iso"]).unwrap_or(0);
    let words = tokens.get(kind..)?;
    let kind = kind + one_of(words, WEEKS).or_else(|| one_of(words, &["weeks"]))?;
    let number = |at: usize| match tokens.get(at)?.kind {
        DateTokenKind::Number(number @ 1..=53, 1..=2) => i8::try_from(number).ok(),
        _ => None,
    };
    let first = number(kind)?;
    let joined = connector(tokens.get(kind + 1..)?)?;
    let used = kind + 1 + joined;
    let last = number(used)?;
    let (year, more) = before_year(tokens.get(used + 1..)?, Occurrence::Latest);
    let week = |week| Period::Week { week, year };
    let weeks = DatePhrase::Between(week(first), week(last));
    // Weeks across the end of a year need two years, which one phrase cannot have.
    (first < last).then_some((weeks, used + 1 + more))
}

/// Parses a year followed by a letter with a number: `2024-Q2`, `2024 Q2`, `2024Q2`.
fn after_year(
    tokens: &[DateToken],
    letters: &[&str],
    period: impl Fn(i8, YearReference) -> Option<Period>,
) -> Parsed<Period> {
    if let Some((year, used)) = year_number(tokens) {
        let used = used + sign(tokens.get(used..)?, '-').unwrap_or(0);
        let (found, number) = numbered(tokens.get(used)?.word()?)?;
        let number = number.filter(|_| letters.contains(&found))?;
        return Some((period(number, YearReference::Fixed(year))?, used + 1));
    }
    let word = tokens.first()?.word()?;
    let (year, rest) = word.split_at_checked(4)?;
    let is_year = year.bytes().all(|byte| byte.is_ascii_digit());
    let year: i16 = year.parse().ok().filter(|year| is_year && 0 < *year)?;
    let (found, number) = numbered(rest)?;
    let number = number.filter(|_| letters.contains(&found))?;
    Some((period(number, YearReference::Fixed(year))?, 1))
}

/// Splits `q2` into letters and number.
fn numbered(word: &str) -> Option<(&str, Option<i8>)> {
    let (letters, number) = word.split_at(word.find(|letter: char| letter.is_ascii_digit())?);
    // Longer numbers are versions and ids: `q1234`.
    (number.len() <= 2).then_some((letters, number.parse().ok()))
}

/// Parses the year after a part of it, also after a slash: `Q2/2024`.
fn before_year(tokens: &[DateToken], which: Occurrence) -> (YearReference, usize) {
    let slash = sign(tokens, '/').unwrap_or(0);
    let (year, more) = year_of(tokens.get(slash..).unwrap_or_default(), which);
    (year, if more == 0 { 0 } else { more + slash })
}

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
    let (unit, more) = lookup(tokens.get(used..)?, token::unit)?;
    used += more;
    let one = number.unwrap_or(1);
    // `last 0 days` means nothing.
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
        // `in 3 days` is complete; `3 days` needs `ago` or `from now`.
        let comes = one_of(tokens, &["in"]).unwrap_or(0);
        let (number, more) = count_or_one(tokens.get(comes..)?)?;
        let mut used = comes + more;
        let (unit, more) = lookup(tokens.get(used..)?, token::unit)?;
        used += more;
        if comes == 1 {
            // `in two weeks time`
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
    let (unit, used) = lookup(tokens, token::unit)?;
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
        let (unit, used) = lookup(tokens, token::unit)?;
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
