//! Resolves phrases to days.

use super::evaluate::{self, DateEvaluationError};
use super::phrase::DatePhrase;
use super::token::{DateToken, tokens};
use super::{DateError, DateRange, Day, Now, find, grammar, vocabulary};

/// The length of a phrase, in bytes.
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
        None if lacks_count(&tokens) => Err(DateError::MissingCount {
            phrase: phrase.to_owned(),
        }),
        None => Err(DateError::Unknown {
            phrase: phrase.to_owned(),
            suggestions: suggestions(phrase, now),
        }),
    }
}

/// Returns the days of a text that is one period with its year, and therefore independent of today.
pub(crate) fn fixed_days(text: &str) -> Option<DateRange> {
    match grammar::parse_whole(&tokens(text))? {
        DatePhrase::Single(period) => {
            let (from, to) = evaluate::evaluate_fixed(&period)?;
            Some(DateRange {
                from: Day::from_date(from)?,
                to: Day::from_date(to)?,
            })
        }
        _ => None,
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
    let fault = match evaluate::evaluate(found, now) {
        Ok((from, to)) => {
            return Ok(DateRange {
                from: day(from)?,
                to: day(to)?,
            });
        }
        Err(fault) => fault,
    };
    let phrase = text();
    Err(match fault {
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
        DateEvaluationError::WeekdayMismatch(weekday) => DateError::WeekdayMismatch { phrase, weekday },
        DateEvaluationError::OutOfRange => DateError::OutOfRange { phrase },
    })
}

fn lacks_count(tokens: &[DateToken]) -> bool {
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

/// The number of suggestions.
const MAX_SUGGESTIONS: usize = 3;

/// The smallest similarity of a suggestion.
const MIN_SIMILARITY: f64 = 0.6;

/// Returns known phrases: the corrected phrase, phrases within it, then similar ones.
fn suggestions(phrase: &str, now: &Now) -> Vec<String> {
    let mut suggestions: Vec<String> = Vec::new();
    // A known phrase inside of an unknown one is likely what was meant.
    let within = find(phrase, now)
        .into_iter()
        .filter(|mention| mention.meaning.is_ok())
        .map(|mention| mention.phrase);
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
    let mut end = 0;
    for token in tokens(phrase) {
        if let Some(word) = token.word().and_then(vocabulary::correct_spelling) {
            corrected.push_str(&phrase[end..token.at.start]);
            corrected.push_str(&word);
            end = token.at.end;
        }
    }
    corrected.push_str(&phrase[end..]);
    (0 < end).then_some(corrected)
}
