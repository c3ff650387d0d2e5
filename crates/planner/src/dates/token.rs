//! First step of resolution: words, numbers, and signs with their positions.

use std::ops::Range;

/// A word, a number, or a sign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DateToken {
    pub(super) kind: TokenKind,
    /// The byte range, without a trailing `'s`.
    pub(super) at: Range<usize>,
    /// True if no space separates it from the previous token.
    pub(super) is_adjacent: bool,
}

/// The kind of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// Letters, or letters and digits, in lower case.
    Word(String),
    /// Digits only: their value and their number.
    Number(u32, usize),
    /// `1st`
    Ordinal(u32),
    /// Any other character; all dashes are `-`.
    Sign(char),
}

impl DateToken {
    pub(super) fn word(&self) -> Option<&str> {
        match &self.kind {
            TokenKind::Word(word) => Some(word),
            TokenKind::Number(..) | TokenKind::Ordinal(_) | TokenKind::Sign(_) => None,
        }
    }

    pub(super) fn is_sign(&self, wanted: char) -> bool {
        self.kind == TokenKind::Sign(wanted)
    }
}

/// Splits a text into tokens. The `'s` of `today's` and the apostrophe of `days'` belong to no token.
pub(super) fn tokens(text: &str) -> Vec<DateToken> {
    let mut found: Vec<DateToken> = Vec::new();
    let mut previous_end = None;
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let start = text.len() - rest.len();
        if first.is_whitespace() {
            rest = &rest[first.len_utf8()..];
            continue;
        }
        let is_adjacent = previous_end == Some(start);
        let mut push = |kind, length: usize| {
            found.push(DateToken {
                kind,
                at: start..start + length,
                is_adjacent,
            });
        };
        let length = if is_word_char(first) {
            let length = rest
                .find(|letter| !is_word_char(letter))
                .unwrap_or(rest.len());
            let (word, after) = rest.split_at(length);
            push(token_kind(word), length);
            length + possessive_length(word, after)
        } else {
            // Typographic dashes and quotes have one form in the grammar.
            let sign = match first {
                '–' | '—' | '‐' | '‑' => '-',
                '’' => '\'',
                other => other,
            };
            push(TokenKind::Sign(sign), first.len_utf8());
            first.len_utf8()
        };
        previous_end = Some(start + length);
        rest = &rest[length..];
    }
    found
}

fn is_word_char(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

fn token_kind(word: &str) -> TokenKind {
    let digits = word
        .find(|letter: char| !letter.is_ascii_digit())
        .unwrap_or(word.len());
    let (number, suffix) = word.split_at(digits);
    let suffix = suffix.to_ascii_lowercase();
    match number.parse() {
        Ok(value) if suffix.is_empty() => TokenKind::Number(value, digits),
        Ok(value) if ["st", "nd", "rd", "th"].contains(&suffix.as_str()) => {
            TokenKind::Ordinal(value)
        }
        _ => TokenKind::Word(word.to_ascii_lowercase()),
    }
}

/// Returns the length of a possessive suffix.
fn possessive_length(word: &str, after: &str) -> usize {
    let Some(mark) = ["'", "’"].into_iter().find(|mark| after.starts_with(mark)) else {
        return 0;
    };
    let after = &after[mark.len()..];
    let ends = |rest: &str| !rest.starts_with(is_word_char);
    match after.strip_prefix(['s', 'S']) {
        Some(rest) if ends(rest) => mark.len() + 1,
        // `days'`, unless it closes a quotation.
        _ if word.ends_with(['s', 'S']) && after.starts_with(' ') => mark.len(),
        _ => 0,
    }
}
