//! Calendar days and ranges of days.

use std::fmt;

use jiff::Span;
use jiff::civil::{Date, date};

/// A calendar day in the years 1 to 9999.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Day(Date);

impl Day {
    /// Converts a date; `None` if its year is out of range.
    pub(super) fn from_date(date: Date) -> Option<Self> {
        (1 <= date.year()).then_some(Self(date))
    }

    /// Parses the day at the start of a text: `2025-10-05`, with or without a time after it.
    pub(crate) fn parse_prefix(text: &str) -> Option<Self> {
        let (day, after) = text.split_at_checked(10)?;
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
