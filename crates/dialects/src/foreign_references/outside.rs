//! Operators, filters and methods behind the braces of a reference: `${a} | join(', ')`, `${a} ?? ${b}`, `${a}.trim()`.
//!
//! Between the braces they would compute a value; behind them they are text, and a tool would receive it.

use std::ops::Range;

use super::paths::path_length;
use crate::document::template::end_of_marker;
use crate::native::{form_in, without_markers};

/// The maximum length of a text that is searched, in bytes.
const MAX_BYTES: usize = 2000;

/// The quotes of texts in references.
const QUOTES: [u8; 2] = [b'"', b'\''];

/// A reference with an operator behind its braces.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct OutsideOperation {
    /// The part of the text.
    pub(super) range: Range<usize>,
    /// The expression in this dialect.
    pub(super) meaning: String,
    /// The same part as text: its operator is a reference to a literal.
    pub(super) literal: String,
}

/// The reference with an operator behind its braces at the end of `text`. An operator between two values counts only if they
/// are all of the text.
pub(super) fn outside_operation(text: &str) -> Option<OutsideOperation> {
    if text.len() > MAX_BYTES {
        return None;
    }
    let mut start = 0;
    while let Some(at) = text[start..].find("${").map(|at| start + at) {
        let end = end_of_marker(text, at + 2, &QUOTES)?;
        let is_marker = !text[..at].ends_with('$') && !text[at + 2..].starts_with(['{', '"', '\'']);
        let rest = &text[end + 1..];
        let is_whole = text[..at].trim().is_empty();
        let whole = rest.trim_end().len();
        let found = is_marker.then(|| {
            let path = path_behind(&text[at..=end], rest, is_whole);
            path.or_else(|| Some((operation(&text[at..=end], rest, is_whole)?, whole)))
        });
        if let Some((meaning, length)) = found.flatten() {
            let sign = rest.len() - rest.trim_start().len();
            let sign = rest[sign..]
                .chars()
                .next()
                .map_or(0, |c| sign + c.len_utf8());
            let (operator, after) = rest[..length].split_at(sign);
            return Some(OutsideOperation {
                range: at..end + 1 + length,
                meaning,
                literal: format!("{}${{'{operator}'}}{after}", &text[at..=end]),
            });
        }
        start = end + 1;
    }
    None
}

/// The expression that `reference` is meant as with the path to an item at the start of `rest`, and the length of that path:
/// `${a}.rows[0].id`. A path without an item may be the end of a file's name, and a number in brackets alone a note.
fn path_behind(reference: &str, rest: &str, is_whole: bool) -> Option<(String, usize)> {
    let length = path_length(rest);
    let path = &rest[..length];
    let is_all = is_whole && rest.trim_end().len() == length;
    let is_item = path.contains('[') && (path.contains('.') || is_all);
    let joined = without_markers(&format!("{reference}{path}")).filter(|_| is_item)?;
    Some((form_in(&joined).unwrap_or(joined), length))
}

/// The expression that `reference` is meant as with the `rest` of its text, in which nothing is before it if it `is_whole`.
fn operation(reference: &str, rest: &str, is_whole: bool) -> Option<String> {
    let behind = rest.trim();
    let whole = format!("{reference}{}", rest.trim_end());
    if is_filter(behind, is_whole) || is_method(rest) {
        let joined = without_markers(&whole)?;
        return form_in(&joined);
    }
    if !is_whole {
        return None;
    }
    for operator in ["||", "??"] {
        let Some(parts) = operands(&whole, operator) else {
            continue;
        };
        return form_in(&parts.join(" ?? "));
    }
    // A sum of numbers may be meant as text.
    let parts = operands(&whole, "+")?;
    let is_text = |part: &String| part.starts_with(['"', '\'']);
    parts.iter().any(is_text).then_some(())?;
    // A value that is no text is reported when the expression is checked.
    let parts = parts.into_iter().map(|part| {
        let inside = part
            .strip_prefix('"')
            .and_then(|part| part.strip_suffix('"'));
        match inside {
            Some(inside) => (!inside.contains('\'')).then(|| format!("'{inside}'")),
            None => Some(part),
        }
    });
    Some(parts.collect::<Option<Vec<_>>>()?.join(" + "))
}

/// Filters that need no arguments.
const PLAIN_FILTERS: [&str; 21] = [
    "upper", "lower", "trim", "strip", "length", "size", "count", "first", "last", "sort",
    "unique", "uniq", "reverse", "sum", "json", "tojson", "to_json", "string", "int", "float",
    "keys",
];

