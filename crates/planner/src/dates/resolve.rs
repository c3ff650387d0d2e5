//! Resolves phrases to days, with the errors of phrases that have none.

use super::phrase::{DateEvaluationError, DatePhrase};
use super::token::{DateToken, tokens};
use super::{DateRange, Day, Now, evaluate, find, grammar, token};

/// The reason why a date phrase has no range of days.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
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
    /// The phrase depends on the first month of the fiscal year, which is not set.
    #[error("`{phrase}` depends on the first month of the fiscal year, which is not set")]
    UnknownFiscalYear {
        /// The phrase.
        phrase: String,
    },
    /// The phrase is outside of the years 1 to 9999.
    #[error("`{phrase}` is outside of the years 1 to 9999")]
    OutOfRange {
        /// The phrase.
        phrase: String,
    },
}

impl DateError {
    /// Returns advice on how to write the phrase so that it resolves.
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
            Self::UnknownFiscalYear { .. } => {
                "set `fiscal_year` below `[dates]` in planwright.toml, or give the months"
                    .to_owned()
            }
            Self::OutOfRange { .. } => "use a smaller number, or a year from 1 to 9999".to_owned(),
        }
    }
}

/// Maximum length of a phrase, in bytes.
const MAX_PHRASE_LENGTH: usize = 200;

/// Resolves a date phrase to a range of days.
///
/// # Errors
///
/// Fails for unknown, ambiguous, and incomplete phrases, and for days that do not exist.
pub fn resolve(phrase: &str, now: &Now) -> Result<DateRange, DateError> {
    let phrase = phrase.trim();
    if MAX_PHRASE_LENGTH < phrase.len() {
        // The error quotes the phrase, and must not be arbitrarily long.
        let beginning: String = phrase.chars().take(40).collect();
        return Err(DateError::Unknown {
            phrase: format!("{beginning}…"),
            suggestions: Vec::new(),
        });
    }
    let tokens = tokens(phrase);
    match grammar::parse_whole(&tokens) {
        Some(found) => evaluate_phrase(&found, phrase, now),
        // `last few days` resembles many phrases, and each of them would be a guess at the number.
        None if lacks_count(&tokens) => Err(DateError::MissingCount {
            phrase: phrase.to_owned(),
        }),
        None => Err(DateError::Unknown {
            phrase: phrase.to_owned(),
            suggestions: suggestions(phrase, now),
        }),
    }
}

/// Returns the days of a text that names one period with its year: they do not depend on today.
pub(crate) fn fixed_days(text: &str) -> Option<DateRange> {
    match grammar::parse_whole(&tokens(text))? {
        DatePhrase::Single(period) => {
            let (from, to) = evaluate::evaluate_fixed(&period)?;
            Some(DateRange {
                from: Day::from_date(from)?,
                to: Day::from_date(to)?,
            })
        }
        DatePhrase::Between(..)
        | DatePhrase::Since(_)
        | DatePhrase::After(_)
        | DatePhrase::Until(_)
        | DatePhrase::Before(_) => None,
    }
}

/// Evaluates a parsed phrase.
pub(super) fn evaluate_phrase(
    found: &DatePhrase,
    phrase: &str,
    now: &Now,
) -> Result<DateRange, DateError> {
    let text = || phrase.to_owned();
    let day = |date| Day::from_date(date).ok_or_else(|| DateError::OutOfRange { phrase: text() });
    let problem = match evaluate::evaluate(found, now) {
        Ok((from, to)) => {
            return Ok(DateRange {
                from: day(from)?,
                to: day(to)?,
            });
        }
        Err(problem) => problem,
    };
    let phrase = text();
    Err(match problem {
        DateEvaluationError::NoSuchDay => DateError::NoSuchDay { phrase },
        DateEvaluationError::Ambiguous {
            day_first,
            month_first,
        } => DateError::Ambiguous {
            phrase,
            day_first: day(day_first)?,
            month_first: day(month_first)?,
        },
        DateEvaluationError::MissingStart { to } => DateError::MissingStart {
            phrase,
            to: day(to)?,
        },
        DateEvaluationError::StartsInFuture { from } => DateError::StartsInFuture {
            phrase,
            from: day(from)?,
        },
        DateEvaluationError::EndsBeforeStart { from, to } => DateError::EndsBeforeStart {
            phrase,
            from: day(from)?,
            to: day(to)?,
        },
        DateEvaluationError::WeekdayMismatch(weekday) => {
            DateError::WeekdayMismatch { phrase, weekday }
        }
        DateEvaluationError::UnknownFiscalYear => DateError::UnknownFiscalYear { phrase },
        DateEvaluationError::OutOfRange => DateError::OutOfRange { phrase },
    })
}

