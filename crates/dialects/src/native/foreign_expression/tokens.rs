//! Tokens of expressions in Python, JavaScript and Jinja.

use crate::native::guesses::quoted_length;

/// A token of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token<'t> {
    Name(&'t str),
    Number(&'t str),
    /// The content of a text, its escapes unchanged.
    Text(&'t str),
    /// The content of a text with expressions between `{` and `}`, or between `${` and `}`.
    Template(&'t str, &'static str),
    Sign(&'t str),
}

/// Signs of more than one character; the longest of those with the same beginning comes first.
const SIGNS: [&str; 22] = [
    "===", "!==", "...", "**", "//", "<=", ">=", "==", "!=", "<>", "&&", "||", "??", "?.", "?:",
    "=>", "->", "::", "<<", ">>", "--", "++",
];

/// The tokens of `text`; `None` if a text in it does not end.
pub(super) fn tokens(text: &str) -> Option<Vec<Token<'_>>> {
    let mut tokens = Vec::new();
    let mut rest = text.trim();
    while let Some(first) = rest.chars().next() {
        let (token, length) = match first {
            '"' | '\'' | '`' => {
                let length = quoted_length(rest, first)?;
                let inside = rest.get(1..length - 1)?;
                let is_format = tokens.last() == Some(&Token::Name("f"))
                    && text[..text.len() - rest.len()].ends_with('f');
                let token = match first {
                    '`' => Token::Template(inside, "${"),
                    _ if is_format => Token::Template(inside, "{"),
                    _ => Token::Text(inside),
                };
                if is_format {
                    tokens.pop();
                }
                (token, length)
            }
            _ if first.is_ascii_digit() => {
                let is_end = |c: char| !(c.is_alphanumeric() || c == '.' || c == '_');
                let length = rest.find(is_end).unwrap_or(rest.len());
                (Token::Number(&rest[..length]), length)
            }
            _ if first.is_alphabetic() || first == '_' => {
                let is_end = |c: char| !(c.is_alphanumeric() || c == '_');
                let length = rest.find(is_end).unwrap_or(rest.len());
                // Names have hyphens here, without blanks around them.
                let is_difference =
                    tokens.last() == Some(&Token::Sign(".")) && is_path_of_name(&rest[length..]);
                let length = if is_difference {
                    length
                } else {
                    length + hyphenated(&rest[length..])
                };
                (Token::Name(&rest[..length]), length)
            }
            _ => {
                let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign));
                let length = sign.map_or(first.len_utf8(), |sign| sign.len());
                (Token::Sign(&rest[..length]), length)
            }
        };
        tokens.push(token);
        rest = rest[length..].trim_start();
    }
    Some(tokens)
}

/// Returns true if `rest` begins with `-a.b`, the path of a value that is taken away from the one before: `b.size-a.size`.
fn is_path_of_name(rest: &str) -> bool {
    let Some(after) = rest.strip_prefix('-') else {
        return false;
    };
    let end = after.find(|sign: char| !(sign.is_alphanumeric() || sign == '_'));
    end.is_some_and(|end| end > 0 && after[end..].starts_with('.'))
}

/// The length of the parts `-name` at the start of `rest`.
fn hyphenated(rest: &str) -> usize {
    let mut length = 0;
    while let Some(after) = rest[length..].strip_prefix('-') {
        let end = after
            .find(|c: char| !(c.is_alphanumeric() || c == '_'))
            .unwrap_or(after.len());
        if end == 0 || after.starts_with(|c: char| c.is_ascii_digit()) {
            break;
        }
        length += 1 + end;
    }
    length
}