/// Returns true if `behind` is a pipe with a filter. A filter without arguments behind other text may be a part of a table.
fn is_filter(behind: &str, is_whole: bool) -> bool {
    let Some(filters) = behind
        .strip_prefix('|')
        .filter(|rest| !rest.starts_with('|'))
    else {
        return false;
    };
    let filters = filters.trim();
    let is_of_name = |sign: char| sign.is_alphanumeric() || sign == '_';
    let end = filters.find(|sign| !is_of_name(sign));
    let (name, arguments) = filters.split_at(end.unwrap_or(filters.len()));
    let has_arguments = arguments.starts_with('(') && behind.ends_with(')');
    let is_plain = PLAIN_FILTERS.contains(&name)
        && (arguments.is_empty() || arguments.trim().starts_with('|'));
    !name.is_empty() && (has_arguments || (is_whole && is_plain))
}

/// Returns true if `rest` calls a method of the reference before it: `.trim()`, `.split(',')[0]`.
fn is_method(rest: &str) -> bool {
    let Some(call) = rest.strip_prefix('.') else {
        return false;
    };
    let is_of_name = |sign: char| sign.is_alphanumeric() || sign == '_';
    let end = call.find(|sign| !is_of_name(sign)).unwrap_or(0);
    let closed = rest.trim_end();
    end > 0 && call[end..].starts_with('(') && closed.ends_with([')', ']'])
}

/// The expressions between the `operator`s of `text`, which are references and values in quotes; `None` if there is another part.
fn operands(text: &str, operator: &str) -> Option<Vec<String>> {
    let mut found = Vec::new();
    let mut rest = text.trim();
    loop {
        let end = match rest.chars().next()? {
            '$' => {
                rest.strip_prefix("${")?;
                end_of_marker(rest, 2, &QUOTES)? + 1
            }
            quote @ ('"' | '\'') => crate::native::quoted_length(rest, quote)?,
            sign if sign.is_ascii_digit() => {
                let is_digit = |sign: char| sign.is_ascii_digit() || sign == '.';
                rest.find(|sign| !is_digit(sign)).unwrap_or(rest.len())
            }
            _ => return None,
        };
        let (operand, after) = rest.split_at(end);
        let inside = operand
            .strip_prefix("${")
            .map(|inside| &inside[..inside.len() - 1]);
        found.push(match inside {
            Some(inside) if inside.contains([' ', '?']) => format!("({})", inside.trim()),
            Some(inside) => inside.trim().to_owned(),
            None => operand.to_owned(),
        });
        rest = after.trim_start();
        if rest.is_empty() {
            return (found.len() > 1).then_some(found);
        }
        rest = rest.strip_prefix(operator)?.trim_start();
    }
}

#[cfg(test)]
mod tests {
    use super::outside_operation;

    #[test]
    fn operators_behind_the_braces() {
        let check = |text: &str, expected: Option<&str>| {
            let found = outside_operation(text);
            let found = found.map(|found| {
                assert_eq!(outside_operation(&found.literal), None, "{text}");
                format!("{} is {}", &text[found.range], found.meaning)
            });
            assert_eq!(found.as_deref(), expected, "{text}");
        };
        check(
            r#"${a} | join("\n")"#,
            Some(r#"${a} | join("\n") is a.join('\n')"#),
        );
        check(
            "${a.rows} | join(', ') ",
            Some("${a.rows} | join(', ') is a.rows.join(', ')"),
        );
        check(
            "Rows: ${a.rows}|join(', ')",
            Some("${a.rows}|join(', ') is a.rows.join(', ')"),
        );
        check(
            "${a.name} | upper | trim",
            Some("${a.name} | upper | trim is a.name.upperAscii().trim()"),
        );
        check("${a} | length", Some("${a} | length is size(a)"));
        check(
            "${a} | default('none')",
            Some("${a} | default('none') is a ?? 'none'"),
        );
        check("${a} || ${b}", Some("${a} || ${b} is a ?? b"));
        check(
            "${a.x} ?? \"none\"",
            Some("${a.x} ?? \"none\" is a.x ?? 'none'"),
        );
        check(
            "${a.x} + ' of ' + ${b}",
            Some("${a.x} + ' of ' + ${b} is a.x + ' of ' + b"),
        );
        check("${a}.trim()", Some("${a}.trim() is a.trim()"));
        check(
            "first: ${a}.split(',')[0]",
            Some("${a}.split(',')[0] is a.split(',')[0]"),
        );
        check("${a}.rows[0].id", Some("${a}.rows[0].id is a.rows[0].id"));
        check("see ${a.x}[0].id, then", Some("${a.x}[0].id is a.x[0].id"));
        check("${a}[0]", Some("${a}[0] is a[0]"));
        for text in [
            "${a}",
            "see ${a}[1] and ${b}.tar.gz",
            "${a} | ${b}",
            "| ${a} | sum |",
            "name: ${a} | length",
            "${a} | a table",
            "${a} + ${b}",
            "either ${a} || ${b}",
            "${a}.txt",
            "${a} (of ${b})",
            "$${a} | upper",
            "${a} | nothing_like_it('x')",
            "${'${a}'} | upper",
            "${a",
        ] {
            check(text, None);
        }
    }
}
