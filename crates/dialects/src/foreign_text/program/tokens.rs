//! The tokens of a program in the style of Python or JavaScript.

use crate::native::quoted_length;

/// A token, and the byte at which it begins.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ProgramToken<'t> {
    pub(super) at: usize,
    pub(super) kind: TokenKind<'t>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum TokenKind<'t> {
    Name(&'t str),
    Number(&'t str),
    /// A text in quotes.
    Text(Vec<StringPart<'t>>),
    Sign(&'static str),
    /// The start of a line with the number of blanks before its first sign.
    Line(usize),
}

/// A part of a text in quotes.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum StringPart<'t> {
    Literal(String),
    /// The source of an expression.
    Code(&'t str),
}

/// Signs of several characters before their own prefixes.
const SIGNS: [&str; 53] = [
    ">>>", "===", "!==", "...", "**=", "//=", "?.", "??", "=>", "->", "==", "!=", ":=", "<-", "<=",
    ">=", "&&", "||", "**", "+=", "-=", "*=", "/=", "|=", ">>", "<<", "++", "--", "+", "-", "*",
    "/", "%", "=", "<", ">", "!", "?", ":", ";", ",", ".", "(", ")", "[", "]", "{", "}", "|", "&",
    "@", "→", "⇒",
];

/// The tokens of `text`; `None` if a text in quotes does not end, or a sign is unknown.
pub(super) fn tokens(text: &str) -> Option<Vec<ProgramToken<'_>>> {
    let mut found = Vec::new();
    let mut at = 0;
    let mut starts_line = true;
    while at < text.len() {
        let rest = &text[at..];
        let sign = rest.chars().next()?;
        if sign == '\n' {
            starts_line = true;
            at += 1;
            continue;
        }
        if sign.is_whitespace() {
            at += sign.len_utf8();
            continue;
        }
        // A backslash continues a line.
        if let Some(next) = rest.strip_prefix('\\') {
            let blanks = next.len() - next.trim_start_matches([' ', '\r']).len();
            at += 1 + blanks + usize::from(next[blanks..].starts_with('\n'));
            continue;
        }
        if let Some(length) = comment(rest, starts_line) {
            // Behind a value, `//` divides in Python.
            let follows_value =
                found
                    .last()
                    .is_some_and(|token: &ProgramToken<'_>| match &token.kind {
                        TokenKind::Sign(sign) => matches!(*sign, ")" | "]"),
                        TokenKind::Name(_) | TokenKind::Number(_) | TokenKind::Text(_) => true,
                        TokenKind::Line(_) => false,
                    });
            if rest.starts_with("//") && follows_value && !starts_line {
                return None;
            }
            at += length;
            continue;
        }
        if std::mem::take(&mut starts_line) {
            let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
            found.push(ProgramToken {
                at,
                kind: TokenKind::Line(at - start),
            });
        }
        let (kind, length) = token(rest)?;
        found.push(ProgramToken { at, kind });
        at += length;
    }
    Some(found)
}

/// The length of the comment at the start of `rest`.
fn comment(rest: &str, starts_line: bool) -> Option<usize> {
    let line = || rest.find('\n').unwrap_or(rest.len());
    if let Some(inside) = rest.strip_prefix("/*") {
        return Some(inside.find("*/").map_or(rest.len(), |end| end + 4));
    }
    let is_comment = rest.starts_with('#')
        || rest.starts_with("//") && !rest.starts_with("//=")
        || starts_line && (rest.starts_with("-- ") || rest.starts_with("```"));
    is_comment.then(line)
}

/// The token at the start of `rest`, and its length.
fn token(rest: &str) -> Option<(TokenKind<'_>, usize)> {
    let first = rest.chars().next()?;
    if first.is_alphabetic() || first == '_' || first == '$' {
        let is_part = |sign: char| sign.is_alphanumeric() || sign == '_' || sign == '$';
        let length = rest.find(|sign| !is_part(sign)).unwrap_or(rest.len());
        let after = &rest[length..];
        let prefix = &rest[..length];
        if after.starts_with(['"', '\'']) && length <= 2 {
            let prefix = prefix.to_lowercase();
            if ["f", "r", "b", "u", "fr", "rf"].contains(&&*prefix) {
                let (pieces, inside) = quoted(after, prefix.contains('f'), prefix.contains('r'))?;
                return Some((TokenKind::Text(pieces), length + inside));
            }
        }
        return Some((TokenKind::Name(prefix), length));
    }
    if first.is_ascii_digit() {
        let is_part = |sign: char| sign.is_ascii_alphanumeric() || sign == '_' || sign == '.';
        let length = rest.find(|sign| !is_part(sign)).unwrap_or(rest.len());
        return Some((TokenKind::Number(&rest[..length]), length));
    }
    if matches!(first, '"' | '\'' | '`') {
        let (pieces, length) = quoted(rest, false, false)?;
        return Some((TokenKind::Text(pieces), length));
    }
    let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign))?;
    Some((TokenKind::Sign(sign), sign.len()))
}

