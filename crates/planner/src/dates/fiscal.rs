//! The calendar of an organization: the first day of its weeks, and its fiscal year.

use jiff::ToSpan;
use jiff::civil::{Date, Weekday};

use super::phrase::{Days, FiscalPart};

/// The first day of the week, and the fiscal year.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Calendar {
    pub(super) first_weekday: Weekday,
    pub(super) fiscal_year: Option<FiscalCalendar>,
}

/// The fiscal year of an organization.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FiscalCalendar {
    first_month: i8,
    /// True if a fiscal year has the number of the calendar year in which it starts, rather than ends.
    is_named_by_start: bool,
}

impl Default for Calendar {
    /// Weeks from Monday, and no fiscal year.
    fn default() -> Self {
        Self {
            first_weekday: Weekday::Monday,
            fiscal_year: None,
        }
    }
}

impl Calendar {
    /// Sets the first day of the week: 1 for Monday to 7 for Sunday. Other numbers change nothing.
    #[must_use]
    pub fn with_first_weekday(mut self, number: u8) -> Self {
        let weekday = i8::try_from(number).map(Weekday::from_monday_one_offset);
        if let Ok(Ok(weekday)) = weekday {
            self.first_weekday = weekday;
        }
        self
    }

    /// Sets the fiscal year.
    #[must_use]
    pub fn with_fiscal_year(mut self, fiscal_year: FiscalCalendar) -> Self {
        self.fiscal_year = Some(fiscal_year);
        self
    }
}

impl FiscalCalendar {
    /// Creates a fiscal year that starts with a month, 1 to 12, and has the number of the calendar year in which it ends, or starts if
    /// `is_named_by_start`. `None` if there is no such month.
    pub fn new(first_month: u8, is_named_by_start: bool) -> Option<Self> {
        let first_month = i8::try_from(first_month).ok()?;
        (1..=12).contains(&first_month).then_some(Self {
            first_month,
            is_named_by_start,
        })
    }

    /// Returns the days of a part of the fiscal year with a number.
    pub(super) fn numbered(self, number: i16, part: FiscalPart) -> Option<Days> {
        // A fiscal year from January ends in the year in which it starts.
        let is_shifted = !self.is_named_by_start && 1 < self.first_month;
        self.part_of(number - i16::from(is_shifted), part)
    }

    /// Returns the days of a part of the fiscal year that is this number of years after the current one.
    pub(super) fn relative(self, today: Date, offset: i16, part: FiscalPart) -> Option<Days> {
        self.part_of(self.start_year(today).checked_add(offset)?, part)
    }

    /// Returns the days of the fiscal quarter that is this number of quarters after the current one.
    pub(super) fn quarter(self, today: Date, offset: i32) -> Option<Days> {
        let (start, _) = self.part_of(self.start_year(today), FiscalPart::Year)?;
        let months =
            i32::from(today.year() - start.year()) * 12 + i32::from(today.month() - start.month());
        // The quarter of today, counted from the start of its fiscal year.
        let first = (months.div_euclid(3).checked_add(offset)?).checked_mul(3)?;
        days(start, first, 3)
    }

    /// Returns the calendar year in which the fiscal year of a day starts.
    fn start_year(self, day: Date) -> i16 {
        day.year() - i16::from(day.month() < self.first_month)
    }

    fn part_of(self, start_year: i16, part: FiscalPart) -> Option<Days> {
        let start = Date::new(start_year, self.first_month, 1).ok()?;
        match part {
            FiscalPart::Year => days(start, 0, 12),
            FiscalPart::Quarter(number) => days(start, i32::from(number - 1) * 3, 3),
            FiscalPart::Half(number) => days(start, i32::from(number - 1) * 6, 6),
        }
    }
}

/// Returns `count` months, which begin `first` months after `start`.
fn days(start: Date, first: i32, count: i32) -> Option<Days> {
    let from = start.checked_add(first.months()).ok()?;
    let end = from.checked_add(count.months()).ok()?;
    // The first day after the period is found first, since months differ in length.
    Some((from, end.yesterday().ok()?))
}
