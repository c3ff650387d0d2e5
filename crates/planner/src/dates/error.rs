//! Why a phrase of time means no days.

use super::{DateRange, Day};

/// Why a phrase of time means no days.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DateError {
    /// No such phrase is known.
    #[error("`{phrase}` is no phrase of time that is known")]
    Unknown {
        /// The phrase.
        phrase: String,
        /// Phrases that are known and look like it, the nearest first.
        suggestions: Vec<String>,
    },
    /// It says of some days that there are few of them, but not how many.
    #[error("`{phrase}` does not say how many")]
    MissingCount {
        /// The phrase.
        phrase: String,
    },
    /// It is read in two ways.
    #[error(
        "`{phrase}` is {day_first} where the day is written first, and {month_first} where the month is"
    )]
    Ambiguous {
        /// The phrase.
        phrase: String,
        /// The day that it is where days come first.
        day_first: Day,
        /// The day that it is where months come first.
        month_first: Day,
    },
    /// The calendar has no such day.
    #[error("there is no day `{phrase}`")]
    NoSuchDay {
        /// The phrase.
        phrase: String,
    },
    /// It says when something ends, and not when it begins.
    #[error("`{phrase}` does not say from when")]
    MissingStart {
        /// The phrase.
        phrase: String,
        /// The last day that it is about.
        to: Day,
    },
    /// It goes from a day that is still to come until today.
    #[error("`{phrase}` begins with {from}, which is still to come")]
    StartsInFuture {
        /// The phrase.
        phrase: String,
        /// The first day that it is about.
        from: Day,
    },
    /// It ends before it begins.
    #[error("`{phrase}` ends on {to}, before it begins on {from}")]
    EndsBeforeStart {
        /// The phrase.
        phrase: String,
        /// Its first day.
        from: Day,
        /// Its last day.
        to: Day,
    },
    /// It names a day by its weekday and its date, and they are not the same.
    #[error("`{phrase}` is a {weekday}")]
    WeekdayMismatch {
        /// The phrase.
        phrase: String,
        /// The weekday that the date has.
        weekday: &'static str,
    },
    /// It leads out of the years 1 to 9999.
    #[error("`{phrase}` leads out of the calendar")]
    OutOfRange {
        /// The phrase.
        phrase: String,
    },
}

impl DateError {
    /// What could be said in its place.
    pub fn help(&self) -> String {
        match self {
            Self::Unknown { suggestions, .. } if !suggestions.is_empty() => {
                let suggestions: Vec<String> = suggestions.iter().map(|phrase| format!("`{phrase}`")).collect();
                format!("near to it: {}", suggestions.join(", "))
            }
            Self::Unknown { .. } => {
                "say it like `yesterday`, `last 30 days`, `this month`, `October 2025` or \
                 `2025-10-01 to 2025-10-10`"
                    .to_owned()
            }
            Self::MissingCount { .. } => "say a number, such as `last 3 days`".to_owned(),
            Self::Ambiguous {
                day_first,
                month_first,
                ..
            } => format!("write `{day_first}` or `{month_first}`"),
            Self::NoSuchDay { .. } => "look at the number of the day and at the year".to_owned(),
            Self::MissingStart { to, .. } => format!("say both: `2025-01-01 to {to}`"),
            Self::StartsInFuture { from, .. } => format!("say both: `{from} to` and the last day"),
            Self::EndsBeforeStart { from, to, .. } => {
                let range = DateRange {
                    from: *to,
                    to: *from,
                };
                format!("the other way round it is `{range}`")
            }
            Self::WeekdayMismatch { .. } => "leave the weekday out, or mend the date".to_owned(),
            Self::OutOfRange { .. } => "say a smaller number, or a year from 1 to 9999".to_owned(),
        }
    }
}
