//! Third step of resolution: the days of a phrase relative to today.

use jiff::civil::Date;

use super::Now;
use super::day::{Anchor, calendar_units, iso_week, months, shifted, weekday_in, weekly, yearly};
use super::phrase::{
    DateEvaluationError, DatePhrase, Days, FiscalPart, FiscalYear, Occurrence, Period,
    YearReference,
};
use super::token::weekday_name;

/// Evaluates a phrase.
pub(super) fn evaluate(phrase: &DatePhrase, now: &Now) -> Result<Days, DateEvaluationError> {
    let today = now.today().date();
    // Questions are about the past, so a name without a year means the latest one that has begun.
    let latest = Anchor::StartedBy(today);
    match phrase {
        DatePhrase::Single(period) => evaluate_period(period, now, latest),
        DatePhrase::Between(first, last) => between(first, last, now),
        DatePhrase::Since(period) => {
            let (from, _) = evaluate_period(period, now, latest)?;
            until_today(from, today)
        }
        DatePhrase::After(period) => {
            let (_, to) = evaluate_period(period, now, latest)?;
            until_today(
                to.tomorrow().map_err(|_| DateEvaluationError::OutOfRange)?,
                today,
            )
        }
        // An assumed start would lead to a range that looks right, so the error asks for it.
        DatePhrase::Until(period) => {
            let (_, to) = evaluate_period(period, now, latest)?;
            Err(DateEvaluationError::MissingStart { to })
        }
        DatePhrase::Before(period) => {
            let (from, _) = evaluate_period(period, now, latest)?;
            let to = from
                .yesterday()
                .map_err(|_| DateEvaluationError::OutOfRange)?;
            Err(DateEvaluationError::MissingStart { to })
        }
    }
}

fn until_today(from: Date, today: Date) -> Result<Days, DateEvaluationError> {
    if from <= today {
        Ok((from, today))
    } else {
        Err(DateEvaluationError::StartsInFuture { from })
    }
}

/// Evaluates a range from the first day of one period to the last day of another. An end without a year is the first one after
/// the start; a start without a year is the latest one before an end with a year.
fn between(first: &Period, last: &Period, now: &Now) -> Result<Days, DateEvaluationError> {
    let today = now.today().date();
    let (from, to) = if is_unstated(first) && !is_unstated(last) {
        let (_, to) = evaluate_period(last, now, Anchor::StartedBy(today))?;
        // The start is in the past, unless the end has a year and may be in the future itself.
        let limit = if has_year(last) { to } else { to.min(today) };
        let (from, _) = evaluate_period(first, now, Anchor::StartedBy(limit))?;
        (from, to)
    } else {
        let (from, _) = evaluate_period(first, now, Anchor::StartedBy(today))?;
        let (_, to) = evaluate_period(last, now, Anchor::EndingFrom(from))?;
        (from, to)
    };
    // Exchanging both could hide a misspelt year.
    if to < from {
        return Err(DateEvaluationError::EndsBeforeStart { from, to });
    }
    Ok((from, to))
}

/// Returns true for a recurring period without any detail about the occurrence.
fn is_unstated(period: &Period) -> bool {
    match period {
        Period::Weekday(_, which) | Period::Weekend(which) => *which == Occurrence::Latest,
        Period::MonthDays { .. }
        | Period::NumericDate { .. }
        | Period::Month { .. }
        | Period::Quarter { .. }
        | Period::Half { .. }
        | Period::Week { .. }
        | Period::Year(_)
        | Period::WeekdayOfWeek(..)
        | Period::Offset(..)
        | Period::Rolling(..)
        | Period::CalendarUnits(..)
        | Period::ToDate(_)
        | Period::Fiscal { .. }
        | Period::FiscalQuarter(_) => {
            period.year() == Some(YearReference::Unstated(Occurrence::Latest))
        }
    }
}

fn has_year(period: &Period) -> bool {
    match period {
        Period::Year(_) | Period::NumericDate { .. } | Period::Fiscal { .. } => true,
        Period::MonthDays { .. }
        | Period::Month { .. }
        | Period::Quarter { .. }
        | Period::Half { .. }
        | Period::Week { .. }
        | Period::Weekday(..)
        | Period::WeekdayOfWeek(..)
        | Period::Weekend(_)
        | Period::Offset(..)
        | Period::Rolling(..)
        | Period::CalendarUnits(..)
        | Period::ToDate(_)
        | Period::FiscalQuarter(_) => period
            .year()
            .is_some_and(|year| !matches!(year, YearReference::Unstated(_))),
    }
}

/// Evaluates a period that is independent of today; `None` for any other.
pub(super) fn evaluate_fixed(period: &Period) -> Option<Days> {
    match *period {
        Period::MonthDays {
            month,
            first,
            last,
            year: YearReference::Fixed(year),
            ..
        } => {
            let day = |day| Date::new(year, month, day).ok();
            day(first).zip(day(last)).filter(|(from, to)| from <= to)
        }
        Period::Month {
            month,
            year: YearReference::Fixed(year),
        } => months(year, month, 1),
        Period::Week {
            week,
            year: YearReference::Fixed(year),
        } => iso_week(year, week),
        Period::MonthDays { .. }
        | Period::NumericDate { .. }
        | Period::Month { .. }
        | Period::Quarter { .. }
        | Period::Half { .. }
        | Period::Week { .. }
        | Period::Year(_)
        | Period::Weekday(..)
        | Period::WeekdayOfWeek(..)
        | Period::Weekend(_)
        | Period::Offset(..)
        | Period::Rolling(..)
        | Period::CalendarUnits(..)
        | Period::ToDate(_)
        | Period::Fiscal { .. }
        | Period::FiscalQuarter(_) => None,
    }
}

