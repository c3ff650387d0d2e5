//! All phrases of time within a longer text, such as a question.

use std::ops::Range;

use super::phrase::{Period, Phrase};
use super::resolve::meant;
use super::token::{Kind, Token, tokens};
use super::{DateError, DateRange, Now, grammar, vocabulary};

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

/// Words before a number of four digits that make it a year.
const YEAR_LEADS: &[&str] = &["in", "of", "during", "for", "throughout", "year"];

/// All phrases of time in a text, in their order; of several at one place the longest. What a word says that is mostly
/// another one, such as `may`, counts only where the words around it leave no doubt.
pub fn find(text: &str, now: &Now) -> Vec<Mention> {
    let tokens = tokens(text);
    let mut mentions = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let used = phrase_at(text, &tokens, at).map(|(phrase, used)| {
            let last = &tokens[at + used - 1];
            let place = tokens[at].at.start..last.at.end;
            let said = &text[place.clone()];
            mentions.push(Mention {
                phrase: said.to_owned(),
                at: place,
                meaning: meant(&phrase, said, now),
            });
            used
        });
        at += used.unwrap_or(1);
    }
    mentions
}

/// The phrase that begins with a token.
fn phrase_at(text: &str, tokens: &[Token], at: usize) -> Option<(Phrase, usize)> {
    if tokens[at].word() == Some("the") {
        return None;
    }
    let (phrase, used) = grammar::phrase(&tokens[at..])?;
    let said = &tokens[at..at + used];
    let behind = tokens.get(at + used..).unwrap_or_default();
    let before = &tokens[..at];
    let is_whole = stands_alone(before, said, behind);
    let is_part = is_counted(&phrase) && behind.first().and_then(Token::word) == Some("of");
    let is_plain = is_certain(text, before, said, &phrase);
    (is_whole && !is_part && is_plain).then_some((phrase, used))
}

/// Whether nothing is glued to a phrase that makes it a part of something else: a name, an address, a longer number.
fn stands_alone(before: &[Token], said: &[Token], behind: &[Token]) -> bool {
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

fn is_counted(phrase: &Phrase) -> bool {
    matches!(
        phrase,
        Phrase::Only(Period::Rolling(..) | Period::Whole(..) | Period::Current(_))
    )
}

/// Whether a phrase cannot be read as something that is no time.
fn is_certain(text: &str, before: &[Token], said: &[Token], phrase: &Phrase) -> bool {
    let lead = before.last().and_then(Token::word);
    match phrase {
        Phrase::Only(Period::Year(_)) | Phrase::Between(Period::Year(_), _)
            if matches!(
                said.first(),
                Some(Token {
                    kind: Kind::Number(..),
                    ..
                })
            ) =>
        {
            lead.is_some_and(|lead| YEAR_LEADS.contains(&lead))
        }
        Phrase::Only(_) => {
            let [
                Token {
                    kind: Kind::Word(word),
                    at,
                    ..
                },
            ] = said
            else {
                return true;
            };
            let is_name = text[at.clone()].starts_with(char::is_uppercase) && !before.is_empty();
            !vocabulary::is_also_a_word(word) || is_name || lead.is_some_and(grammar::is_lead)
        }
        _ => true,
    }
}
