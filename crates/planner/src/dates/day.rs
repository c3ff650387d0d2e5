//! Days of the calendar, and ranges of them.

use std::fmt;

use jiff::civil::Date;

/// A day of the calendar, from the year 1 to the year 9999.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Day(Date);

impl Day {
    /// The day, where its year has four digits.
    pub(super) fn of(date: Date) -> Option<Self> {
        (1 <= date.year()).then_some(Self(date))
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
