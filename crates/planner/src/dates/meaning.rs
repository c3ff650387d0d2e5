//! Step three: from what a phrase says to days, now that it is known what day it is.

mod named;
mod relative;

use jiff::civil::Date;

use super::Now;
use super::phrase::{Period, Phrase, YearOf};
use super::vocabulary::name_of;
use named::Reach;

/// The first day and the last.
pub(super) type Days = (Date, Date);

/// Why something means no days.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    NoSuchDay,
    Ambiguous { day_first: Date, month_first: Date },
    NoBeginning { to: Date },
    NotYet { from: Date },
    Backwards { from: Date, to: Date },
    OtherWeekday(&'static str),
    OutOfRange,
}

/// The days of a whole phrase.
pub(super) fn days(phrase: &Phrase, now: &Now) -> Result<Days, Fault> {
    let today = now.today().date();
    let latest = Reach::Begun(today);
    match phrase {
        Phrase::Only(period) => of_period(period, now, latest),
        Phrase::Between(first, last) => between(first, last, now),
        Phrase::Since(period) => {
            let (from, _) = of_period(period, now, latest)?;
            until_today(from, today)
        }
        Phrase::After(period) => {
            let (_, to) = of_period(period, now, latest)?;
            until_today(to.tomorrow().map_err(|_| Fault::OutOfRange)?, today)
        }
        Phrase::Until(period) => {
            let (_, to) = of_period(period, now, latest)?;
            Err(Fault::NoBeginning { to })
        }
        Phrase::Before(period) => {
            let (from, _) = of_period(period, now, latest)?;
            let to = from.yesterday().map_err(|_| Fault::OutOfRange)?;
            Err(Fault::NoBeginning { to })
        }
    }
}

fn until_today(from: Date, today: Date) -> Result<Days, Fault> {
    if from <= today {
        Ok((from, today))
    } else {
        Err(Fault::NotYet { from })
    }
}

/// From the first day of one period to the last of another. An end without a year is the first one behind the beginning,
/// and a beginning without a year the latest one before an end that has one.
fn between(first: &Period, last: &Period, now: &Now) -> Result<Days, Fault> {
    let today = now.today().date();
    let (from, to) = if is_open(first) && !is_open(last) {
        let (_, to) = of_period(last, now, Reach::Begun(today))?;
        let limit = if has_year(last) { to } else { to.min(today) };
        let (from, _) = of_period(first, now, Reach::Begun(limit))?;
        (from, to)
    } else {
        let (from, _) = of_period(first, now, Reach::Begun(today))?;
        let (_, to) = of_period(last, now, Reach::NotOverBefore(from))?;
        (from, to)
    };
    if to < from {
        return Err(Fault::Backwards { from, to });
    }
    Ok((from, to))
}

/// Whether a period comes again and again, and nothing says which is meant.
fn is_open(period: &Period) -> bool {
    use super::phrase::Which::Latest;
    match period {
        Period::Weekday(_, which) | Period::Weekend(which) => *which == Latest,
        _ => period.year() == Some(YearOf::Open(Latest)),
    }
}

fn has_year(period: &Period) -> bool {
    match period {
        Period::Year(_) | Period::Slashed { .. } => true,
        _ => period
            .year()
            .is_some_and(|year| !matches!(year, YearOf::Open(_))),
    }
}

/// The days of a period that means the same on every day; `None` of any other.
pub(super) fn fixed(period: &Period) -> Option<Days> {
    match *period {
        Period::Dates {
            month,
            first,
            last,
            year: YearOf::Given(year),
            ..
        } => {
            let day = |day| Date::new(year, month, day).ok();
            day(first).zip(day(last)).filter(|(from, to)| from <= to)
        }
        Period::Month {
            month,
            year: YearOf::Given(year),
        } => named::months(year, month, 1),
        Period::Week {
            week,
            year: YearOf::Given(year),
        } => named::week(year, week),
        _ => None,
    }
}

fn of_period(period: &Period, now: &Now, reach: Reach) -> Result<Days, Fault> {
    let today = now.today().date();
    match *period {
        Period::Dates {
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
            if let (Some((from, to)), true) = (dates(2024), last < first) {
                return Err(Fault::Backwards { from, to });
            }
            let (from, to) = named::yearly(dates, year, today, reach)?;
            match weekday {
                Some(weekday) if from.weekday() != weekday => {
                    Err(Fault::OtherWeekday(name_of(from.weekday())))
                }
                _ => Ok((from, to)),
            }
        }
        Period::Slashed { numbers, year } => slashed(numbers, year),
        Period::Month { month, year } => {
            named::yearly(|year| named::months(year, month, 1), year, today, reach)
        }
        Period::Quarter { quarter, year } => {
            let first = quarter * 3 - 2;
            named::yearly(|year| named::months(year, first, 3), year, today, reach)
        }
        Period::Half { half, year } => {
            let first = half * 6 - 5;
            named::yearly(|year| named::months(year, first, 6), year, today, reach)
        }
        Period::Week { week, year } => {
            named::yearly(|year| named::week(year, week), year, today, reach)
        }
        Period::WeekdayIn(weekday, week) => {
            let day = relative::weekday_in(today, weekday, week).ok_or(Fault::OutOfRange)?;
            Ok((day, day))
        }
        Period::Year(year) => named::months(year, 1, 12).ok_or(Fault::OutOfRange),
        Period::Weekday(weekday, which) => {
            named::weekly(weekday, 1, which, today, reach).ok_or(Fault::OutOfRange)
        }
        Period::Weekend(which) => {
            let saturday = jiff::civil::Weekday::Saturday;
            named::weekly(saturday, 2, which, today, reach).ok_or(Fault::OutOfRange)
        }
        Period::Offset(count, unit) => {
            let day = relative::shifted(now, count, unit).ok_or(Fault::OutOfRange)?;
            Ok((day, day))
        }
        Period::Rolling(count, unit) => {
            let other = relative::shifted(now, count, unit).ok_or(Fault::OutOfRange)?;
            Ok((other.min(today), other.max(today)))
        }
        Period::Whole(first, last, unit) => {
            relative::whole(today, first, last, unit).ok_or(Fault::OutOfRange)
        }
        Period::Current(unit) => {
            let (from, _) = relative::whole(today, 0, 0, unit).ok_or(Fault::OutOfRange)?;
            Ok((from, today))
        }
    }
}

fn slashed((first, second): (i8, i8), year: i16) -> Result<Days, Fault> {
    let day_first = Date::new(year, second, first).ok();
    let month_first = Date::new(year, first, second).ok();
    match (day_first, month_first) {
        (Some(day_first), Some(month_first)) if day_first != month_first => Err(Fault::Ambiguous {
            day_first,
            month_first,
        }),
        (Some(day), _) | (None, Some(day)) => Ok((day, day)),
        (None, None) => Err(Fault::NoSuchDay),
    }
}