/// The pieces of the text in quotes at the start of `rest`, and its length.
fn quoted(rest: &str, is_formatted: bool, is_raw: bool) -> Option<(Vec<StringPart<'_>>, usize)> {
    let quote = rest.chars().next()?;
    let triple = ["\"\"\"", "'''"]
        .iter()
        .find(|quotes| rest.starts_with(**quotes));
    let (inside, length) = match triple {
        Some(quotes) => {
            let end = rest[3..].find(*quotes)?;
            (&rest[3..3 + end], end + 6)
        }
        None => {
            let length = quoted_length(rest, quote)?;
            (&rest[1..length - 1], length)
        }
    };
    if triple.is_none() && quote != '`' && inside.contains('\n') {
        return None;
    }
    let opening = match quote {
        '`' => Some("${"),
        _ if is_formatted => Some("{"),
        _ => None,
    };
    Some((pieces(inside, opening, is_raw)?, length))
}

/// The literal and the inserted parts of the `inside` of a text.
fn pieces<'t>(inside: &'t str, opening: Option<&str>, is_raw: bool) -> Option<Vec<StringPart<'t>>> {
    let mut found = Vec::new();
    let mut literal = String::new();
    let mut rest = inside;
    while let Some(sign) = rest.chars().next() {
        if sign == '\\' && !is_raw {
            let escaped = rest[1..].chars().next()?;
            literal.push(match escaped {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                // The line break is not included.
                '\n' => {
                    rest = &rest[2..];
                    continue;
                }
                other if other.is_alphanumeric() => return None,
                other => other,
            });
            rest = &rest[1 + escaped.len_utf8()..];
            continue;
        }
        if opening == Some("{")
            && let Some(brace) = ["{{", "}}"].iter().find(|brace| rest.starts_with(**brace))
        {
            literal.push_str(&brace[..1]);
            rest = &rest[2..];
            continue;
        }
        if let Some(open) = opening.filter(|open| rest.starts_with(*open)) {
            let code = &rest[open.len()..];
            let end = closing_brace(code)?;
            if !literal.is_empty() {
                found.push(StringPart::Literal(std::mem::take(&mut literal)));
            }
            found.push(StringPart::Code(&code[..end]));
            rest = &code[end + 1..];
            continue;
        }
        literal.push(sign);
        rest = &rest[sign.len_utf8()..];
    }
    if !literal.is_empty() || found.is_empty() {
        found.push(StringPart::Literal(literal));
    }
    Some(found)
}

/// The byte of the brace that closes the code at the start of `code`.
fn closing_brace(code: &str) -> Option<usize> {
    let mut depth = 0_usize;
    let mut quote = None;
    for (at, sign) in code.char_indices() {
        match (quote, sign) {
            (Some(open), sign) if sign == open => quote = None,
            (None, '"' | '\'' | '`') => quote = Some(sign),
            (None, '{') => depth += 1,
            (None, '}') if depth == 0 => return Some(at),
            (None, '}') => depth -= 1,
            (Some(_) | None, _) => {}
        }
    }
    None
}
