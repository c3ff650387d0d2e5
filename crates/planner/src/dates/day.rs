//! Days of the calendar, and ranges of them.

use std::fmt;

use jiff::Span;
use jiff::civil::{Date, date};

/// A day of the calendar, from the year 1 to the year 9999.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Day(Date);

impl Day {
    /// The day, where its year has four digits.
    pub(super) fn from_date(date: Date) -> Option<Self> {
        (1 <= date.year()).then_some(Self(date))
    }

    /// The day that a text begins with: `2025-10-05`, with or without a time behind it.
    pub(crate) fn parse_prefix(text: &str) -> Option<Self> {
        let (day, behind) = text.split_at_checked(10)?;
        let is_plain = day.bytes().enumerate().all(|(at, byte)| {
            if at == 4 || at == 7 {
                byte == b'-'
            } else {
                byte.is_ascii_digit()
            }
        });
        let is_end = behind.is_empty() || behind.starts_with(['T', 't', ' ']);
        if !is_plain || !is_end {
            return None;
        }
        Self::from_date(day.parse().ok()?)
    }

    /// The first day of a month.
    pub(crate) fn first_of_month(year: i64, month: i64) -> Option<Self> {
        let (year, month) = (i16::try_from(year).ok()?, i8::try_from(month).ok()?);
        Self::from_date(Date::new(year, month, 1).ok()?)
    }

    /// How many days it is after the first one of 1970.
    pub(crate) fn epoch_days(self) -> i64 {
        self.0.duration_since(date(1970, 1, 1)).as_hours() / 24
    }

    /// The day that is so many after the first one of 1970.
    pub(crate) fn from_epoch_days(days: i64) -> Option<Self> {
        Self::from_date(
            date(1970, 1, 1)
                .checked_add(Span::new().try_days(days).ok()?)
                .ok()?,
        )
    }

    /// The year and the month that it is in.
    pub(crate) fn year_month(self) -> (i64, i64) {
        (self.0.year().into(), self.0.month().into())
    }

    pub(super) fn date(self) -> Date {
        self.0
    }
}

impl fmt::Display for Day {
    /// `2025-10-05`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Days from the first to the last, both of them included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DateRange {
    /// The first day.
    pub from: Day,
    /// The last day, never before the first.
    pub to: Day,
}

impl DateRange {
    /// How many days there are.
    pub fn days(&self) -> i64 {
        self.to.0.duration_since(self.from.0).as_hours() / 24 + 1
    }
}

impl fmt::Display for DateRange {
    /// `2025-10-05 to 2025-10-12`, or the day alone where there is one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.from == self.to {
            return self.from.fmt(f);
        }
        write!(f, "{} to {}", self.from, self.to)
    }
}
