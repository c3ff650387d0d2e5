//! The meaning of a date phrase, independent of today; and, as the third step of resolution, its days relative to today.

use jiff::civil::{Date, Weekday};

use super::Now;
use super::day::{Anchor, calendar_units, iso_week, months, shifted, weekday_in, weekly, yearly};
use super::fiscal::{FiscalPart, FiscalYear};
use super::token::weekday_name;

/// The meaning of a whole phrase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum DatePhrase {
    /// A single period.
    Single(Period),
    /// From the first day of one period to the last day of another.
    Between(Period, Period),
    /// From the period's first day until today.
    Since(Period),
    /// From the day after the period until today.
    After(Period),
    /// Until the period's last day, without a start.
    Until(Period),
    /// Until the day before the period, without a start.
    Before(Period),
}

/// A period of days.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Period {
    /// Days of a month.
    MonthDays {
        month: i8,
        first: i8,
        last: i8,
        year: YearReference,
        /// The weekday that the phrase gives for the day.
        weekday: Option<Weekday>,
    },
    /// `10/12/2025`: two numbers in unknown order of day and month.
    NumericDate { numbers: (i8, i8), year: i16 },
    /// A month by name.
    Month { month: i8, year: YearReference },
    /// A quarter by number.
    Quarter { quarter: i8, year: YearReference },
    /// A half of a year by number.
    Half { half: i8, year: YearReference },
    /// A week by ISO 8601 number, starting on Monday.
    Week { week: i8, year: YearReference },
    /// A year by number.
    Year(i16),
    /// A weekday by name.
    Weekday(Weekday, Occurrence),
    /// A weekday of the week that is this number of weeks after the current one.
    WeekdayOfWeek(Weekday, i32),
    /// Saturday and Sunday.
    Weekend(Occurrence),
    /// The day that is this number of units after today, or before it if negative.
    Offset(i32, TimeUnit),
    /// A number of units, up to today if negative, else starting today.
    Rolling(i32, TimeUnit),
    /// Whole calendar units from the first to the last, counted from the current one.
    CalendarUnits(i32, i32, TimeUnit),
    /// The calendar unit with today, until today.
    ToDate(TimeUnit),
    /// A fiscal year, or a part of one; the current year until today.
    Fiscal { part: FiscalPart, year: FiscalYear },
    /// The fiscal quarter that is this number of quarters after the current one; the current one until today.
    FiscalQuarter(i32),
}

impl Period {
    /// A single day of a month.
    pub(super) const fn month_day(month: i8, day: i8, year: YearReference) -> Self {
        Self::MonthDays {
            month,
            first: day,
            last: day,
            year,
            weekday: None,
        }
    }

    /// Returns the year of a period that recurs every year.
    pub(super) fn year(&self) -> Option<YearReference> {
        self.clone().year_mut().copied()
    }

    /// Sets the year of a period that recurs every year.
    pub(super) fn set_year(&mut self, in_year: YearReference) {
        if let Some(year) = self.year_mut() {
            *year = in_year;
        }
    }

    fn year_mut(&mut self) -> Option<&mut YearReference> {
        match self {
            Self::MonthDays { year, .. }
            | Self::Month { year, .. }
            | Self::Quarter { year, .. }
            | Self::Half { year, .. }
            | Self::Week { year, .. } => Some(year),
            Self::NumericDate { .. }
            | Self::Year(_)
            | Self::Weekday(..)
            | Self::WeekdayOfWeek(..)
            | Self::Weekend(_)
            | Self::Offset(..)
            | Self::Rolling(..)
            | Self::CalendarUnits(..)
            | Self::ToDate(_)
            | Self::Fiscal { .. }
            | Self::FiscalQuarter(_) => None,
        }
    }

    /// Returns the kind of a period that recurs every year, and its place among periods of that kind; months and their days are
    /// one kind.
    pub(super) fn order_in_year(&self) -> Option<(u8, i8, i8)> {
        match *self {
            Self::MonthDays { month, first, .. } => Some((0, month, first)),
            Self::Month { month, .. } => Some((0, month, 0)),
            Self::Quarter { quarter, .. } => Some((1, quarter, 0)),
            Self::Half { half, .. } => Some((2, half, 0)),
            Self::Week { week, .. } => Some((3, week, 0)),
            Self::NumericDate { .. }
            | Self::Year(_)
            | Self::Weekday(..)
            | Self::WeekdayOfWeek(..)
            | Self::Weekend(_)
            | Self::Offset(..)
            | Self::Rolling(..)
            | Self::CalendarUnits(..)
            | Self::ToDate(_)
            | Self::Fiscal { .. }
            | Self::FiscalQuarter(_) => None,
        }
    }
}

/// A unit of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimeUnit {
    Minute,
    Hour,
    Day,
    Week,
    Fortnight,
    Month,
    Quarter,
    Year,
}

/// The year of a period that recurs every year.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum YearReference {
    /// A fixed year.
    Fixed(i16),
    /// The year that is this number of years after the current one.
    Relative(i16),
    /// No stated year: the occurrence decides.
    Unstated(Occurrence),
}

/// The selected occurrence of a recurring period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Occurrence {
    /// The latest one that has started.
    Latest,
    /// The latest one that has ended.
    Last,
    /// The one in the current week or year.
    This,
    /// The first one that starts after today.
    Next,
}

/// The first and the last day.
pub(super) type Days = (Date, Date);

/// The reason why a parsed phrase has no range of days.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DateEvaluationError {
    NoSuchDay,
    Ambiguous { day_first: Date, month_first: Date },
    MissingStart { to: Date },
    StartsInFuture { from: Date },
    EndsBeforeStart { from: Date, to: Date },
    WeekdayMismatch(&'static str),
    UnknownFiscalYear,
    OutOfRange,
}

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
