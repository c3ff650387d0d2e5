//! The tokens of JSON with comments, each with its place, so that a file can be changed in one spot and stay as it is elsewhere.

use planwright::core::Value;

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// `{` or `[`.
    Open(u8),
    /// `}` or `]`.
    Close,
    Colon,
    Comma,
    Text,
    /// A number, `true`, `false`, `null`, or what is none of them.
    Bare,
    /// White space.
    Blank,
    Comment,
}

/// A token: `start..end` in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) start: usize,
    pub(super) end: usize,
}

impl Token {
    /// Returns whether it stands for something, where blanks and comments do not.
    pub(super) fn counts(self) -> bool {
        !matches!(self.kind, Kind::Blank | Kind::Comment)
    }
}

/// All tokens of `text`, without a gap between them.
///
/// # Errors
///
/// What is the matter, where the text is not JSON with comments.
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    let mut start = 0;
    while let Some(first) = text[start..].chars().next() {
        let rest = &text[start..];
        let (kind, length) = token(first, rest);
        tokens.push(Token {
            kind,
            start,
            end: start + length,
        });
        start += length;
    }
    Value::from_json(&plain(text, &tokens)).map_err(|error| {
        // The place would be that in a text without comments.
        let error = error.to_string();
        error
            .rsplit_once(" at line ")
            .map_or(error.clone(), |(what, _)| what.to_owned())
    })?;
    Ok(tokens)
}

/// The value that `tokens` make, as plain JSON: without comments, blanks and commas before a closing bracket.
pub(super) fn plain(text: &str, tokens: &[Token]) -> String {
    let mut plain = String::new();
    let mut counting = tokens.iter().filter(|token| token.counts()).peekable();
    while let Some(token) = counting.next() {
        let closes = counting.peek().is_some_and(|next| next.kind == Kind::Close);
        if !(token.kind == Kind::Comma && closes) {
            plain += &text[token.start..token.end];
            // Two bare words must not grow together.
            if token.kind == Kind::Bare {
                plain.push(' ');
            }
        }
    }
    plain
}

fn token(first: char, rest: &str) -> (Kind, usize) {
    match first {
        '{' | '[' => (Kind::Open(rest.as_bytes()[0]), 1),
        '}' | ']' => (Kind::Close, 1),
        ':' => (Kind::Colon, 1),
        ',' => (Kind::Comma, 1),
        '"' => (Kind::Text, text_length(rest)),
        '/' if rest.starts_with("//") => (Kind::Comment, rest.find('\n').unwrap_or(rest.len())),
        '/' if rest.starts_with("/*") => {
            let end = rest[2..].find("*/").map_or(rest.len(), |end| end + 4);
            (Kind::Comment, end)
        }
        first if is_blank(first) => (
            Kind::Blank,
            rest.find(|letter| !is_blank(letter)).unwrap_or(rest.len()),
        ),
        first => {
            let ends = |letter: char| is_blank(letter) || "{}[]:,\"/".contains(letter);
            let behind = rest[first.len_utf8()..].find(ends);
            (
                Kind::Bare,
                behind.map_or(rest.len(), |behind| behind + first.len_utf8()),
            )
        }
    }
}

/// A file may begin with a byte order mark.
fn is_blank(letter: char) -> bool {
    matches!(letter, ' ' | '\t' | '\n' | '\r' | '\u{feff}')
}

fn text_length(rest: &str) -> usize {
    let mut escaped = false;
    for (at, letter) in rest.char_indices().skip(1) {
        match letter {
            '"' if !escaped => return at + 1,
            '\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    rest.len()
}
