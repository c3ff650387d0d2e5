//! When something was asked, and what its phrases of time mean.

use std::fmt::Write as _;

use crate::dates::{Now, find};

/// The day of a question, and what the phrases of time in it mean.
#[derive(Clone, Copy, Debug, Default)]
pub struct Moment<'a> {
    /// The day, such as `2025-10-12 (Sunday), Europe/Berlin`.
    pub today: &'a str,
    /// What the phrases of time in the question mean.
    pub times: &'a [TimePhrase],
}

/// What a phrase of time in a question means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimePhrase {
    /// As it stands in the question.
    pub phrase: String,
    /// The first day.
    pub from: String,
    /// The last day.
    pub to: String,
}

impl TimePhrase {
    /// The phrases in `text` whose meaning is certain.
    pub fn all(text: &str, now: &Now) -> Vec<Self> {
        let mentions = find(text, now).into_iter();
        let phrases = mentions.filter_map(|mention| {
            let days = mention.meaning.ok()?;
            Some(Self {
                phrase: mention.phrase,
                from: days.from.to_string(),
                to: days.to.to_string(),
            })
        });
        phrases.collect()
    }
}

impl Moment<'_> {
    /// The moment in words, as models are told it; nothing if no day is known.
    pub fn text(&self) -> String {
        let mut text = String::new();
        if !self.today.is_empty() {
            let _ = writeln!(text, "Today is {}.", self.today);
        }
        if !self.times.is_empty() {
            text += "\nWhat the phrases of time in the question mean, both days included:\n";
            for time in self.times {
                let _ = writeln!(
                    text,
                    "- \"{}\": from {} to {}",
                    time.phrase, time.from, time.to
                );
            }
        }
        text
    }
}
