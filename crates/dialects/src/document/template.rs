//! Texts with markers `${…}`: their bounds, and escapes.
//!
//! A marker ends at the first `}` that is neither quoted nor inside of inner braces. Dollars before a brace come in
//! pairs: `$${` is a literal `${`, `$$${x}` a literal `$` followed by the marker `${x}`.

use std::borrow::Cow;
use std::ops::Range;

/// The quotes inside of a marker in dialects that have both kinds.
pub(crate) const QUOTES: &[u8] = b"\"'";

/// A piece of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    /// Literal text, escapes resolved.
    Literal(Cow<'a, str>),
    /// `${…}`: its content, and the bytes of the whole marker.
    Marker(&'a str, Range<usize>),
    /// `${` without an end: the bytes up to the end of the text.
    Unclosed(Range<usize>),
}

/// Splits `text` into pieces; inside of a marker, the characters of `quotes` open and close quoted text.
pub(crate) fn split<'a>(text: &'a str, quotes: &[u8]) -> Vec<Piece<'a>> {
    if !text.contains("${") {
        return vec![Piece::Literal(text.into())];
    }
    // Most texts with a marker consist of that marker.
    let mut pieces = Vec::with_capacity(1);
    let mut literal = String::new();
    let mut at = 0;
    while let Some(found) = text[at..].find("${") {
        let dollar = at + found;
        let first = first_dollar(text, at, dollar);
        let run = dollar + 1 - first;
        literal.push_str(&text[at..first]);
        literal.extend(std::iter::repeat_n('$', run / 2));
        // An even run of dollars is escaped, an odd one ends with the dollar of a marker.
        if run.is_multiple_of(2) {
            literal.push('{');
            at = dollar + 2;
            continue;
        }
        if !literal.is_empty() {
            pieces.push(Piece::Literal(std::mem::take(&mut literal).into()));
        }
        let Some(end) = end_of_marker(text, dollar + 2, quotes) else {
            pieces.push(Piece::Unclosed(dollar..text.len()));
            return pieces;
        };
        pieces.push(Piece::Marker(&text[dollar + 2..end], dollar..end + 1));
        at = end + 1;
    }
    literal.push_str(&text[at..]);
    if !literal.is_empty() {
        pieces.push(Piece::Literal(literal.into()));
    }
    pieces
}

/// `text` escaped so that [`split`] returns it as one literal, even if a marker follows.
pub(crate) fn escape(text: &str, before_marker: bool) -> String {
    let mut escaped = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(found) = text[at..].find("${") {
        let dollar = at + found;
        let first = first_dollar(text, at, dollar);
        escaped.push_str(&text[at..=dollar]);
        escaped.extend(std::iter::repeat_n('$', dollar + 1 - first));
        escaped.push('{');
        at = dollar + 2;
    }
    let rest = &text[at..];
    escaped.push_str(rest);
    if before_marker {
        let run = rest.len() - rest.trim_end_matches('$').len();
        escaped.extend(std::iter::repeat_n('$', run));
    }
    escaped
}

/// The first dollar of the run that ends at `dollar`, not before `start`.
fn first_dollar(text: &str, start: usize, dollar: usize) -> usize {
    let before = &text[start..dollar];
    start + before.trim_end_matches('$').len()
}

/// True for the bytes that may open or close a text or a group inside of a marker.
const DELIMITERS: [bool; 256] = {
    let mut table = [false; 256];
    let bytes = b"{}\\\"'";
    let mut at = 0;
    while at < bytes.len() {
        table[bytes[at] as usize] = true;
        at += 1;
    }
    table
};

/// The position of the `}` that ends the marker whose inside begins at `start`. The `quotes` are some of [`QUOTES`].
pub(crate) fn end_of_marker(text: &str, start: usize, quotes: &[u8]) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut depth = 0usize;
    let mut quote = None;
    let mut at = start;
    while let Some(&byte) = bytes.get(at) {
        // The usual case: a letter, a digit or a sign that ends nothing.
        if !DELIMITERS[usize::from(byte)] {
            at += 1;
            continue;
        }
        match quote {
            Some(open) if byte == open => quote = None,
            // A quote after a backslash does not close the text.
            Some(_) if byte == b'\\' => at += 1,
            None if quotes.contains(&byte) => quote = Some(byte),
            None if byte == b'{' => depth += 1,
            None if byte == b'}' && depth == 0 => return Some(at),
            None if byte == b'}' => depth -= 1,
            Some(_) | None => {}
        }
        at += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let pieces: Vec<String> = split(text, b"\"")
            .into_iter()
            .map(|piece| match piece {
                Piece::Literal(literal) => literal.into_owned(),
                Piece::Marker(inside, range) => format!("<{inside}@{}-{}>", range.start, range.end),
                Piece::Unclosed(range) => format!("<open@{}-{}>", range.start, range.end),
            })
            .collect();
        pieces.join("|")
    }

    #[test]
    fn pieces_of_texts() {
        let cases = [
            ("", ""),
            ("plain", "plain"),
            ("${a}", "<a@0-4>"),
            ("v${ a.b }w", "v|< a.b @1-9>|w"),
            ("${a}${b}", "<a@0-4>|<b@4-8>"),
            ("$${a}", "${a}"),
            ("$$${a}", "$|<a@2-6>"),
            ("$$$${a}", "$${a}"),
            ("5$ ${a}", "5$ |<a@3-7>"),
            ("$a {b} $", "$a {b} $"),
            ("${a", "<open@0-3>"),
            ("x ${", "x |<open@2-4>"),
            ("${}", "<@0-3>"),
            ("${a}}", "<a@0-4>|}"),
            ("${a[\"}\"]}", "<a[\"}\"]@0-9>"),
            ("${a:-{\"b\":1}}", "<a:-{\"b\":1}@0-13>"),
            ("${it's}", "<it's@0-7>"),
        ];
        for (text, wanted) in cases {
            assert_eq!(shown(text), wanted, "{text}");
        }
    }

    #[test]
    fn an_escaped_text_is_one_literal() {
        for text in ["", "${", "$${a}", "$$${", "a$", "$$", "${a}${", "é$${ü}$"] {
            let alone = escape(text, false);
            let wanted = if text.is_empty() {
                vec![]
            } else {
                vec![Piece::Literal(text.into())]
            };
            let pieces: Vec<Piece<'_>> = split(&alone, b"")
                .into_iter()
                .filter(|piece| *piece != Piece::Literal("".into()))
                .collect();
            assert_eq!(pieces, wanted, "{text}");
            let followed = format!("{}${{x}}", escape(text, true));
            let pieces = split(&followed, b"");
            let literals: String = pieces[..pieces.len() - 1]
                .iter()
                .map(|piece| match piece {
                    Piece::Literal(literal) => literal.as_ref(),
                    _ => "?",
                })
                .collect();
            assert_eq!(literals, text);
            assert!(matches!(pieces.last(), Some(Piece::Marker("x", _))));
        }
    }
}
