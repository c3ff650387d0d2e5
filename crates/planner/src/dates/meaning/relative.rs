//! Days that are counted from today.

use jiff::Span;
use jiff::civil::{Date, Weekday};

use super::super::Now;
use super::super::phrase::Unit;
use super::Days;

/// The day so many units after now, or before it. Where a month is too short, it is its last day.
pub(super) fn shifted(now: &Now, count: i32, unit: Unit) -> Option<Date> {
    let seconds = match unit {
        Unit::Minute => 60,
        Unit::Hour => 3600,
        _ => return moved(now.today().date(), count, unit),
    };
    now.day_after(i64::from(count) * seconds)
}

/// Whole units of the calendar, counted from the one that a day is in. Weeks begin on Mondays.
pub(super) fn whole(today: Date, first: i32, last: i32, unit: Unit) -> Option<Days> {
    let start = start(today, unit)?;
    let from = moved(start, first, unit)?;
    let behind = moved(start, last.checked_add(1)?, unit)?;
    Some((from, behind.yesterday().ok()?))
}

/// A weekday of the week so many after that of a day.
pub(super) fn weekday_in(today: Date, weekday: Weekday, week: i32) -> Option<Date> {
    let monday = moved(start(today, Unit::Week)?, week, Unit::Week)?;
    moved(monday, i32::from(weekday.since(Weekday::Monday)), Unit::Day)
}

/// The first day of the unit that a day is in.
fn start(day: Date, unit: Unit) -> Option<Date> {
    match unit {
        Unit::Minute | Unit::Hour | Unit::Day => Some(day),
        Unit::Week | Unit::Fortnight => {
            let since = day.weekday().since(Weekday::Monday);
            moved(day, -i32::from(since), Unit::Day)
        }
        Unit::Month => Some(day.first_of_month()),
        Unit::Quarter => {
            let month = (day.month() - 1) / 3 * 3 + 1;
            Date::new(day.year(), month, 1).ok()
        }
        Unit::Year => Some(day.first_of_year()),
    }
}

fn moved(day: Date, count: i32, unit: Unit) -> Option<Date> {
    let span = Span::new();
    let span = match unit {
        Unit::Minute | Unit::Hour | Unit::Day => span.try_days(count),
        Unit::Week => span.try_weeks(count),
        Unit::Fortnight => span.try_weeks(i64::from(count) * 2),
        Unit::Month => span.try_months(count),
        Unit::Quarter => span.try_months(i64::from(count) * 3),
        Unit::Year => span.try_years(count),
    };
    day.checked_add(span.ok()?).ok()
}
