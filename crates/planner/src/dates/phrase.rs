//! What a phrase of time says, before anybody asks what day it is.

use jiff::civil::Weekday;

/// What a whole phrase says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum DatePhrase {
    /// A period, and nothing else.
    Single(Period),
    /// From the first day of one to the last day of another.
    Between(Period, Period),
    /// From its first day until today.
    Since(Period),
    /// From the day behind it until today.
    After(Period),
    /// Until its last day, from nobody knows when.
    Until(Period),
    /// Until the day before it, from nobody knows when.
    Before(Period),
}

/// Days that belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Period {
    /// Days of one month.
    MonthDays {
        month: i8,
        first: i8,
        last: i8,
        year: YearReference,
        /// The weekday that the day is said to be.
        weekday: Option<Weekday>,
    },
    /// `10/12/2025`: two numbers, of which nobody knows which is the month.
    NumericDate { numbers: (i8, i8), year: i16 },
    /// A month by its name.
    Month { month: i8, year: YearReference },
    /// A quarter by its number.
    Quarter { quarter: i8, year: YearReference },
    /// A half of a year by its number.
    Half { half: i8, year: YearReference },
    /// A week by its number in ISO 8601, from Monday on.
    Week { week: i8, year: YearReference },
    /// A year by its number.
    Year(i16),
    /// A weekday by its name.
    Weekday(Weekday, Occurrence),
    /// A weekday of the week that is so many after the one that today is in.
    WeekdayOfWeek(Weekday, i32),
    /// Saturday and Sunday.
    Weekend(Occurrence),
    /// The day that is so many units after today, or before it where the number is negative.
    Offset(i32, TimeUnit),
    /// So many units up to today, or from today on where the number is positive.
    Rolling(i32, TimeUnit),
    /// Whole units of the calendar, counted from the one that today is in.
    CalendarUnits(i32, i32, TimeUnit),
    /// The unit of the calendar that today is in, until today.
    ToDate(TimeUnit),
}

impl Period {
    /// The year of a period that comes once in each.
    pub(super) fn year(&self) -> Option<YearReference> {
        match self {
            Self::MonthDays { year, .. }
            | Self::Month { year, .. }
            | Self::Quarter { year, .. }
            | Self::Half { year, .. }
            | Self::Week { year, .. } => Some(*year),
            _ => None,
        }
    }

    /// Puts a period that comes once in each year into another one.
    pub(super) fn set_year(&mut self, in_year: YearReference) {
        match self {
            Self::MonthDays { year, .. }
            | Self::Month { year, .. }
            | Self::Quarter { year, .. }
            | Self::Half { year, .. }
            | Self::Week { year, .. } => *year = in_year,
            _ => {}
        }
    }

    /// The place in its year, among periods of its kind; months and their days are of one kind.
    pub(super) fn place_in_year(&self) -> Option<(u8, i8, i8)> {
        match *self {
            Self::MonthDays { month, first, .. } => Some((0, month, first)),
            Self::Month { month, .. } => Some((0, month, 0)),
            Self::Quarter { quarter, .. } => Some((1, quarter, 0)),
            Self::Half { half, .. } => Some((2, half, 0)),
            Self::Week { week, .. } => Some((3, week, 0)),
            _ => None,
        }
    }
}

/// A length of time.
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

/// The year that something is in which comes once in each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum YearReference {
    /// This one.
    Fixed(i16),
    /// So many years after the one that today is in.
    Relative(i16),
    /// It is not said.
    Unstated(Occurrence),
}

/// Occurrence of those that come again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Occurrence {
    /// The latest one that has begun.
    Latest,
    /// The latest one that is over.
    Last,
    /// That of this week or this year.
    This,
    /// The first one that begins after today.
    Next,
}
