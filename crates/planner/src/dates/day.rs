//! Calendar days, ranges of days, and their arithmetic: periods that recur, and days counted from today; and the current
//! time with its zone.

use std::fmt;
use std::sync::LazyLock;
use std::time::Duration;

use jiff::civil::{Date, DateTime, ISOWeekDate, Weekday, date};
use jiff::fmt::temporal::DateTimeParser;
use jiff::tz::{TimeZone, TimeZoneDatabase};
use jiff::{SignedDuration, Span, Timestamp, ToSpan};

use super::fiscal::Calendar;
use super::phrase::{DateEvaluationError, Days, Occurrence, TimeUnit, YearReference};
use super::token::weekday_name;

/// A calendar day in the years 1 to 9999.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Day(Date);

impl Day {
    /// Converts a date; `None` if its year is out of range.
    pub(super) fn from_date(date: Date) -> Option<Self> {
        // `jiff` has years before 1 as well.
        (1 <= date.year()).then_some(Self(date))
    }

    /// Parses the day at the start of a text: `2025-10-05`, with or without a time after it.
    pub(crate) fn parse_prefix(text: &str) -> Option<Self> {
        let (day, after) = text.split_at_checked(10)?;
        // A value of another form must not become a day by chance.
        let is_plain = day.bytes().enumerate().all(|(at, byte)| {
            if at == 4 || at == 7 {
                byte == b'-'
            } else {
                byte.is_ascii_digit()
            }
        });
        let is_end = after.is_empty() || after.starts_with(['T', 't', ' ']);
        if !is_plain || !is_end {
            return None;
        }
        Self::from_date(day.parse().ok()?)
    }

    /// Returns the first day of a month.
    pub(crate) fn first_of_month(year: i64, month: i64) -> Option<Self> {
        let (year, month) = (i16::try_from(year).ok()?, i8::try_from(month).ok()?);
        Self::from_date(Date::new(year, month, 1).ok()?)
    }

    /// Returns the number of days since 1970-01-01.
    pub(crate) fn epoch_days(self) -> i64 {
        // Civil days have 24 hours: no change of clocks interferes.
        self.0.duration_since(date(1970, 1, 1)).as_hours() / 24
    }

    /// Returns the day `days` days after 1970-01-01.
    pub(crate) fn from_epoch_days(days: i64) -> Option<Self> {
        Self::from_date(
            date(1970, 1, 1)
                .checked_add(Span::new().try_days(days).ok()?)
                .ok()?,
        )
    }

    /// Returns the year and the month.
    pub(crate) fn year_month(self) -> (i64, i64) {
        (self.0.year().into(), self.0.month().into())
    }

    pub(super) fn date(self) -> Date {
        self.0
    }
}

impl fmt::Display for Day {
    /// Writes `2025-10-05`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A range of days, from the first to the last inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DateRange {
    /// The first day.
    pub from: Day,
    /// The last day; never before the first.
    pub to: Day,
}

impl DateRange {
    /// Returns the number of days.
    pub fn days(&self) -> i64 {
        self.to.0.duration_since(self.from.0).as_hours() / 24 + 1
    }
}

impl fmt::Display for DateRange {
    /// Writes `2025-10-05 to 2025-10-12`, or a single day.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.from == self.to {
            return self.from.fmt(f);
        }
        write!(f, "{} to {}", self.from, self.to)
    }
}

/// The occurrence of a recurring period that a phrase without a year refers to.
#[derive(Clone, Copy, Debug)]
pub(super) enum Anchor {
    /// The latest occurrence that starts on or before this day.
    StartedBy(Date),
    /// The first occurrence that ends on or after this day.
    EndingFrom(Date),
}

/// The longest distance between leap days, in years.
const MAX_LEAP_DISTANCE: i16 = 8;

/// Returns `count` whole months of a year.
pub(super) fn months(year: i16, first: i8, count: i8) -> Option<Days> {
    let from = Date::new(year, first, 1).ok()?;
    let last = Date::new(year, first + count - 1, 1).ok()?;
    Some((from, last.last_of_month()))
}

