//! Calendar arithmetic: periods that recur, and days counted from today.

use jiff::civil::{Date, ISOWeekDate, Weekday};
use jiff::{Span, ToSpan};

use super::Now;
use super::evaluate::{Days, EvaluationError};
use super::phrase::{Occurrence, TimeUnit, YearReference};

/// Where to look for what may be any of many.
#[derive(Clone, Copy, Debug)]
pub(super) enum Anchor {
    /// The latest one that has begun on this day.
    StartedBy(Date),
    /// The first one that is not over before this day.
    EndingFrom(Date),
}

/// The most years from one leap day to the next.
const LEAP: i16 = 8;

/// So many whole months of a year, from one on.
pub(super) fn months(year: i16, first: i8, count: i8) -> Option<Days> {
    let from = Date::new(year, first, 1).ok()?;
    let last = Date::new(year, first + count - 1, 1).ok()?;
    Some((from, last.last_of_month()))
}

/// A week of a year by its number.
pub(super) fn iso_week(year: i16, week: i8) -> Option<Days> {
    let monday = ISOWeekDate::new(year, week, Weekday::Monday).ok()?.date();
    Some((monday, monday.checked_add(6.days()).ok()?))
}

/// What comes once in each year, or in leap years alone.
pub(super) fn yearly(
    of: impl Fn(i16) -> Option<Days>,
    year: YearReference,
    today: Date,
    anchor: Anchor,
) -> Result<Days, EvaluationError> {
    let found = match year {
        YearReference::Fixed(year) => return of(year).ok_or(EvaluationError::NoSuchDay),
        YearReference::Relative(offset) => return of(today.year() + offset).ok_or(EvaluationError::NoSuchDay),
        YearReference::Unstated(Occurrence::This) => of(today.year()),
        YearReference::Unstated(Occurrence::Last) => before(&of, today.year(), |(_, to)| to < today),
        YearReference::Unstated(Occurrence::Next) => behind(&of, today.year(), |(from, _)| today < from),
        YearReference::Unstated(Occurrence::Latest) => match anchor {
            Anchor::StartedBy(day) => before(&of, day.year(), |(from, _)| from <= day),
            Anchor::EndingFrom(day) => behind(&of, day.year(), |(_, to)| day <= to),
        },
    };
    found.ok_or(EvaluationError::NoSuchDay)
}

fn before(
    of: impl Fn(i16) -> Option<Days>,
    year: i16,
    is_meant: impl Fn(Days) -> bool,
) -> Option<Days> {
    (year - LEAP..=year)
        .rev()
        .filter_map(of)
        .find(|days| is_meant(*days))
}

fn behind(
    of: impl Fn(i16) -> Option<Days>,
    year: i16,
    is_meant: impl Fn(Days) -> bool,
) -> Option<Days> {
    (year..=year + LEAP)
        .filter_map(of)
        .find(|days| is_meant(*days))
}

/// So many days that begin with a weekday.
pub(super) fn weekly(
    weekday: Weekday,
    count: i64,
    which: Occurrence,
    today: Date,
    anchor: Anchor,
) -> Option<Days> {
    let more = count - 1;
    let from = match (which, anchor) {
        (Occurrence::Latest, Anchor::StartedBy(day)) => begun(weekday, day, 0)?,
        (Occurrence::Latest, Anchor::EndingFrom(day)) => {
            begun(weekday, day.checked_add((6 - more).days()).ok()?, 0)?
        }
        (Occurrence::Last, _) => begun(weekday, today, -count)?,
        (Occurrence::Next, _) => begun(weekday, today, 7)?,
        (Occurrence::This, _) => {
            let monday = begun(Weekday::Monday, today, 0)?;
            let offset = i64::from(weekday.since(Weekday::Monday));
            monday.checked_add(offset.days()).ok()?
        }
    };
    Some((from, from.checked_add(more.days()).ok()?))
}

/// The latest such weekday on the day so many days after another, or before it.
fn begun(weekday: Weekday, day: Date, shift: i64) -> Option<Date> {
    let day = day.checked_add(shift.days()).ok()?;
    let since = i64::from(day.weekday().since(weekday));
    day.checked_sub(since.days()).ok()
}

/// The day so many units after now, or before it. Where a month is too short, it is its last day.
pub(super) fn shifted(now: &Now, count: i32, unit: TimeUnit) -> Option<Date> {
    let seconds = match unit {
        TimeUnit::Minute => 60,
        TimeUnit::Hour => 3600,
        _ => return moved(now.today().date(), count, unit),
    };
    now.day_after(i64::from(count) * seconds)
}

/// Whole units of the calendar, counted from the one that a day is in. Weeks begin on Mondays.
pub(super) fn whole(today: Date, first: i32, last: i32, unit: TimeUnit) -> Option<Days> {
    let start = start(today, unit)?;
    let from = moved(start, first, unit)?;
    let behind = moved(start, last.checked_add(1)?, unit)?;
    Some((from, behind.yesterday().ok()?))
}

/// A weekday of the week so many after that of a day.
pub(super) fn weekday_in(today: Date, weekday: Weekday, week: i32) -> Option<Date> {
    let monday = moved(start(today, TimeUnit::Week)?, week, TimeUnit::Week)?;
    moved(monday, i32::from(weekday.since(Weekday::Monday)), TimeUnit::Day)
}

/// The first day of the unit that a day is in.
fn start(day: Date, unit: TimeUnit) -> Option<Date> {
    match unit {
        TimeUnit::Minute | TimeUnit::Hour | TimeUnit::Day => Some(day),
        TimeUnit::Week | TimeUnit::Fortnight => {
            let since = day.weekday().since(Weekday::Monday);
            moved(day, -i32::from(since), TimeUnit::Day)
        }
        TimeUnit::Month => Some(day.first_of_month()),
        TimeUnit::Quarter => {
            let month = (day.month() - 1) / 3 * 3 + 1;
            Date::new(day.year(), month, 1).ok()
        }
        TimeUnit::Year => Some(day.first_of_year()),
    }
}

fn moved(day: Date, count: i32, unit: TimeUnit) -> Option<Date> {
    let span = Span::new();
    let span = match unit {
        TimeUnit::Minute | TimeUnit::Hour | TimeUnit::Day => span.try_days(count),
        TimeUnit::Week => span.try_weeks(count),
        TimeUnit::Fortnight => span.try_weeks(i64::from(count) * 2),
        TimeUnit::Month => span.try_months(count),
        TimeUnit::Quarter => span.try_months(i64::from(count) * 3),
        TimeUnit::Year => span.try_years(count),
    };
    day.checked_add(span.ok()?).ok()
}
