//! Tests of phrases within questions.

use super::find;
use crate::dates::tests::{display, noon};

/// Checks the phrases in a question on Sunday, 2025-10-12.
fn check(question: &str, expected: &[(&str, &str)]) {
    let mentions = find(question, &noon("2025-10-12"));
    for mention in &mentions {
        assert_eq!(&question[mention.at.clone()], mention.phrase, "{question}");
    }
    let found: Vec<(String, String)> = mentions
        .into_iter()
        .map(|mention| (mention.phrase, display(mention.meaning)))
        .collect();
    let found: Vec<(&str, &str)> = found
        .iter()
        .map(|(phrase, range)| (phrase.as_str(), range.as_str()))
        .collect();
    assert_eq!(found, expected, "{question}");
}

#[test]
fn questions() {
    check(
        "Get contaminated shipments from last week",
        &[("last week", "2025-10-05 to 2025-10-12")],
    );
    check(
        "Show me this week's inspections, and today's",
        &[
            ("this week", "2025-10-06 to 2025-10-12"),
            ("today", "2025-10-12"),
        ],
    );
    check(
        "Get shipments from October 1st to October 10th going to Hannover",
        &[(
            "from October 1st to October 10th",
            "2025-10-01 to 2025-10-10",
        )],
    );
    check(
        "Compare Q3 2024 with Q3 2025 (and the last 30 days).",
        &[
            ("Q3 2024", "2024-07-01 to 2024-09-30"),
            ("Q3 2025", "2025-07-01 to 2025-09-30"),
            ("last 30 days", "2025-09-12 to 2025-10-12"),
        ],
    );
    check(
        "How many orders were there in 2024, and in\nOctober?",
        &[
            ("2024", "2024-01-01 to 2024-12-31"),
            ("October", "2025-10-01 to 2025-10-31"),
        ],
    );
    check(
        "What is due until Friday or in 5 days?",
        &[
            ("until Friday", "! `until Friday` has no start"),
            ("in 5 days", "2025-10-17"),
        ],
    );
    check(
        "Orders of May and in march",
        &[
            ("May", "2025-05-01 to 2025-05-31"),
            ("march", "2025-03-01 to 2025-03-31"),
        ],
    );
    check(
        "“yesterday” — größer als Monday’s",
        &[("yesterday", "2025-10-11"), ("Monday", "2025-10-06")],
    );
}

#[test]
fn texts_without_dates() {
    for question in [
        "Orders that may be late march on",
        "May I see the orders?",
        "order 2024 and 2000 others",
        "the file report-today.txt, today-report, last_week and x/today/y",
        "call 555-2025-10-05 or +10/12/2025",
        "2025-10-05T09:00:00Z is a moment",
        "https://example.com/2025-10-05/a",
        "the last week of the rest, the last 3 of 5 days",
        "yesterdays thismonth todayish",
        "he sat in the sun",
        "Black Friday 2025, Good Friday and Cyber Monday",
        "next Monday week",
        "the week of October 6, the week commencing Monday, the week starting Monday, week of 2025-10-06",
        "on the 5th of last month and in week 2 of May",
        "no later than Friday, older than last week",
        "",
    ] {
        check(question, &[]);
    }
}

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
    // The year of December is ambiguous.
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
    const LAST_WEEK: (&str, &str) = ("last week", "2025-09-29 to 2025-10-05");
    check(
        "last week and the week before last",
        &[LAST_WEEK, ("week before last", "2025-09-22 to 2025-09-28")],
    );
    check(
        "this week vs last week",
        &[("this week", "2025-10-06 to 2025-10-12"), LAST_WEEK],
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
    check(
        "ships of weeks 12 to 14 of 2025",
        &[("weeks 12 to 14 of 2025", "2025-03-17 to 2025-04-06")],
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
        "the fiscal year",
        "H1 tags and H2 headings",
        "2025-W40-3 and 2025-10-01/10",
    ] {
        check(question, &[]);
    }
}
