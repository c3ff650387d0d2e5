//! Step two: from words to what they say.
//!
//! Each reader looks at the beginning of a list of tokens, and says what it found and how many tokens that took. Of several
//! readings the longest counts.

mod calendar;
mod numeric;
mod part_of_year;
mod range;
mod reading;
mod relative;

use super::phrase::{Period, Phrase};
use super::token::Token;

pub(super) use range::phrase;
use reading::Read;

type Reader = fn(&[Token]) -> Read<Period>;

/// Readers of periods. Of readings of one length the first counts.
const PERIODS: &[Reader] = &[
    relative::named,
    relative::counted,
    relative::distant,
    relative::to_date,
    calendar::dates,
    calendar::month,
    part_of_year::quarter,
    part_of_year::half,
    part_of_year::week,
    calendar::weekday,
    calendar::weekday_in,
    numeric::iso,
    numeric::slashed,
    numeric::year,
];

/// Words that may stand before a phrase and change nothing about it.
const LEADS: &[&str] = &[
    "across",
    "at",
    "during",
    "for",
    "from",
    "in",
    "of",
    "on",
    "over",
    "throughout",
    "within",
];

/// A whole text that is one phrase.
pub(super) fn whole(tokens: &[Token]) -> Option<Phrase> {
    let is_edge =
        |token: &Token| matches!(token.kind, super::token::Kind::Sign(sign) if sign != '-');
    let first = tokens.iter().position(|token| !is_edge(token))?;
    let behind = tokens.iter().rposition(|token| !is_edge(token))? + 1;
    let tokens = tokens.get(first..behind)?;
    let is_lead = |token: &Token| token.word().is_some_and(|word| LEADS.contains(&word));
    // `in 3 days` is more than `3 days`, so a lead is left out only where it has to be.
    let without = tokens.split_first().filter(|(lead, _)| is_lead(lead));
    [Some(tokens), without.map(|(_, rest)| rest)]
        .into_iter()
        .flatten()
        .find_map(|tokens| {
            let (found, used) = phrase(tokens)?;
            (used == tokens.len()).then_some(found)
        })
}

/// Whether a token may stand before a phrase and belong to it in meaning.
pub(super) fn is_lead(word: &str) -> bool {
    LEADS.contains(&word)
}

fn period(tokens: &[Token]) -> Read<Period> {
    let skipped = reading::any(tokens, &["the"]).unwrap_or(0);
    let tokens = tokens.get(skipped..)?;
    let mut best: Read<Period> = None;
    for read in PERIODS {
        if let Some((found, used)) = read(tokens)
            && best.as_ref().is_none_or(|(_, longest)| *longest < used)
        {
            best = Some((found, used));
        }
    }
    let (found, used) = best?;
    Some((found, used + skipped))
}
