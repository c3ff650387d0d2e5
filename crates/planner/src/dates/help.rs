//! What somebody may have meant.

use super::token::tokens;
use super::{Now, find, resolve, vocabulary};

/// Phrases that people use, to compare with.
const KNOWN: &[&str] = &[
    "today",
    "yesterday",
    "tomorrow",
    "day before yesterday",
    "day after tomorrow",
    "last week",
    "this week",
    "next week",
    "previous week",
    "last month",
    "this month",
    "next month",
    "past month",
    "last quarter",
    "this quarter",
    "last year",
    "this year",
    "next year",
    "last 7 days",
    "last 30 days",
    "last 3 months",
    "next 7 days",
    "3 days ago",
    "in 3 days",
    "last weekend",
    "this weekend",
    "last Monday",
    "next Friday",
    "month to date",
    "year to date",
    "since Monday",
    "October 2025",
    "October 1st",
    "October 1-10",
    "Q3 2025",
    "between October 1st and October 10th",
    "from October 1st to October 10th",
];

/// How many are told.
const MOST: usize = 3;

/// How alike two phrases must be.
const ALIKE: f64 = 0.6;

/// Phrases that are known: those within `phrase`, then those that look like it.
pub(super) fn near(phrase: &str, now: &Now) -> Vec<String> {
    let mut near: Vec<String> = Vec::new();
    let within = find(phrase, now)
        .into_iter()
        .filter(|mention| mention.meaning.is_ok())
        .map(|mention| mention.phrase);
    let corrected = corrected(phrase).filter(|corrected| resolve(corrected, now).is_ok());
    let lower = phrase.to_lowercase();
    let mut alike: Vec<(f64, &str)> = KNOWN
        .iter()
        .map(|known| {
            let likeness = strsim::normalized_damerau_levenshtein(&known.to_lowercase(), &lower);
            (likeness, *known)
        })
        .filter(|(likeness, _)| ALIKE <= *likeness)
        .collect();
    alike.sort_by(|one, other| other.0.total_cmp(&one.0));
    let known = corrected.into_iter().chain(within);
    for phrase in known.chain(alike.into_iter().map(|(_, known)| known.to_owned())) {
        if near.len() < MOST && !near.contains(&phrase) {
            near.push(phrase);
        }
    }
    near
}

/// A phrase with known words in place of misspelt ones, if there are some.
fn corrected(phrase: &str) -> Option<String> {
    let mut corrected = String::new();
    let mut end = 0;
    for token in tokens(phrase) {
        if let Some(word) = token.word().and_then(vocabulary::corrected) {
            corrected.push_str(&phrase[end..token.at.start]);
            corrected.push_str(&word);
            end = token.at.end;
        }
    }
    corrected.push_str(&phrase[end..]);
    (0 < end).then_some(corrected)
}
