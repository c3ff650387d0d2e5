//! What comes again and again under the same name: which one of them is meant.

use jiff::ToSpan;
use jiff::civil::{Date, ISOWeekDate, Weekday};

use super::super::phrase::{Which, YearOf};
use super::{Days, Fault};

/// Where to look for what may be any of many.
#[derive(Clone, Copy, Debug)]
pub(super) enum Reach {
    /// The latest one that has begun on this day.
    Begun(Date),
    /// The first one that is not over before this day.
    NotOverBefore(Date),
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
pub(super) fn week(year: i16, week: i8) -> Option<Days> {
    let monday = ISOWeekDate::new(year, week, Weekday::Monday).ok()?.date();
    Some((monday, monday.checked_add(6.days()).ok()?))
}

/// What comes once in each year, or in leap years alone.
pub(super) fn yearly(
    of: impl Fn(i16) -> Option<Days>,
    year: YearOf,
    today: Date,
    reach: Reach,
) -> Result<Days, Fault> {
    let found = match year {
        YearOf::Given(year) => return of(year).ok_or(Fault::NoSuchDay),
        YearOf::Relative(offset) => return of(today.year() + offset).ok_or(Fault::NoSuchDay),
        YearOf::Open(Which::This) => of(today.year()),
        YearOf::Open(Which::Last) => before(&of, today.year(), |(_, to)| to < today),
        YearOf::Open(Which::Next) => behind(&of, today.year(), |(from, _)| today < from),
        YearOf::Open(Which::Latest) => match reach {
            Reach::Begun(day) => before(&of, day.year(), |(from, _)| from <= day),
            Reach::NotOverBefore(day) => behind(&of, day.year(), |(_, to)| day <= to),
        },
    };
    found.ok_or(Fault::NoSuchDay)
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
    which: Which,
    today: Date,
    reach: Reach,
) -> Option<Days> {
    let more = count - 1;
    let from = match (which, reach) {
        (Which::Latest, Reach::Begun(day)) => begun(weekday, day, 0)?,
        (Which::Latest, Reach::NotOverBefore(day)) => {
            begun(weekday, day.checked_add((6 - more).days()).ok()?, 0)?
        }
        (Which::Last, _) => begun(weekday, today, -count)?,
        (Which::Next, _) => begun(weekday, today, 7)?,
        (Which::This, _) => {
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
