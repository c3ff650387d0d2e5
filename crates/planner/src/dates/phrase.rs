//! The meaning of a date phrase, independent of today.

use jiff::civil::{Date, Weekday};

/// The meaning of a whole phrase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum DatePhrase {
    /// A single period.
    Single(Period),
    /// From the first day of one period to the last day of another.
    Between(Period, Period),
    /// From the period's first day until today.
    Since(Period),
    /// From the day after the period until today.
    After(Period),
    /// Until the period's last day, without a start.
    Until(Period),
    /// Until the day before the period, without a start.
    Before(Period),
}

/// A period of days.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Period {
    /// Days of a month.
    MonthDays {
        month: i8,
        first: i8,
        last: i8,
        year: YearReference,
        /// The weekday that the phrase gives for the day.
        weekday: Option<Weekday>,
    },
    /// `10/12/2025`: two numbers in unknown order of day and month.
    NumericDate { numbers: (i8, i8), year: i16 },
    /// A month by name.
    Month { month: i8, year: YearReference },
    /// A quarter by number.
    Quarter { quarter: i8, year: YearReference },
    /// A half of a year by number.
    Half { half: i8, year: YearReference },
    /// A week by ISO 8601 number, starting on Monday.
    Week { week: i8, year: YearReference },
    /// A year by number.
    Year(i16),
    /// A weekday by name.
    Weekday(Weekday, Occurrence),
    /// A weekday of the week that is this number of weeks after the current one.
    WeekdayOfWeek(Weekday, i32),
    /// Saturday and Sunday.
    Weekend(Occurrence),
    /// The day that is this number of units after today, or before it if negative.
    Offset(i32, TimeUnit),
    /// A number of units, up to today if negative, else starting today.
    Rolling(i32, TimeUnit),
    /// Whole calendar units from the first to the last, counted from the one with today.
    CalendarUnits(i32, i32, TimeUnit),
    /// The calendar unit with today, until today.
    ToDate(TimeUnit),
    /// A fiscal year, or a part of one; the current year until today.
    Fiscal { part: FiscalPart, year: FiscalYear },
    /// The fiscal quarter that is this number of quarters after the current one; the current one until today.
    FiscalQuarter(i32),
}

impl Period {
    /// A single day of a month.
    pub(super) const fn month_day(month: i8, day: i8, year: YearReference) -> Self {
        Self::MonthDays {
            month,
            first: day,
            last: day,
            year,
            weekday: None,
        }
    }

    /// Returns the year of a period that recurs every year.
    pub(super) fn year(&self) -> Option<YearReference> {
        self.clone().year_mut().copied()
    }

    /// Sets the year of a period that recurs every year.
    pub(super) fn set_year(&mut self, in_year: YearReference) {
        if let Some(year) = self.year_mut() {
            *year = in_year;
        }
    }

    fn year_mut(&mut self) -> Option<&mut YearReference> {
        match self {
            Self::MonthDays { year, .. }
            | Self::Month { year, .. }
            | Self::Quarter { year, .. }
            | Self::Half { year, .. }
            | Self::Week { year, .. } => Some(year),
            Self::NumericDate { .. }
            | Self::Year(_)
            | Self::Weekday(..)
            | Self::WeekdayOfWeek(..)
            | Self::Weekend(_)
            | Self::Offset(..)
            | Self::Rolling(..)
            | Self::CalendarUnits(..)
            | Self::ToDate(_)
            | Self::Fiscal { .. }
            | Self::FiscalQuarter(_) => None,
        }
    }

    /// Returns the kind of a period that recurs every year, and its place among periods of that kind; months and their days are
    /// one kind.
    pub(super) fn order_in_year(&self) -> Option<(u8, i8, i8)> {
        match *self {
            Self::MonthDays { month, first, .. } => Some((0, month, first)),
            Self::Month { month, .. } => Some((0, month, 0)),
            Self::Quarter { quarter, .. } => Some((1, quarter, 0)),
            Self::Half { half, .. } => Some((2, half, 0)),
            Self::Week { week, .. } => Some((3, week, 0)),
            Self::NumericDate { .. }
            | Self::Year(_)
            | Self::Weekday(..)
            | Self::WeekdayOfWeek(..)
            | Self::Weekend(_)
            | Self::Offset(..)
            | Self::Rolling(..)
            | Self::CalendarUnits(..)
            | Self::ToDate(_)
            | Self::Fiscal { .. }
            | Self::FiscalQuarter(_) => None,
        }
    }
}

/// A unit of time.
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

/// The year of a period that recurs every year.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum YearReference {
    /// A fixed year.
    Fixed(i16),
    /// The year that is this number of years after the current one.
    Relative(i16),
    /// No stated year: the occurrence decides.
    Unstated(Occurrence),
}

/// The selected occurrence of a recurring period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Occurrence {
    /// The latest one that has started.
    Latest,
    /// The latest one that has ended.
    Last,
    /// The one in the current week or year.
    This,
    /// The first one that starts after today.
    Next,
}

/// A part of a fiscal year.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FiscalPart {
    /// All of it.
    Year,
    /// A quarter, 1 to 4.
    Quarter(i8),
    /// A half, 1 or 2.
    Half(i8),
}

/// The fiscal year of a phrase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FiscalYear {
    /// The one with this number.
    Numbered(i16),
    /// The one that is this number of years after the current one.
    Relative(i16),
}

/// The first and the last day.
pub(super) type Days = (Date, Date);

/// The reason why a parsed phrase has no range of days.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DateEvaluationError {
    NoSuchDay,
    Ambiguous { day_first: Date, month_first: Date },
    MissingStart { to: Date },
    StartsInFuture { from: Date },
    EndsBeforeStart { from: Date, to: Date },
    WeekdayMismatch(&'static str),
    UnknownFiscalYear,
    OutOfRange,
}
