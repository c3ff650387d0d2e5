//! Phrases that explain each other, and words that only look like phrases.

use super::found::check;

#[test]
fn listed_phrases_share_their_year() {
    const Q1: &str = "2024-01-01 to 2024-03-31";
    const Q2: &str = "2024-04-01 to 2024-06-30";
    check(
        "compare Q1 and Q2 of 2024",
        &[("Q1", Q1), ("Q2 of 2024", Q2)],
    );
    check("Q1 vs. Q2 2024", &[("Q1", Q1), ("Q2 2024", Q2)]);
    check(
        "How did Q1 compare with Q2 in 2024?",
        &[("Q1", Q1), ("Q2 in 2024", Q2)],
    );
    check(
        "Compare Q2 and Q1 of 2024",
        &[("Q2", Q2), ("Q1 of 2024", Q1)],
    );
    check("Q1 2024 and Q2", &[("Q1 2024", Q1), ("Q2", Q2)]);
    check(
        "Jan, Feb and Mar 2024",
        &[
            ("Jan", "2024-01-01 to 2024-01-31"),
            ("Feb", "2024-02-01 to 2024-02-29"),
            ("Mar 2024", "2024-03-01 to 2024-03-31"),
        ],
    );
    check(
        "March 3 and March 5, 2024",
        &[("March 3", "2024-03-03"), ("March 5, 2024", "2024-03-05")],
    );
    check(
        "revenue in H1 and H2 2024",
        &[
            ("H1", "2024-01-01 to 2024-06-30"),
            ("H2 2024", "2024-07-01 to 2024-12-31"),
        ],
    );
    check(
        "last year's Q1 against Q2 2024",
        &[
            ("last year", "2024-01-01 to 2024-12-31"),
            ("Q1", Q1),
            ("Q2 2024", Q2),
        ],
    );
    check(
        "from Q4 2023 to Q2 2024",
        &[("from Q4 2023 to Q2 2024", "2023-10-01 to 2024-06-30")],
    );
}

#[test]
fn a_year_that_may_be_another_one_is_left_out() {
    // December of which year?
    check(
        "December and January 2025",
        &[("January 2025", "2025-01-01 to 2025-01-31")],
    );
    check(
        "Compare Q2 and Q1 2024",
        &[("Q1 2024", "2024-01-01 to 2024-03-31")],
    );
    check(
        "In 2024, how did Q1 compare with Q2?",
        &[("2024", "2024-01-01 to 2024-12-31")],
    );
    check(
        "customers of 2023 who ordered on October 5",
        &[("2023", "2023-01-01 to 2023-12-31")],
    );
    check("next Monday and Tuesday", &[("next Monday", "2025-10-13")]);
}

#[test]
fn years_beside_years() {
    const Y2023: (&str, &str) = ("2023", "2023-01-01 to 2023-12-31");
    const Y2024: (&str, &str) = ("2024", "2024-01-01 to 2024-12-31");
    check("in 2023 vs 2024", &[Y2023, Y2024]);
    check("2023 versus 2024", &[Y2023, Y2024]);
    check("Compare 2023 with 2024", &[Y2023, Y2024]);
    check("in 2023, in 2024", &[Y2023, Y2024]);
    for question in [
        "orders of 2024 items",
        "in 2024 orders and 2000 others",
        "after 2000 requests",
        "for 2000 km",
        "the 2024 report",
        "2023 and 2024",
    ] {
        check(question, &[]);
    }
}

#[test]
fn weeks_beside_weeks_do_not_overlap() {
    const LAST: (&str, &str) = ("last week", "2025-09-29 to 2025-10-05");
    check(
        "last week and the week before last",
        &[LAST, ("week before last", "2025-09-22 to 2025-09-28")],
    );
    check(
        "this week vs last week",
        &[("this week", "2025-10-06 to 2025-10-12"), LAST],
    );
    check(
        "last week and last month",
        &[
            ("last week", "2025-10-05 to 2025-10-12"),
            ("last month", "2025-09-01 to 2025-09-30"),
        ],
    );
    check(
        "Monday and Tuesday last week",
        &[
            ("Monday", "2025-09-29"),
            ("Tuesday last week", "2025-09-30"),
        ],
    );
    check(
        "a report for 2025-W40 and KW 41",
        &[
            ("2025-W40", "2025-09-29 to 2025-10-05"),
            ("KW 41", "2025-10-06 to 2025-10-12"),
        ],
    );
}

#[test]
fn names_of_people_are_no_months() {
    for question in [
        "April and June met Mr. March",
        "in June Carter's orders",
        "messages from May",
        "sold by April",
        "Jan called about the Sun",
        "march 5 miles, may 3 people come",
        "Mon ami sat in the sun",
    ] {
        check(question, &[]);
    }
    check(
        "sales in April and June",
        &[
            ("April", "2025-04-01 to 2025-04-30"),
            ("June", "2025-06-01 to 2025-06-30"),
        ],
    );
    check(
        "Compare March with February",
        &[
            ("March", "2025-03-01 to 2025-03-31"),
            ("February", "2025-02-01 to 2025-02-28"),
        ],
    );
    check(
        "June Carter's orders in June",
        &[("June", "2025-06-01 to 2025-06-30")],
    );
    check(
        "on Sat and Sun",
        &[("Sat", "2025-10-11"), ("Sun", "2025-10-12")],
    );
}

#[test]
fn lengths_of_time_are_no_days() {
    for question in [
        "How many seconds are in a day",
        "how many orders fit in 2 weeks",
        "a minute of silence, wait a second",
        "5 to 10 days ago",
        "in 5 to 10 days",
        "2 or 3 weeks ago",
        "2 times a week 3 hours",
        "respond in an hour",
    ] {
        check(question, &[]);
    }
    check("What is due in a week?", &[("in a week", "2025-10-19")]);
    check("in a week's time", &[("in a week's time", "2025-10-19")]);
    check("a fortnight ago", &[("a fortnight ago", "2025-09-28")]);
}

#[test]
fn parts_of_periods_are_not_the_whole() {
    for question in [
        "the first week of October and early September",
        "the last 3 days of October",
        "the first Monday of October, the second of May",
        "last Friday of September",
        "the end of last month",
        "Friday the 13th",
        "every Monday",
        "the weekend before last",
        "3 days after October 1",
        "a week from Monday",
        "this time last year, the same quarter last year",
        "the week ending October 10, the summer of 2024",
        "fiscal year 2024, Q1 of fiscal 2024, Q1 FY24",
        "H1 tags and H2 headings",
        "2025-W40-3 and 2025-10-01/10",
    ] {
        check(question, &[]);
    }
}
