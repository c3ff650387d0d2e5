//! All phrases of time within a longer text, such as a question.

use std::ops::Range;

use super::context::PhraseContext;
use super::lists::resolve_lists;
use crate::dates::phrase::DatePhrase;
use crate::dates::resolve::evaluate_phrase;
use crate::dates::token::{Token, TokenKind, tokens};
use crate::dates::{DateError, DateRange, Now, grammar};

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
pub(super) struct PhraseCandidate {
    pub(super) phrase: DatePhrase,
    /// The tokens that it takes.
    pub(super) tokens: Range<usize>,
    /// Whether it is a time by itself, or only beside another one.
    pub(super) is_certain: bool,
    /// Whether the words behind it say what a number at its end counts.
    pub(super) counts_items: bool,
}

/// All phrases of time in a text, in their order; of several at one place the longest. A phrase whose words may mean something else, or
/// that is only a part of what the text says, is left out unless the words context it leave no doubt. Phrases that are listed together
/// share their year: `Q1 and Q2 of 2024`.
pub fn find(text: &str, now: &Now) -> Vec<Mention> {
    let tokens = tokens(text);
    let mut candidates = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let Some((candidate, end)) = candidate_at(text, &tokens, at) else {
            at += 1;
            continue;
        };
        at = end;
        candidates.extend(candidate);
    }
    resolve_lists(&mut candidates, &tokens);
    candidates
        .into_iter()
        .filter_map(|candidate| {
            let said = tokens.get(candidate.tokens)?;
            let place = said.first()?.at.start..said.last()?.at.end;
            let phrase = text.get(place.clone())?;
            Some(Mention {
                phrase: phrase.to_owned(),
                at: place,
                meaning: evaluate_phrase(&candidate.phrase, phrase, now),
            })
        })
        .collect()
}

/// The phrase that begins with a token, unless it is a part of what the words context it say, and the token behind it.
fn candidate_at(text: &str, tokens: &[Token], at: usize) -> Option<(Option<PhraseCandidate>, usize)> {
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

/// Whether nothing is glued to a phrase that makes it a part of something else: a name, an address, a longer number.
fn stands_alone(context: &PhraseContext<'_>) -> bool {
    let PhraseContext {
        before,
        matched,
        after,
        ..
    } = *context;
    let is_glue = |token: &Token| matches!(token.kind, TokenKind::Sign(sign) if "-_/.@#:=&\\$%+*~^".contains(sign));
    let is_free = !matched.first().is_some_and(|first| first.is_adjacent)
        || before
            .last()
            .is_some_and(|last| !is_glue(last) && matches!(last.kind, TokenKind::Sign(_)));
    let continues = match after {
        [sign, word, ..] => {
            sign.is_adjacent && is_glue(sign) && word.is_adjacent && !matches!(word.kind, TokenKind::Sign(_))
        }
        _ => false,
    };
    is_free && !continues
}
