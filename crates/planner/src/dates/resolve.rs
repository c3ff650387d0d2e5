//! A phrase in, days out.

use super::meaning::{self, Fault};
use super::phrase::Phrase;
use super::token::{Token, tokens};
use super::{DateError, DateRange, Day, Now, grammar, help};

/// The longest phrase that is looked at, in bytes.
const LONGEST: usize = 200;

/// What a phrase of time means.
///
/// # Errors
///
/// Where it means nothing, too much, or days that there are not.
pub fn resolve(phrase: &str, now: &Now) -> Result<DateRange, DateError> {
    let phrase = phrase.trim();
    if LONGEST < phrase.len() {
        let beginning: String = phrase.chars().take(40).collect();
        return Err(DateError::Unknown {
            phrase: format!("{beginning}…"),
            near: Vec::new(),
        });
    }
    let tokens = tokens(phrase);
    match grammar::whole(&tokens) {
        Some(found) => meant(&found, phrase, now),
        None if is_vague(&tokens) => Err(DateError::Vague {
            phrase: phrase.to_owned(),
        }),
        None => Err(DateError::Unknown {
            phrase: phrase.to_owned(),
            near: help::near(phrase, now),
        }),
    }
}

/// The days of a text that names one period with its year, so that it means the same on every day.
pub(crate) fn fixed_days(text: &str) -> Option<DateRange> {
    match grammar::whole(&tokens(text))? {
        Phrase::Only(period) => {
            let (from, to) = meaning::fixed(&period)?;
            Some(DateRange {
                from: Day::of(from)?,
                to: Day::of(to)?,
            })
        }
        _ => None,
    }
}

/// The days of a phrase that was understood.
pub(super) fn meant(found: &Phrase, phrase: &str, now: &Now) -> Result<DateRange, DateError> {
    let text = || phrase.to_owned();
    let day = |date| Day::of(date).ok_or_else(|| DateError::OutOfRange { phrase: text() });
    let fault = match meaning::days(found, now) {
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
        Fault::NoSuchDay => DateError::NoSuchDay { phrase },
        Fault::Ambiguous {
            day_first,
            month_first,
        } => DateError::Ambiguous {
            phrase,
            day_first: day(day_first)?,
            month_first: day(month_first)?,
        },
        Fault::NoBeginning { to } => DateError::NoBeginning {
            phrase,
            to: day(to)?,
        },
        Fault::NotYet { from } => DateError::NotYet {
            phrase,
            from: day(from)?,
        },
        Fault::Backwards { from, to } => DateError::Backwards {
            phrase,
            from: day(from)?,
            to: day(to)?,
        },
        Fault::OtherWeekday(weekday) => DateError::OtherWeekday { phrase, weekday },
        Fault::OutOfRange => DateError::OutOfRange { phrase },
    })
}

fn is_vague(tokens: &[Token]) -> bool {
    let vague = ["few", "several", "some"];
    let is = |token: &Token| token.word().is_some_and(|word| vague.contains(&word));
    tokens.iter().any(is)
}
