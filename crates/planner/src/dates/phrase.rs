//! What a phrase of time says, before anybody asks what day it is.

use jiff::civil::Weekday;

/// What a whole phrase says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Phrase {
    /// A period, and nothing else.
    Only(Period),
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
    Dates {
        month: i8,
        first: i8,
        last: i8,
        year: YearOf,
        /// The weekday that the day is said to be.
        weekday: Option<Weekday>,
    },
    /// `10/12/2025`: two numbers, of which nobody knows which is the month.
    Slashed { numbers: (i8, i8), year: i16 },
    /// A month by its name.
    Month { month: i8, year: YearOf },
    /// A quarter by its number.
    Quarter { quarter: i8, year: YearOf },
    /// A year by its number.
    Year(i16),
    /// A weekday by its name.
    Weekday(Weekday, Which),
    /// Saturday and Sunday.
    Weekend(Which),
    /// The day that is so many units after today, or before it where the number is negative.
    Offset(i32, Unit),
    /// So many units up to today, or from today on where the number is positive.
    Rolling(i32, Unit),
    /// Whole units of the calendar, counted from the one that today is in.
    Whole(i32, i32, Unit),
    /// The unit of the calendar that today is in, until today.
    Current(Unit),
}

/// A length of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
}

/// The year that something is in which comes once in each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum YearOf {
    /// This one.
    Given(i16),
    /// So many years after the one that today is in.
    Relative(i16),
    /// It is not said.
    Open(Which),
}

/// Which of those that come again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    /// The latest one that has begun.
    Latest,
    /// The latest one that is over.
    Last,
    /// That of this week or this year.
    This,
    /// The first one that begins after today.
    Next,
}
