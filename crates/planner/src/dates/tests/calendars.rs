//! Phrases by the calendar of an organization: its first day of the week, and its fiscal year.

use super::{display, noon};
use crate::dates::{Calendar, FiscalCalendar, find, resolve};

#[track_caller]
fn check(today: &str, calendar: Calendar, cases: &[(&str, &str)]) {
    let now = noon(today).with_calendar(calendar);
    for (phrase, expected) in cases {
        assert_eq!(
            display(resolve(phrase, &now)),
            *expected,
            "`{phrase}` on {today}"
        );
    }
}

fn fiscal(first_month: u8, is_named_by_start: bool) -> Calendar {
    let fiscal_year = FiscalCalendar::new(first_month, is_named_by_start).unwrap();
    Calendar::default().with_fiscal_year(fiscal_year)
}

#[test]
fn weeks_begin_on_the_first_weekday() {
    // A Sunday.
    let today = "2025-10-12";
    check(
        today,
        Calendar::default().with_first_weekday(7),
        &[
            ("this week", "2025-10-12"),
            ("previous week", "2025-10-05 to 2025-10-11"),
            ("next week", "2025-10-19 to 2025-10-25"),
            ("Monday last week", "2025-10-06"),
            ("Sunday of next week", "2025-10-19"),
            ("this Friday", "2025-10-17"),
            // ISO 8601 counts from Monday.
            ("week 40", "2025-09-29 to 2025-10-05"),
            ("last week", "2025-10-05 to 2025-10-12"),
        ],
    );
    check(
        today,
        Calendar::default().with_first_weekday(6),
        &[("this week", "2025-10-11 to 2025-10-12")],
    );
    for number in [0, 1, 8] {
        let calendar = Calendar::default().with_first_weekday(number);
        assert_eq!(calendar, Calendar::default());
    }
}

#[test]
fn fiscal_years_begin_with_their_month() {
    check(
        "2025-10-12",
        fiscal(4, false),
        &[
            ("FY2025", "2024-04-01 to 2025-03-31"),
            ("FY25", "2024-04-01 to 2025-03-31"),
            ("FY 2025", "2024-04-01 to 2025-03-31"),
            ("fiscal year 2025", "2024-04-01 to 2025-03-31"),
            ("financial year 2025", "2024-04-01 to 2025-03-31"),
            ("fiscal 2025", "2024-04-01 to 2025-03-31"),
            ("Q1 of fiscal 2025", "2024-04-01 to 2024-06-30"),
            ("Q4 FY25", "2025-01-01 to 2025-03-31"),
            ("FY25-Q4", "2025-01-01 to 2025-03-31"),
            ("fiscal Q2 2025", "2024-07-01 to 2024-09-30"),
            (
                "first quarter of fiscal year 2025",
                "2024-04-01 to 2024-06-30",
            ),
            ("H2 FY25", "2024-10-01 to 2025-03-31"),
            ("first half of this fiscal year", "2025-04-01 to 2025-09-30"),
            ("this fiscal year", "2025-04-01 to 2025-10-12"),
            ("last fiscal year", "2024-04-01 to 2025-03-31"),
            ("next fiscal year", "2026-04-01 to 2027-03-31"),
            ("this fiscal quarter", "2025-10-01 to 2025-10-12"),
            ("last fiscal quarter", "2025-07-01 to 2025-09-30"),
            ("next fiscal quarter", "2026-01-01 to 2026-03-31"),
            ("Q1", "2025-01-01 to 2025-03-31"),
        ],
    );
    check(
        "2025-02-28",
        fiscal(4, true),
        &[
            ("FY2024", "2024-04-01 to 2025-03-31"),
            ("this fiscal year", "2024-04-01 to 2025-02-28"),
        ],
    );
    check(
        "2025-02-28",
        fiscal(2, false),
        &[
            ("this fiscal quarter", "2025-02-01 to 2025-02-28"),
            ("last fiscal quarter", "2024-11-01 to 2025-01-31"),
            ("FY2026", "2025-02-01 to 2026-01-31"),
        ],
    );
    check(
        "2025-02-28",
        fiscal(1, false),
        &[("FY2024", "2024-01-01 to 2024-12-31")],
    );
    assert_eq!(FiscalCalendar::new(0, false), None);
    assert_eq!(FiscalCalendar::new(13, false), None);
}

#[test]
fn a_fiscal_year_that_is_not_set_is_an_error() {
    let unset = "depends on the first month of the fiscal year, which is not set";
    for phrase in ["FY24", "Q1 of fiscal 2024", "last fiscal quarter"] {
        let expected = format!("! `{phrase}` {unset}");
        check("2025-10-12", Calendar::default(), &[(phrase, &expected)]);
    }
}

#[test]
fn listed_quarters_share_their_fiscal_year() {
    let now = noon("2025-10-12").with_calendar(fiscal(10, false));
    let found = |text: &str| {
        let mentions = find(text, &now).into_iter();
        let days = mentions.map(|mention| display(mention.meaning));
        days.collect::<Vec<_>>()
    };
    let quarters = ["2023-10-01 to 2023-12-31", "2024-01-01 to 2024-03-31"];
    assert_eq!(found("sales in Q1 and Q2 of fiscal 2024"), quarters);
    assert_eq!(found("compare FY24 Q1 with Q2"), quarters);
    assert_eq!(found("revenue of FY2024"), ["2023-10-01 to 2024-09-30"]);
}
