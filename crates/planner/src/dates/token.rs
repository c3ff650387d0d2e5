//! Step one: from a text to words, numbers and signs, each with its place.

use std::ops::Range;

/// A word, a number or a sign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    /// Where it stands, without an `'s` behind it.
    pub(super) at: Range<usize>,
    /// Whether it is_adjacent the token before it.
    pub(super) is_adjacent: bool,
}

/// What a token is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// Letters, or letters and digits, in lower case.
    Word(String),
    /// Digits alone: what they say, and how many there are.
    Number(u32, usize),
    /// `1st`
    Ordinal(u32),
    /// One character that is neither a letter nor a digit; a longer dash is `-`.
    Sign(char),
}

impl Token {
    pub(super) fn word(&self) -> Option<&str> {
        match &self.kind {
            TokenKind::Word(word) => Some(word),
            _ => None,
        }
    }

    pub(super) fn is_sign(&self, wanted: char) -> bool {
        self.kind == TokenKind::Sign(wanted)
    }
}

/// All tokens of a text. The `'s` of `today's` and the apostrophe of `days'` belong to no token.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let mut found: Vec<Token> = Vec::new();
    let mut behind = None;
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let start = text.len() - rest.len();
        if first.is_whitespace() {
            rest = &rest[first.len_utf8()..];
            continue;
        }
        let is_adjacent = behind == Some(start);
        let mut push = |kind, length: usize| {
            found.push(Token {
                kind,
                at: start..start + length,
                is_adjacent,
            });
        };
        let length = if is_word_char(first) {
            let length = rest.find(|letter| !is_word_char(letter)).unwrap_or(rest.len());
            let (word, after) = rest.split_at(length);
            push(token_kind(word), length);
            length + possessive_length(word, after)
        } else {
            let sign = match first {
                '–' | '—' | '‐' | '‑' => '-',
                '’' => '\'',
                other => other,
            };
            push(TokenKind::Sign(sign), first.len_utf8());
            first.len_utf8()
        };
        behind = Some(start + length);
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
        Ok(value) if ["st", "nd", "rd", "th"].contains(&suffix.as_str()) => TokenKind::Ordinal(value),
        _ => TokenKind::Word(word.to_ascii_lowercase()),
    }
}

/// How long what makes a word a possessive is.
fn possessive_length(word: &str, after: &str) -> usize {
    let Some(mark) = ["'", "’"].into_iter().find(|mark| after.starts_with(mark)) else {
        return 0;
    };
    let behind = &after[mark.len()..];
    let ends = |rest: &str| !rest.starts_with(is_word_char);
    match behind.strip_prefix(['s', 'S']) {
        Some(rest) if ends(rest) => mark.len() + 1,
        // `days'`, unless it closes a quotation.
        _ if word.ends_with(['s', 'S']) && behind.starts_with(' ') => mark.len(),
        _ => 0,
    }
}