/// Returns a week of a year by its ISO 8601 number.
pub(super) fn iso_week(year: i16, week: i8) -> Option<Days> {
    let monday = ISOWeekDate::new(year, week, Weekday::Monday).ok()?.date();
    Some((monday, monday.checked_add(6.days()).ok()?))
}

/// Returns the occurrence of a period that recurs every year, or in leap years only.
pub(super) fn yearly(
    of: impl Fn(i16) -> Option<Days>,
    year: YearReference,
    today: Date,
    anchor: Anchor,
) -> Result<Days, DateEvaluationError> {
    let found = match year {
        YearReference::Fixed(year) => return of(year).ok_or(DateEvaluationError::NoSuchDay),
        YearReference::Relative(offset) => {
            return of(today.year() + offset).ok_or(DateEvaluationError::NoSuchDay);
        }
        YearReference::Unstated(Occurrence::This) => of(today.year()),
        YearReference::Unstated(Occurrence::Last) => {
            latest_until(&of, today.year(), |(_, to)| to < today)
        }
        YearReference::Unstated(Occurrence::Next) => {
            first_from(&of, today.year(), |(from, _)| today < from)
        }
        YearReference::Unstated(Occurrence::Latest) => match anchor {
            Anchor::StartedBy(day) => latest_until(&of, day.year(), |(from, _)| from <= day),
            Anchor::EndingFrom(day) => first_from(&of, day.year(), |(_, to)| day <= to),
        },
    };
    found.ok_or(DateEvaluationError::NoSuchDay)
}

fn latest_until(
    of: impl Fn(i16) -> Option<Days>,
    year: i16,
    is_match: impl Fn(Days) -> bool,
) -> Option<Days> {
    // A day of leap years alone may be that far away: 1900 and 2100 are none.
    (year - MAX_LEAP_DISTANCE..=year)
        .rev()
        .filter_map(of)
        .find(|days| is_match(*days))
}

fn first_from(
    of: impl Fn(i16) -> Option<Days>,
    year: i16,
    is_match: impl Fn(Days) -> bool,
) -> Option<Days> {
    (year..=year + MAX_LEAP_DISTANCE)
        .filter_map(of)
        .find(|days| is_match(*days))
}

/// Returns the occurrence of `count` days that start with a weekday.
pub(super) fn weekly(
    (weekday, count): (Weekday, i64),
    which: Occurrence,
    (today, week_start): (Date, Weekday),
    anchor: Anchor,
) -> Option<Days> {
    let more = count - 1;
    let from = match (which, anchor) {
        (Occurrence::Latest, Anchor::StartedBy(day)) => latest_weekday(weekday, day, 0)?,
        (Occurrence::Latest, Anchor::EndingFrom(day)) => {
            // An occurrence that starts up to `more` days before `day` has not ended yet.
            latest_weekday(weekday, day.checked_add((6 - more).days()).ok()?, 0)?
        }
        // It has ended before today.
        (Occurrence::Last, _) => latest_weekday(weekday, today, -count)?,
        // The latest within seven days is the first after today.
        (Occurrence::Next, _) => latest_weekday(weekday, today, 7)?,
        (Occurrence::This, _) => {
            let first = latest_weekday(week_start, today, 0)?;
            let offset = i64::from(weekday.since(week_start));
            first.checked_add(offset.days()).ok()?
        }
    };
    Some((from, from.checked_add(more.days()).ok()?))
}

/// Returns the latest such weekday on or before the day `shift` days after `day`.
fn latest_weekday(weekday: Weekday, day: Date, shift: i64) -> Option<Date> {
    let day = day.checked_add(shift.days()).ok()?;
    let since = i64::from(day.weekday().since(weekday));
    day.checked_sub(since.days()).ok()
}

