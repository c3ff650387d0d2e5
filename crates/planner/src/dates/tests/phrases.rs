//! The table of phrases, on plain days and on those at the edges of months and years.

use super::check;

#[test]
fn the_table() {
    // A Sunday: the seventh day of its week.
    check(
        "2025-10-12",
        &[
            ("today", "2025-10-12"),
            ("now", "2025-10-12"),
            ("tonight", "2025-10-12"),
            ("this morning", "2025-10-12"),
            ("yesterday", "2025-10-11"),
            ("tomorrow", "2025-10-13"),
            ("the day before yesterday", "2025-10-10"),
            ("day after tomorrow", "2025-10-14"),
            ("last week", "2025-10-05 to 2025-10-12"),
            ("this week", "2025-10-06 to 2025-10-12"),
            ("this month", "2025-10-01 to 2025-10-12"),
            ("last 30 days", "2025-09-12 to 2025-10-12"),
            ("last month", "2025-09-01 to 2025-09-30"),
            ("LAST   Week", "2025-10-05 to 2025-10-12"),
            ("in the last week?", "2025-10-05 to 2025-10-12"),
            ("this week's", "2025-10-06 to 2025-10-12"),
            ("today’s", "2025-10-12"),
            ("\"last 30 days'\"", "2025-09-12 to 2025-10-12"),
        ],
    );
}

#[test]
fn counted_units() {
    check(
        "2025-10-12",
        &[
            ("last 7 days", "2025-10-05 to 2025-10-12"),
            ("last seven days", "2025-10-05 to 2025-10-12"),
            ("the past couple of days", "2025-10-10 to 2025-10-12"),
            ("last day", "2025-10-11 to 2025-10-12"),
            ("last 2 weeks", "2025-09-28 to 2025-10-12"),
            ("last 3 months", "2025-07-12 to 2025-10-12"),
            ("last two quarters", "2025-04-12 to 2025-10-12"),
            ("last 2 years", "2023-10-12 to 2025-10-12"),
            ("past week", "2025-10-05 to 2025-10-12"),
            ("past month", "2025-09-12 to 2025-10-12"),
            ("past quarter", "2025-07-12 to 2025-10-12"),
            ("past year", "2024-10-12 to 2025-10-12"),
            ("previous day", "2025-10-11"),
            ("previous week", "2025-09-29 to 2025-10-05"),
            ("last calendar week", "2025-09-29 to 2025-10-05"),
            ("last 2 full months", "2025-08-01 to 2025-09-30"),
            ("last full 2 months", "2025-08-01 to 2025-09-30"),
            ("previous 7 days", "2025-10-05 to 2025-10-11"),
            ("previous 2 months", "2025-08-01 to 2025-09-30"),
            ("previous quarter", "2025-07-01 to 2025-09-30"),
            ("last quarter", "2025-07-01 to 2025-09-30"),
            ("last year", "2024-01-01 to 2024-12-31"),
            ("next day", "2025-10-13"),
            ("next week", "2025-10-13 to 2025-10-19"),
            ("next month", "2025-11-01 to 2025-11-30"),
            ("next quarter", "2026-01-01 to 2026-03-31"),
            ("next year", "2026-01-01 to 2026-12-31"),
            ("next 3 days", "2025-10-12 to 2025-10-15"),
            ("next 2 months", "2025-10-12 to 2025-12-12"),
            ("coming week", "2025-10-12 to 2025-10-19"),
            ("upcoming ten days", "2025-10-12 to 2025-10-22"),
            ("this quarter", "2025-10-01 to 2025-10-12"),
            ("this year", "2025-01-01 to 2025-10-12"),
            ("current month", "2025-10-01 to 2025-10-12"),
            ("month to date", "2025-10-01 to 2025-10-12"),
            ("year-to-date", "2025-01-01 to 2025-10-12"),
            ("YTD", "2025-01-01 to 2025-10-12"),
            ("QTD", "2025-10-01 to 2025-10-12"),
            ("3 days ago", "2025-10-09"),
            ("a week ago", "2025-10-05"),
            ("two months ago", "2025-08-12"),
            ("in 5 days", "2025-10-17"),
            ("in a week's time", "2025-10-19"),
            ("a month from now", "2025-11-12"),
            ("the month before last", "2025-08-01 to 2025-08-31"),
            ("the week before last", "2025-09-22 to 2025-09-28"),
            ("year after next", "2027-01-01 to 2027-12-31"),
            ("last 24 hours", "2025-10-11 to 2025-10-12"),
            ("past 6 hours", "2025-10-12"),
            ("90 minutes ago", "2025-10-12"),
        ],
    );
}

