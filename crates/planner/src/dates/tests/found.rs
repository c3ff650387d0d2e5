//! Phrases within questions.

use super::super::find;
use super::{noon, told};

/// Checks what is found in a question on Sunday, 2025-10-12.
pub(super) fn check(question: &str, expected: &[(&str, &str)]) {
    let mentions = find(question, &noon("2025-10-12"));
    for mention in &mentions {
        assert_eq!(&question[mention.at.clone()], mention.phrase, "{question}");
    }
    let found: Vec<(String, String)> = mentions
        .into_iter()
        .map(|mention| (mention.phrase, told(mention.meaning)))
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
            ("until Friday", "! `until Friday` does not say from when"),
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
fn what_is_no_time() {
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
        "",
    ] {
        check(question, &[]);
    }
}