/// Returns the day `count` units after now, or before now if negative; the last day of a month that is too short.
pub(super) fn shifted(now: &Now, count: i32, unit: TimeUnit) -> Option<Date> {
    let seconds = match unit {
        // Minutes and hours may cross midnight; other units are counted in days.
        TimeUnit::Minute => 60,
        TimeUnit::Hour => 3600,
        TimeUnit::Day
        | TimeUnit::Week
        | TimeUnit::Fortnight
        | TimeUnit::Month
        | TimeUnit::Quarter
        | TimeUnit::Year => return add_units(now.today().date(), count, unit),
    };
    now.day_after(i64::from(count) * seconds)
}

/// Returns whole calendar units, counted from the current one. Weeks start on the given weekday.
pub(super) fn calendar_units(
    (today, week_start): (Date, Weekday),
    first: i32,
    last: i32,
    unit: TimeUnit,
) -> Option<Days> {
    let start = start(today, week_start, unit)?;
    let from = add_units(start, first, unit)?;
    // Units differ in length, so that the last day is found from the start of the next unit.
    let end = add_units(start, last.checked_add(1)?, unit)?;
    Some((from, end.yesterday().ok()?))
}

/// Returns a weekday of the week `week` weeks after the week of `today`.
pub(super) fn weekday_in(
    today: Date,
    week_start: Weekday,
    weekday: Weekday,
    week: i32,
) -> Option<Date> {
    let start = start(today, week_start, TimeUnit::Week)?;
    let first = add_units(start, week, TimeUnit::Week)?;
    add_units(first, i32::from(weekday.since(week_start)), TimeUnit::Day)
}

/// Returns the first day of the unit that contains a day.
fn start(day: Date, week_start: Weekday, unit: TimeUnit) -> Option<Date> {
    match unit {
        TimeUnit::Minute | TimeUnit::Hour | TimeUnit::Day => Some(day),
        // A fortnight has no agreed start, so it begins with the week.
        TimeUnit::Week | TimeUnit::Fortnight => {
            let since = day.weekday().since(week_start);
            add_units(day, -i32::from(since), TimeUnit::Day)
        }
        TimeUnit::Month => Some(day.first_of_month()),
        TimeUnit::Quarter => {
            let month = (day.month() - 1) / 3 * 3 + 1;
            Date::new(day.year(), month, 1).ok()
        }
        TimeUnit::Year => Some(day.first_of_year()),
    }
}

fn add_units(day: Date, count: i32, unit: TimeUnit) -> Option<Date> {
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

/// The bundled time zones, so that results are the same on every machine.
static ZONES: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

/// A point in time, and the time zone of its calendar day.
#[derive(Clone, Debug)]
pub struct Now {
    moment: Timestamp,
    zone: TimeZone,
    today: Day,
    pub(super) calendar: Calendar,
}

/// A time zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone(TimeZone);

/// The reason why a time or a zone is rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TimeError {
    /// The text is not a time.
    #[error("`{0}` is not a time such as `2025-10-12T09:00:00Z`")]
    Malformed(String),
    /// The zone is not known.
    #[error("`{0}` is not a time zone such as `Europe/Berlin` or `UTC`")]
    UnknownZone(String),
    /// The time is outside of the years 1 to 9999.
    #[error("the time is outside of the years 1 to 9999")]
    OutOfRange,
}

impl Now {
    /// Creates a time from the duration since 1970-01-01 UTC.
    pub fn at(since_1970: Duration, zone: &Zone) -> Result<Self, TimeError> {
        // Phrases resolve to days and minutes; fractions of a second do not matter.
        let seconds = i64::try_from(since_1970.as_secs()).map_err(|_| TimeError::OutOfRange)?;
        let moment = Timestamp::from_second(seconds).map_err(|_| TimeError::OutOfRange)?;
        Self::new(moment, zone)
    }

    /// Parses a time in RFC 3339, such as `2025-10-12T09:00:00Z`. Without an offset it is local time of the zone, and a day alone
    /// is its start.
    pub fn parse(text: &str, zone: &Zone) -> Result<Self, TimeError> {
        let malformed = || TimeError::Malformed(text.to_owned());
        let moment = text.parse::<Timestamp>().or_else(|_| {
            let local: DateTime = text.parse().map_err(|_| malformed())?;
            // A local time that a clock change skips or repeats still resolves.
            let zoned = zone.0.to_ambiguous_zoned(local).compatible();
            zoned
                .map(|zoned| zoned.timestamp())
                .map_err(|_| malformed())
        })?;
        Self::new(moment, zone)
    }