#[test]
fn names() {
    check(
        "2025-10-12",
        &[
            ("October", "2025-10-01 to 2025-10-31"),
            ("in Oct", "2025-10-01 to 2025-10-31"),
            ("november", "2024-11-01 to 2024-11-30"),
            ("October 2023", "2023-10-01 to 2023-10-31"),
            ("Oct. 2023", "2023-10-01 to 2023-10-31"),
            ("October of last year", "2024-10-01 to 2024-10-31"),
            ("last October", "2024-10-01 to 2024-10-31"),
            ("last September", "2025-09-01 to 2025-09-30"),
            ("this December", "2025-12-01 to 2025-12-31"),
            ("next October", "2026-10-01 to 2026-10-31"),
            ("next December", "2025-12-01 to 2025-12-31"),
            ("Q3", "2025-07-01 to 2025-09-30"),
            ("q4", "2025-10-01 to 2025-12-31"),
            ("Q3 2024", "2024-07-01 to 2024-09-30"),
            ("2024-Q1", "2024-01-01 to 2024-03-31"),
            ("Q2/2024", "2024-04-01 to 2024-06-30"),
            ("the third quarter of 2024", "2024-07-01 to 2024-09-30"),
            ("Q1 of next year", "2026-01-01 to 2026-03-31"),
            ("last Q4", "2024-10-01 to 2024-12-31"),
            ("2024", "2024-01-01 to 2024-12-31"),
            ("the year 1850", "1850-01-01 to 1850-12-31"),
            ("Sunday", "2025-10-12"),
            ("on Friday", "2025-10-10"),
            ("Mon", "2025-10-06"),
            ("last Sunday", "2025-10-05"),
            ("last Monday", "2025-10-06"),
            ("this Friday", "2025-10-10"),
            ("next Friday", "2025-10-17"),
            ("next Sunday", "2025-10-19"),
            ("weekend", "2025-10-11 to 2025-10-12"),
            ("last weekend", "2025-10-04 to 2025-10-05"),
            ("this weekend", "2025-10-11 to 2025-10-12"),
            ("next weekend", "2025-10-18 to 2025-10-19"),
        ],
    );
    // A Wednesday.
    check(
        "2025-10-08",
        &[
            ("Wednesday", "2025-10-08"),
            ("Thursday", "2025-10-02"),
            ("this Friday", "2025-10-10"),
            ("next Friday", "2025-10-10"),
            ("last weekend", "2025-10-04 to 2025-10-05"),
            ("this weekend", "2025-10-11 to 2025-10-12"),
            ("the weekend", "2025-10-04 to 2025-10-05"),
        ],
    );
}

#[test]
fn dates() {
    check(
        "2025-10-12",
        &[
            ("2025-10-05", "2025-10-05"),
            ("2025/10/05", "2025-10-05"),
            ("2025-02", "2025-02-01 to 2025-02-28"),
            ("October 1st", "2025-10-01"),
            ("October 20", "2024-10-20"),
            ("Oct 1, 2025", "2025-10-01"),
            ("1 October 2025", "2025-10-01"),
            ("1st of October", "2025-10-01"),
            ("the 1st of October, 2024", "2024-10-01"),
            ("05-Oct-2025", "2025-10-05"),
            ("October 1st of last year", "2024-10-01"),
            ("Monday, October 6th", "2025-10-06"),
            ("on Monday the 6th of October 2025", "2025-10-06"),
            ("12.10.2025", "2025-10-12"),
            ("12/12/2025", "2025-12-12"),
            ("25/12/2025", "2025-12-25"),
            ("12/25/2025", "2025-12-25"),
            ("February 29", "2024-02-29"),
        ],
    );
}