fn lacks_count(tokens: &[DateToken]) -> bool {
    // `a couple of` is two, which the grammar reads.
    let vague = ["few", "several", "some"];
    let is = |token: &DateToken| token.word().is_some_and(|word| vague.contains(&word));
    tokens.iter().any(is)
}

/// Common phrases that unknown ones are compared with.
const EXAMPLE_PHRASES: &str = "\
today|yesterday|tomorrow|day before yesterday|day after tomorrow|last week|this week|next week|previous week|\
last month|this month|next month|past month|last quarter|this quarter|last year|this year|next year|last 7 days|\
last 30 days|last 3 months|next 7 days|3 days ago|in 3 days|last weekend|this weekend|last Monday|next Friday|\
month to date|year to date|since Monday|October 2025|October 1st|October 1-10|Q3 2025|\
between October 1st and October 10th|from October 1st to October 10th";

/// Maximum number of suggestions.
const MAX_SUGGESTIONS: usize = 3;

/// The smallest similarity of a suggestion.
const MIN_SIMILARITY: f64 = 0.6;

/// Returns phrases that resolve, in place of an unknown one: the corrected phrase, phrases within it, then similar ones.
fn suggestions(phrase: &str, now: &Now) -> Vec<String> {
    let mut suggestions: Vec<String> = Vec::new();
    // A known phrase inside an unknown one is probably the intended one.
    let within = find(phrase, now)
        .into_iter()
        .filter(|mention| mention.meaning.is_ok())
        .map(|mention| mention.phrase);
    // A suggestion that does not resolve would lead to the next error.
    let corrected = correct_spelling(phrase).filter(|corrected| resolve(corrected, now).is_ok());
    let lower = phrase.to_lowercase();
    let mut similar: Vec<(f64, &str)> = EXAMPLE_PHRASES
        .split('|')
        .map(|known| {
            let similarity = strsim::normalized_damerau_levenshtein(&known.to_lowercase(), &lower);
            (similarity, known)
        })
        .filter(|(similarity, _)| MIN_SIMILARITY <= *similarity)
        .collect();
    // The sort is stable, so that equal similarities keep the order of the examples, the most common first.
    similar.sort_by(|one, other| other.0.total_cmp(&one.0));
    let known = corrected.into_iter().chain(within);
    for phrase in known.chain(similar.into_iter().map(|(_, known)| known.to_owned())) {
        if suggestions.len() < MAX_SUGGESTIONS && !suggestions.contains(&phrase) {
            suggestions.push(phrase);
        }
    }
    suggestions
}

/// Replaces misspelt words by known ones; `None` if no word is misspelt.
fn correct_spelling(phrase: &str) -> Option<String> {
    let mut corrected = String::new();
    // The end of the last misspelt word.
    let mut end = 0;
    for token in tokens(phrase) {
        if let Some(word) = token.word().and_then(token::correct_spelling) {
            // All other characters stay as they were written.
            corrected.push_str(&phrase[end..token.at.start]);
            corrected.push_str(&word);
            end = token.at.end;
        }
    }
    corrected.push_str(&phrase[end..]);
    (0 < end).then_some(corrected)
}
