//! Scans a text for date phrases.

use std::ops::Range;

use super::context::PhraseContext;
use super::lists::resolve_lists;
use crate::dates::phrase::DatePhrase;
use crate::dates::resolve::evaluate_phrase;
use crate::dates::token::{DateToken, TokenKind, tokens};
use crate::dates::{DateError, DateRange, Now, grammar};

/// A date phrase within a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DateMention {
    /// The phrase as written.
    pub phrase: String,
    /// Its byte range.
    pub at: Range<usize>,
    /// Its range of days.
    pub meaning: Result<DateRange, DateError>,
}

/// A phrase among the tokens of a text.
pub(super) struct PhraseCandidate {
    pub(super) phrase: DatePhrase,
    /// The range of its tokens.
    pub(super) tokens: Range<usize>,
    /// True if the phrase is a date on its own, rather than only when joined with another date.
    pub(super) is_certain: bool,
    /// True if the next word is counted by a number at the end of the phrase.
    pub(super) counts_items: bool,
}

/// Returns all date phrases in a text, in order; at each position the longest. Phrases that may have another meaning, or that are
/// only a part of a larger expression, are left out unless their context is unambiguous. Phrases that are listed together share
/// their year: `Q1 and Q2 of 2024`.
pub fn find(text: &str, now: &Now) -> Vec<DateMention> {
    let tokens = tokens(text);
    let mut candidates = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let Some((candidate, end)) = candidate_at(text, &tokens, at) else {
            at += 1;
            continue;
        };
        // A rejected phrase is skipped as a whole, so that no part of it is found instead.
        at = end;
        candidates.extend(candidate);
    }
    resolve_lists(&mut candidates, &tokens);
    candidates
        .into_iter()
        .filter_map(|candidate| {
            let matched = tokens.get(candidate.tokens)?;
            let place = matched.first()?.at.start..matched.last()?.at.end;
            let phrase = text.get(place.clone())?;
            Some(DateMention {
                phrase: phrase.to_owned(),
                at: place,
                meaning: evaluate_phrase(&candidate.phrase, phrase, now),
            })
        })
        .collect()
}

/// Parses the phrase at a token. Returns it unless its context excludes it, and the position after it.
fn candidate_at(
    text: &str,
    tokens: &[DateToken],
    at: usize,
) -> Option<(Option<PhraseCandidate>, usize)> {
    // An article is skipped, so that the mention starts with the phrase itself.
    if tokens[at].word() == Some("the") {
        return None;
    }
    let (phrase, used) = grammar::parse_phrase(&tokens[at..])?;
    let context = PhraseContext {
        text,
        before: &tokens[..at],
        matched: &tokens[at..at + used],
        after: tokens.get(at + used..).unwrap_or_default(),
    };
    if !stands_alone(&context) {
        return None;
    }
    let candidate = (!context.is_part_of_larger(&phrase)).then(|| PhraseCandidate {
        is_certain: context.is_certain(&phrase),
        counts_items: context.counts_items(),
        phrase,
        tokens: at..at + used,
    });
    Some((candidate, at + used))
}

/// Returns true if the phrase is not joined by punctuation to a larger token: a name, an address, a longer number.
fn stands_alone(context: &PhraseContext<'_>) -> bool {
    let PhraseContext {
        before,
        matched,
        after,
        ..
    } = *context;
    let is_glue = |token: &DateToken| matches!(token.kind, TokenKind::Sign(sign) if "-_/.@#:=&\\$%+*~^".contains(sign));
    let is_free = !matched.first().is_some_and(|first| first.is_adjacent)
        || before
            .last()
            .is_some_and(|last| !is_glue(last) && matches!(last.kind, TokenKind::Sign(_)));
    // `today-report` and `2025-10-05T09` are not phrases.
    let continues = match after {
        [sign, word, ..] => {
            sign.is_adjacent
                && is_glue(sign)
                && word.is_adjacent
                && !matches!(word.kind, TokenKind::Sign(_))
        }
        _ => false,
    };
    is_free && !continues
}