#[test]
fn ranges() {
    check(
        "2025-10-12",
        &[
            (
                "from October 1st to October 10th",
                "2025-10-01 to 2025-10-10",
            ),
            ("October 1-10", "2025-10-01 to 2025-10-10"),
            ("October 1 – 10, 2024", "2024-10-01 to 2024-10-10"),
            ("1st to 10th of October", "2025-10-01 to 2025-10-10"),
            ("1-10 October 2023", "2023-10-01 to 2023-10-10"),
            ("October 1 to November 10", "2025-10-01 to 2025-11-10"),
            ("October 1 to 10 November", "2025-10-01 to 2025-11-10"),
            ("between October 1 and 10", "2025-10-01 to 2025-10-10"),
            (
                "between October 1st and the 10th, 2024",
                "2024-10-01 to 2024-10-10",
            ),
            (
                "between 2025-01-01 and 2025-02-15",
                "2025-01-01 to 2025-02-15",
            ),
            ("2025-10-01 - 2025-10-10", "2025-10-01 to 2025-10-10"),
            ("2025-10-01 through yesterday", "2025-10-01 to 2025-10-11"),
            ("December 24 to January 2", "2024-12-24 to 2025-01-02"),
            ("November to January 2025", "2024-11-01 to 2025-01-31"),
            ("October 1 to October 10, 2026", "2026-10-01 to 2026-10-10"),
            ("Oct-Dec 2024", "2024-10-01 to 2024-12-31"),
            ("2023-2024", "2023-01-01 to 2024-12-31"),
            ("from 2023 until 2024", "2023-01-01 to 2024-12-31"),
            ("Q1 to Q2 2024", "2024-01-01 to 2024-06-30"),
            ("Monday to Wednesday", "2025-10-06 to 2025-10-08"),
            ("Monday to yesterday", "2025-10-06 to 2025-10-11"),
            ("from last Monday to today", "2025-10-06 to 2025-10-12"),
            ("Saturday to Sunday", "2025-10-11 to 2025-10-12"),
            ("since Monday", "2025-10-06 to 2025-10-12"),
            ("since last week", "2025-10-05 to 2025-10-12"),
            ("since 2024", "2024-01-01 to 2025-10-12"),
            ("from October 1st on", "2025-10-01 to 2025-10-12"),
            ("starting from Friday", "2025-10-10 to 2025-10-12"),
            ("after October 1st", "2025-10-02 to 2025-10-12"),
            ("after last month", "2025-10-01 to 2025-10-12"),
            ("from last week", "2025-10-05 to 2025-10-12"),
        ],
    );
}

#[test]
fn months_that_are_too_short() {
    check(
        "2025-03-31",
        &[
            ("last month", "2025-02-01 to 2025-02-28"),
            ("past month", "2025-02-28 to 2025-03-31"),
            ("a month ago", "2025-02-28"),
            ("last 4 months", "2024-11-30 to 2025-03-31"),
            ("next month", "2025-04-01 to 2025-04-30"),
            ("in a month", "2025-04-30"),
            ("this month", "2025-03-01 to 2025-03-31"),
            ("last quarter", "2024-10-01 to 2024-12-31"),
            ("this quarter", "2025-01-01 to 2025-03-31"),
        ],
    );
    check(
        "2024-03-31",
        &[
            ("last month", "2024-02-01 to 2024-02-29"),
            ("past month", "2024-02-29 to 2024-03-31"),
        ],
    );
    check(
        "2025-08-31",
        &[
            ("last 6 months", "2025-02-28 to 2025-08-31"),
            ("last 2 quarters", "2025-02-28 to 2025-08-31"),
        ],
    );
}

#[test]
fn leap_days() {
    check(
        "2024-02-29",
        &[
            ("a year ago", "2023-02-28"),
            ("4 years ago", "2020-02-29"),
            ("in a year", "2025-02-28"),
            ("last year", "2023-01-01 to 2023-12-31"),
            ("last 30 days", "2024-01-30 to 2024-02-29"),
            ("February", "2024-02-01 to 2024-02-29"),
            ("tomorrow", "2024-03-01"),
        ],
    );
    check("1903-06-01", &[("February 29", "1896-02-29")]);
    check("2100-03-01", &[("yesterday", "2100-02-28")]);
}

#[test]
fn ends_of_years() {
    check(
        "2025-01-01",
        &[
            ("yesterday", "2024-12-31"),
            ("last month", "2024-12-01 to 2024-12-31"),
            ("last quarter", "2024-10-01 to 2024-12-31"),
            ("this week", "2024-12-30 to 2025-01-01"),
            ("previous week", "2024-12-23 to 2024-12-29"),
            ("this year", "2025-01-01"),
            ("December", "2024-12-01 to 2024-12-31"),
            ("Q4", "2024-10-01 to 2024-12-31"),
        ],
    );
    check(
        "2024-12-31",
        &[
            ("tomorrow", "2025-01-01"),
            ("next month", "2025-01-01 to 2025-01-31"),
            ("next quarter", "2025-01-01 to 2025-03-31"),
            ("next week", "2025-01-06 to 2025-01-12"),
            ("last year", "2023-01-01 to 2023-12-31"),
        ],
    );
}