    /// Sets the first day of the week and the fiscal year, by which phrases are resolved.
    #[must_use]
    pub fn with_calendar(mut self, calendar: Calendar) -> Self {
        self.calendar = calendar;
        self
    }

    /// Returns the start of the first day of `range` in this time zone and the end of the last one, in seconds since 1970-01-01 UTC.
    pub fn span(&self, range: &DateRange) -> (i64, i64) {
        let start = |date: Date| {
            let midnight = self.zone.to_ambiguous_zoned(date.at(0, 0, 0, 0));
            midnight
                .compatible()
                .map(|zoned| zoned.timestamp().as_second())
        };
        // Outside of the range of timestamps, nothing is excluded.
        let begin = start(range.from.0).unwrap_or(i64::MIN);
        let end = (range.to.0.tomorrow()).and_then(start).unwrap_or(i64::MAX);
        (begin, end)
    }

    /// Returns the calendar day.
    pub fn today(&self) -> Day {
        self.today
    }

    /// Formats the time as RFC 3339 in UTC, such as `2025-10-12T09:00:00.000Z`.
    pub fn timestamp(&self) -> String {
        format!("{:.3}", self.moment)
    }

    /// Returns the name of the zone, or its offset if it has none.
    pub fn zone(&self) -> String {
        let name = self.zone.iana_name().map(str::to_owned);
        name.unwrap_or_else(|| self.zone.to_offset(self.moment).to_string())
    }

    fn new(moment: Timestamp, zone: &Zone) -> Result<Self, TimeError> {
        let today = moment.to_zoned(zone.0.clone()).date();
        Ok(Self {
            moment,
            zone: zone.0.clone(),
            today: Day::from_date(today).ok_or(TimeError::OutOfRange)?,
            calendar: Calendar::default(),
        })
    }

    /// Returns the calendar day `seconds` later.
    fn day_after(&self, seconds: i64) -> Option<Date> {
        let moment = self
            .moment
            .checked_add(SignedDuration::from_secs(seconds))
            .ok()?;
        Some(moment.to_zoned(self.zone.clone()).date())
    }
}

impl fmt::Display for Now {
    /// Writes `2025-10-12 (Sunday), Europe/Berlin`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let weekday = weekday_name(self.today.date().weekday());
        write!(f, "{} ({weekday}), {}", self.today, self.zone())
    }
}

impl Zone {
    /// Returns coordinated universal time.
    pub fn utc() -> Self {
        Self(TimeZone::UTC)
    }

    /// Parses a zone name (`Europe/Berlin`), an offset (`+02:00`), or POSIX rules (`EST5EDT,M3.2.0,M11.1.0`).
    pub fn named(name: &str) -> Result<Self, TimeError> {
        if name.eq_ignore_ascii_case("utc") || name.eq_ignore_ascii_case("z") {
            return Ok(Self::utc());
        }
        DateTimeParser::new()
            .parse_time_zone_with(&ZONES, name)
            .map(Self)
            .map_err(|_| TimeError::UnknownZone(name.to_owned()))
    }
}

/// Wraps a zone found by the caller, such as the system's.
impl From<TimeZone> for Zone {
    fn from(zone: TimeZone) -> Self {
        Self(zone)
    }
}

/// Parses an HTTP date, such as `Sun, 06 Nov 1994 08:49:37 GMT`, to the duration since 1970-01-01 UTC.
#[cfg(feature = "providers")]
pub(crate) fn http_date(text: &str) -> Option<Duration> {
    // A date of HTTP has the form of one in mail.
    let parser = jiff::fmt::rfc2822::DateTimeParser::new();
    let moment = parser.parse_timestamp(text.trim()).ok()?;
    u64::try_from(moment.as_second())
        .ok()
        .map(Duration::from_secs)
}
