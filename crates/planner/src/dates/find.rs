//! All phrases of time within a longer text, such as a question.

mod context;
mod together;

use std::ops::Range;

use super::phrase::Phrase;
use super::resolve::meant;
use super::token::{Kind, Token, tokens};
use super::{DateError, DateRange, Now, grammar};
use context::Around;

/// A phrase of time within a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mention {
    /// The phrase, as it is written there.
    pub phrase: String,
    /// Where it stands, in bytes.
    pub at: Range<usize>,
    /// What it means.
    pub meaning: Result<DateRange, DateError>,
}

/// A phrase among the tokens of a text.
struct Candidate {
    phrase: Phrase,
    /// The tokens that it takes.
    tokens: Range<usize>,
    /// Whether it is a time by itself, or only beside another one.
    is_certain: bool,
    /// Whether the words behind it say what a number at its end counts.
    is_counting: bool,
}

/// All phrases of time in a text, in their order; of several at one place the longest. A phrase whose words may mean something else, or
/// that is only a part of what the text says, is left out unless the words around it leave no doubt. Phrases that are listed together
/// share their year: `Q1 and Q2 of 2024`.
pub fn find(text: &str, now: &Now) -> Vec<Mention> {
    let tokens = tokens(text);
    let mut candidates = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let Some((candidate, end)) = candidate(text, &tokens, at) else {
            at += 1;
            continue;
        };
        at = end;
        candidates.extend(candidate);
    }
    together::resolve(&mut candidates, &tokens);
    candidates
        .into_iter()
        .filter_map(|candidate| {
            let said = tokens.get(candidate.tokens)?;
            let place = said.first()?.at.start..said.last()?.at.end;
            let phrase = text.get(place.clone())?;
            Some(Mention {
                phrase: phrase.to_owned(),
                at: place,
                meaning: meant(&candidate.phrase, phrase, now),
            })
        })
        .collect()
}

/// The phrase that begins with a token, unless it is a part of what the words around it say, and the token behind it.
fn candidate(text: &str, tokens: &[Token], at: usize) -> Option<(Option<Candidate>, usize)> {
    if tokens[at].word() == Some("the") {
        return None;
    }
    let (phrase, used) = grammar::phrase(&tokens[at..])?;
    let around = Around {
        text,
        before: &tokens[..at],
        said: &tokens[at..at + used],
        behind: tokens.get(at + used..).unwrap_or_default(),
    };
    if !stands_alone(&around) {
        return None;
    }
    let candidate = (!around.is_part(&phrase)).then(|| Candidate {
        is_certain: around.is_certain(&phrase),
        is_counting: around.is_counting(),
        phrase,
        tokens: at..at + used,
    });
    Some((candidate, at + used))
}

/// Whether nothing is glued to a phrase that makes it a part of something else: a name, an address, a longer number.
fn stands_alone(around: &Around<'_>) -> bool {
    let Around {
        before,
        said,
        behind,
        ..
    } = *around;
    let is_glue = |token: &Token| matches!(token.kind, Kind::Sign(sign) if "-_/.@#:=&\\$%+*~^".contains(sign));
    let is_free = !said.first().is_some_and(|first| first.touches)
        || before
            .last()
            .is_some_and(|last| !is_glue(last) && matches!(last.kind, Kind::Sign(_)));
    let goes_on = match behind {
        [sign, word, ..] => {
            sign.touches && is_glue(sign) && word.touches && !matches!(word.kind, Kind::Sign(_))
        }
        _ => false,
    };
    is_free && !goes_on
}