fn evaluate_period(
    period: &Period,
    now: &Now,
    anchor: Anchor,
) -> Result<Days, DateEvaluationError> {
    let today = now.today().date();
    let week_start = now.calendar.first_weekday;
    match *period {
        Period::MonthDays {
            month,
            first,
            last,
            year,
            weekday,
        } => {
            let dates = |year| {
                let day = |day| Date::new(year, month, day).ok();
                Some((day(first)?, day(last)?))
            };
            // The order of the days is checked in a leap year, which has all days.
            if let (Some((from, to)), true) = (dates(2024), last < first) {
                return Err(DateEvaluationError::EndsBeforeStart { from, to });
            }
            let (from, to) = yearly(dates, year, today, anchor)?;
            match weekday {
                Some(weekday) if from.weekday() != weekday => Err(
                    DateEvaluationError::WeekdayMismatch(weekday_name(from.weekday())),
                ),
                _ => Ok((from, to)),
            }
        }
        Period::NumericDate { numbers, year } => numeric_date(numbers, year),
        Period::Month { month, year } => yearly(|year| months(year, month, 1), year, today, anchor),
        Period::Quarter { quarter, year } => {
            let first = quarter * 3 - 2;
            yearly(|year| months(year, first, 3), year, today, anchor)
        }
        Period::Half { half, year } => {
            let first = half * 6 - 5;
            yearly(|year| months(year, first, 6), year, today, anchor)
        }
        Period::Week { week, year } => yearly(|year| iso_week(year, week), year, today, anchor),
        Period::WeekdayOfWeek(weekday, week) => {
            let day = weekday_in(today, week_start, weekday, week)
                .ok_or(DateEvaluationError::OutOfRange)?;
            Ok((day, day))
        }
        Period::Year(year) => months(year, 1, 12).ok_or(DateEvaluationError::OutOfRange),
        Period::Weekday(weekday, which) => weekly((weekday, 1), which, (today, week_start), anchor)
            .ok_or(DateEvaluationError::OutOfRange),
        Period::Weekend(which) => {
            let saturday = jiff::civil::Weekday::Saturday;
            weekly((saturday, 2), which, (today, week_start), anchor)
                .ok_or(DateEvaluationError::OutOfRange)
        }
        Period::Offset(count, unit) => {
            let day = shifted(now, count, unit).ok_or(DateEvaluationError::OutOfRange)?;
            Ok((day, day))
        }
        Period::Rolling(count, unit) => {
            let other = shifted(now, count, unit).ok_or(DateEvaluationError::OutOfRange)?;
            Ok((other.min(today), other.max(today)))
        }
        Period::CalendarUnits(first, last, unit) => {
            calendar_units((today, week_start), first, last, unit)
                .ok_or(DateEvaluationError::OutOfRange)
        }
        Period::ToDate(unit) => {
            let (from, _) = calendar_units((today, week_start), 0, 0, unit)
                .ok_or(DateEvaluationError::OutOfRange)?;
            Ok((from, today))
        }
        Period::Fiscal { part, year } => {
            let fiscal = now.calendar.fiscal_year;
            let fiscal = fiscal.ok_or(DateEvaluationError::UnknownFiscalYear)?;
            let days = match year {
                FiscalYear::Numbered(number) => fiscal.numbered(number, part),
                FiscalYear::Relative(offset) => fiscal.relative(today, offset, part),
            };
            let (from, to) = days.ok_or(DateEvaluationError::OutOfRange)?;
            let is_current = year == FiscalYear::Relative(0) && part == FiscalPart::Year;
            Ok((from, if is_current { today } else { to }))
        }
        Period::FiscalQuarter(offset) => {
            let fiscal = now.calendar.fiscal_year;
            let fiscal = fiscal.ok_or(DateEvaluationError::UnknownFiscalYear)?;
            let days = fiscal.quarter(today, offset);
            let (from, to) = days.ok_or(DateEvaluationError::OutOfRange)?;
            Ok((from, if offset == 0 { today } else { to }))
        }
    }
}

fn numeric_date((first, second): (i8, i8), year: i16) -> Result<Days, DateEvaluationError> {
    let day_first = Date::new(year, second, first).ok();
    let month_first = Date::new(year, first, second).ok();
    match (day_first, month_first) {
        // Both orders are valid days, and a guess would often be wrong.
        (Some(day_first), Some(month_first)) if day_first != month_first => {
            Err(DateEvaluationError::Ambiguous {
                day_first,
                month_first,
            })
        }
        (Some(day), _) | (None, Some(day)) => Ok((day, day)),
        (None, None) => Err(DateEvaluationError::NoSuchDay),
    }
}
