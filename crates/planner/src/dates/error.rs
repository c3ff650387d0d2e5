//! Errors of date phrases.

use super::{DateRange, Day};

/// The reason why a date phrase has no range of days.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DateError {
    /// The phrase is not known.
    #[error("`{phrase}` is not a known date phrase")]
    Unknown {
        /// The phrase.
        phrase: String,
        /// Similar phrases that are known, the most similar first.
        suggestions: Vec<String>,
    },
    /// The phrase has a vague count, such as `few`.
    #[error("`{phrase}` does not say how many")]
    MissingCount {
        /// The phrase.
        phrase: String,
    },
    /// The phrase can be read in two ways.
    #[error(
        "`{phrase}` is {day_first} if the day comes first, and {month_first} if the month does"
    )]
    Ambiguous {
        /// The phrase.
        phrase: String,
        /// The day if the day comes first.
        day_first: Day,
        /// The day if the month comes first.
        month_first: Day,
    },
    /// The day does not exist in the calendar.
    #[error("there is no day `{phrase}`")]
    NoSuchDay {
        /// The phrase.
        phrase: String,
    },
    /// The phrase has an end but no start.
    #[error("`{phrase}` has no start")]
    MissingStart {
        /// The phrase.
        phrase: String,
        /// The last day of the range.
        to: Day,
    },
    /// The phrase starts in the future and ends today.
    #[error("`{phrase}` starts on {from}, which is in the future")]
    StartsInFuture {
        /// The phrase.
        phrase: String,
        /// The first day of the range.
        from: Day,
    },
    /// The phrase ends before it starts.
    #[error("`{phrase}` ends on {to}, before it starts on {from}")]
    EndsBeforeStart {
        /// The phrase.
        phrase: String,
        /// The first day.
        from: Day,
        /// The last day.
        to: Day,
    },
    /// The phrase has a weekday and a date that is another weekday.
    #[error("`{phrase}` is a {weekday}")]
    WeekdayMismatch {
        /// The phrase.
        phrase: String,
        /// The weekday of the date.
        weekday: &'static str,
    },
    /// The phrase is outside of the years 1 to 9999.
    #[error("`{phrase}` is outside of the years 1 to 9999")]
    OutOfRange {
        /// The phrase.
        phrase: String,
    },
}

impl DateError {
    /// Returns advice for a phrase that resolves.
    pub fn help(&self) -> String {
        match self {
            Self::Unknown { suggestions, .. } if !suggestions.is_empty() => {
                let suggestions: Vec<String> = suggestions
                    .iter()
                    .map(|phrase| format!("`{phrase}`"))
                    .collect();
                format!("similar phrases: {}", suggestions.join(", "))
            }
            Self::Unknown { .. } => {
                "use a phrase such as `yesterday`, `last 30 days`, `this month`, `October 2025` or \
                 `2025-10-01 to 2025-10-10`"
                    .to_owned()
            }
            Self::MissingCount { .. } => "give a number, such as `last 3 days`".to_owned(),
            Self::Ambiguous {
                day_first,
                month_first,
                ..
            } => format!("write `{day_first}` or `{month_first}`"),
            Self::NoSuchDay { .. } => "check the number of the day, and the year".to_owned(),
            Self::MissingStart { to, .. } => format!("give both ends: `2025-01-01 to {to}`"),
            Self::StartsInFuture { from, .. } => {
                format!("give both ends: `{from} to` and the last day")
            }
            Self::EndsBeforeStart { from, to, .. } => {
                let range = DateRange {
                    from: *to,
                    to: *from,
                };
                format!("reversed, it is `{range}`")
            }
            Self::WeekdayMismatch { .. } => "leave the weekday out, or correct the date".to_owned(),
            Self::OutOfRange { .. } => "use a smaller number, or a year from 1 to 9999".to_owned(),
        }
    }
}
