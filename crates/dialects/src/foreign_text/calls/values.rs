//! Values of other languages in the notation of lines.

use std::borrow::Cow;
use std::collections::HashSet;

use planwright_core::Value;
use planwright_core::expression::is_item_name;

use crate::foreign_text::MAX_DEPTH;
use crate::native::{Language, expression_in, quoted_length};

/// Returns true if a bracket of `text` is not closed.
pub(in crate::foreign_text) fn is_open(text: &str) -> bool {
    let mut depth = 0_usize;
    for (_, sign, is_text) in signs(text) {
        match sign {
            _ if is_text => {}
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    // A block is open as well, but it is closed by another statement.
    depth > usize::from(text.trim_end().ends_with('{'))
}

/// The characters of `text` with their bytes, and whether they belong to a text in quotes. An apostrophe in a word begins no text.
pub(super) fn signs(text: &str) -> impl Iterator<Item = (usize, char, bool)> {
    let mut quote = None;
    let mut is_escaped = false;
    let mut before = ' ';
    text.char_indices().map(move |(at, sign)| {
        let is_text = match quote {
            Some(_) if is_escaped => {
                is_escaped = false;
                true
            }
            Some(open) => {
                is_escaped = sign == '\\';
                if sign == open {
                    quote = None;
                }
                true
            }
            None => {
                let begins = matches!(sign, '"' | '`')
                    || (sign == '\'' && !before.is_alphanumeric())
                    || (sign == '\'' && before == 'f');
                if begins {
                    quote = Some(sign);
                }
                begins
            }
        };
        before = sign;
        (at, sign, is_text)
    })
}

/// The parts of `text` between the commas that are in no brackets and no text. The last one may be empty.
pub(in crate::foreign_text) fn split(text: &str) -> Option<Vec<&str>> {
    let mut parts = split_at(text, ',')?;
    parts.pop_if(|last| last.is_empty());
    parts.iter().all(|part| !part.is_empty()).then_some(parts)
}

/// The parts of `text` between the separators that are in no brackets and no text. `None` if the brackets do not match.
pub(in crate::foreign_text) fn split_at(text: &str, separator: char) -> Option<Vec<&str>> {
    let mut depth = 0_usize;
    let mut parts = Vec::new();
    let mut start = 0;
    for (at, sign, is_text) in signs(text) {
        match sign {
            _ if is_text => {}
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.checked_sub(1)?,
            _ if sign == separator && depth == 0 => {
                parts.push(text[start..at].trim());
                start = at + separator.len_utf8();
            }
            _ => {}
        }
    }
    parts.push(text[start..].trim());
    (depth == 0).then_some(parts)
}

/// The byte of the bracket that closes the one at the start of `text`.
pub(in crate::foreign_text) fn closing(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, sign, is_text) in signs(text) {
        match sign {
            _ if is_text => {}
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

/// The name and the value of a part such as `name=value`, `name: value` or `"name": value`.
pub(in crate::foreign_text) fn named<'a>(
    part: &'a str,
    sign: &[char],
) -> Option<(&'a str, &'a str)> {
    let at = signs(part)
        .find(|(_, found, is_text)| !is_text && sign.contains(found))
        .map(|(at, ..)| at)?;
    let (name, value) = (part[..at].trim(), part[at + 1..].trim());
    let name = name.trim_matches(['"', '\'']);
    let is_name = name.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && name
            .chars()
            .all(|c| c.is_alphanumeric() || "_-".contains(c));
    (is_name && !value.is_empty() && !value.starts_with('=')).then_some((name, value))
}

/// `written` as a value of a line, whose references are to steps in `ids`.
pub(super) fn value(written: &str, ids: &HashSet<String>) -> Option<String> {
    value_at(written, ids, 0)
}

/// `written` as a value of a line, `depth` levels deep.
fn value_at(written: &str, ids: &HashSet<String>, depth: usize) -> Option<String> {
    if depth > MAX_DEPTH {
        return None;
    }
    let written = written.trim();
    match written {
        "True" | "true" => return Some("true".to_owned()),
        "False" | "false" => return Some("false".to_owned()),
        "None" | "null" | "undefined" => return Some("null".to_owned()),
        _ => {}
    }
    if written.parse::<f64>().is_ok() && Value::from_json(written).is_ok() {
        return Some(written.to_owned());
    }
    let first = written.chars().next()?;
    let formatted = written
        .strip_prefix('f')
        .filter(|rest| rest.starts_with(['"', '\'']));
    if let Some(rest) = formatted {
        let quote = rest.chars().next()?;
        return text(rest, Some("{"), ids).filter(|_| closes(rest, quote));
    }
    match first {
        '"' | '\'' if closes(written, first) => text(written, None, ids),
        '`' if closes(written, first) => text(written, Some("${"), ids),
        '[' if closing(written) == Some(written.len() - 1) => {
            let items = split(&written[1..written.len() - 1])?;
            let items = items.into_iter().map(|item| value_at(item, ids, depth + 1));
            Some(format!(
                "[{}]",
                items.collect::<Option<Vec<_>>>()?.join(", ")
            ))
        }
        '{' if closing(written) == Some(written.len() - 1) => {
            let fields = split(&written[1..written.len() - 1])?;
            let fields = fields.into_iter().map(|field| {
                let (name, inner) = named(field, &[':'])?;
                let name = Value::text(name).to_json();
                Some(format!("{name}: {}", value_at(inner, ids, depth + 1)?))
            });
            Some(format!(
                "{{{}}}",
                fields.collect::<Option<Vec<_>>>()?.join(", ")
            ))
        }
        _ => Some(format!("${{{}}}", expression(written, ids)?)),
    }
}

/// Returns true if the quote at the start of `written` is closed by its last character.
fn closes(written: &str, quote: char) -> bool {
    quoted_length(written, quote) == Some(written.len())
}

/// The text in quotes `written`, with references in place of the expressions after `opening`.
fn text(written: &str, opening: Option<&str>, ids: &HashSet<String>) -> Option<String> {
    let inside = written.get(1..written.len().checked_sub(1)?)?;
    let mut content = String::new();
    let mut signs = inside.chars();
    while let Some(sign) = signs.next() {
        let sign = match sign {
            '\\' => match signs.next()? {
                'n' => '\n',
                't' => '\t',
                other if other.is_alphanumeric() || other == '\n' => return None,
                // An escaped sign of a reference is not a reference.
                '$' | '{' | '}' if opening.is_some() => return None,
                other => other,
            },
            other => other,
        };
        content.push(sign);
    }
    let Some(opening) = opening else {
        let content = with_dollar_names(&with_references(&content, ids), ids);
        return Some(Value::text(content).to_json());
    };
    let mut formatted = String::new();
    let mut rest = &*content;
    while let Some(at) = rest.find(opening) {
        let after = &rest[at + opening.len()..];
        let end = after.find('}')?;
        let inner = &after[..end];
        // `{{` is a literal brace, and `{x:.2f}` a format.
        if inner.contains(['{', ':', '!']) || rest[..at].contains('}') {
            return None;
        }
        formatted.push_str(&rest[..at]);
        // `$$` is a dollar before a reference.
        let dollars = formatted.len() - formatted.trim_end_matches('$').len();
        formatted.push_str(&"$".repeat(dollars));
        formatted.extend(["${", &expression(inner, ids)?, "}"]);
        rest = &after[end + 1..];
    }
    // `}}` is a literal brace in Python.
    if opening == "{" && rest.contains('}') {
        return None;
    }
    formatted.push_str(rest);
    // A reference alone is the value itself, and a formatted text is always text.
    let inside = formatted
        .strip_prefix("${")
        .and_then(|inside| inside.strip_suffix('}'));
    if let Some(inside) = inside.filter(|inside| !inside.contains('}')) {
        formatted = format!("${{string({inside})}}");
    }
    Some(Value::text(formatted).to_json())
}

/// The parts of the arguments of a call, where a text without quotes has its commas: `message=Hello, you, n=1` are two.
pub(super) fn with_unquoted_texts<'a>(
    parts: Vec<&'a str>,
    ids: &HashSet<String>,
) -> Vec<Cow<'a, str>> {
    let is_unquoted = |part: &str| {
        let named = named(part, &['=', ':']);
        named.is_some_and(|(_, text)| {
            value(text, ids).is_none() && unquoted_text(text, ids).is_some()
        })
    };
    let mut joined: Vec<Cow<'a, str>> = Vec::with_capacity(parts.len());
    for part in parts {
        let continues = named(part, &['=', ':']).is_none() && value(part, ids).is_none();
        match joined.last_mut() {
            Some(before) if continues && is_unquoted(before) => {
                let whole = format!("{before}, {part}");
                *before = Cow::from(whole);
            }
            Some(_) | None => joined.push(Cow::from(part)),
        }
    }
    joined
}

/// The text `written` without quotes, such as `Europe/Berlin` or `It is ${now.datetime}`, as a value of a line; `None` if it may be
/// something else.
pub(super) fn unquoted_text(written: &str, ids: &HashSet<String>) -> Option<String> {
    let mut outside = String::new();
    let mut rest = written;
    while let Some((before, after)) = rest.split_once("${") {
        let (_, after) = after.split_once('}')?;
        outside.push_str(before);
        rest = after;
    }
    outside.push_str(rest);
    let has_reference = outside.len() < written.len();
    let signs = [
        '"', '`', '(', ')', '[', ']', '{', '}', '\\', '=', ';', '<', '>', '|', '*',
    ];
    let operators = [" + ", " - ", " / ", "&&", " ? ", " % ", " if ", " else "];
    let is_expression =
        outside.contains(signs) || operators.iter().any(|operator| outside.contains(operator));
    let is_time = written.contains(':')
        && written
            .chars()
            .all(|sign| sign.is_ascii_digit() || ":-TZ+. ".contains(sign));
    let has_word = outside
        .split(|sign: char| !sign.is_alphabetic())
        .any(|word| word.len() > 1);
    let blanks = outside.trim().matches(' ').count();
    let is_text = match blanks {
        0 if has_reference => false,
        0 => {
            let is_place = outside.contains('/') || outside.contains('@') && outside.contains('.');
            let is_name = outside.starts_with(char::is_uppercase)
                && outside.chars().all(char::is_alphanumeric);
            is_name || is_place && has_word
        }
        1 if !has_reference => outside.starts_with(char::is_uppercase),
        _ => has_word,
    };
    if is_expression || !(is_text || is_time) {
        return None;
    }
    let content = with_dollar_names(&with_references(written, ids), ids);
    Some(Value::text(content).to_json())
}

/// `text` with references in place of names in `ids` with a dollar before them, `$a.b`.
fn with_dollar_names(text: &str, ids: &HashSet<String>) -> String {
    let mut written = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        let inside = &rest[at + 1..];
        let is_part = |c: char| c.is_alphanumeric() || "_.[]".contains(c);
        let end = inside.find(|c| !is_part(c)).unwrap_or(inside.len());
        let path = inside[..end].trim_end_matches('.');
        let name = &path[..path.find(['.', '[']).unwrap_or(path.len())];
        let is_escaped = rest[..at].ends_with('$');
        written.push_str(&rest[..at]);
        if ids.contains(name) && !is_escaped {
            written.extend(["${", path, "}"]);
            rest = &inside[path.len()..];
        } else {
            written.push('$');
            rest = inside;
        }
    }
    written.push_str(rest);
    written
}

/// `text` with references in place of templates such as `{a.b}` and `{{a.b}}` whose root is in `ids`.
fn with_references(text: &str, ids: &HashSet<String>) -> String {
    let mut written = String::new();
    let mut rest = text;
    // If one template has a path, the others are almost certainly templates as well.
    let has_path = ids.iter().any(|id| text.contains(&format!("{{{id}.")));
    while let Some(open) = rest.find('{') {
        let inside = rest[open..].trim_start_matches('{');
        let braces = rest.len() - open - inside.len();
        let signs = "}".repeat(braces);
        let path = inside.find(&signs).map(|end| &inside[..end]);
        // An id such as `CONFIG` or `step_1` is not a word of a sentence.
        let is_id = |path: &str| {
            let is_of_id = |c: char| c.is_uppercase() || c.is_ascii_digit() || c == '_';
            path.starts_with(char::is_alphabetic) && path.chars().all(is_of_id)
                || path.contains('_') && ids.contains(path)
        };
        let is_path = |path: &&str| {
            (path.contains('.') || has_path || is_id(path))
                && path
                    .trim()
                    .chars()
                    .all(|c| c.is_alphanumeric() || "_.[]".contains(c))
        };
        let is_own = rest[..open].ends_with('$');
        let path = path.filter(is_path).filter(|_| braces <= 2 && !is_own);
        match path.and_then(|path| Some((path, expression(path, ids)?))) {
            Some((path, meant)) => {
                written.push_str(&rest[..open]);
                written.extend(["${", &meant, "}"]);
                rest = &inside[path.len() + braces..];
            }
            None => {
                written.push_str(&rest[..open + braces]);
                rest = inside;
            }
        }
    }
    written.push_str(rest);
    written
}

/// `written` as an expression that refers to nothing but steps in `ids`.
pub(super) fn expression(written: &str, ids: &HashSet<String>) -> Option<String> {
    expression_as(Language::Value, written, ids)
}

/// `written` as a condition that refers to nothing but steps in `ids`.
pub(super) fn condition(written: &str, ids: &HashSet<String>) -> Option<String> {
    expression_as(Language::Condition, written, ids)
}

fn expression_as(language: Language, written: &str, ids: &HashSet<String>) -> Option<String> {
    let written = written.trim();
    let own = written
        .strip_prefix("${")
        .and_then(|rest| rest.strip_suffix('}'));
    let language = if own.is_some() {
        Language::Own
    } else {
        language
    };
    let found = expression_in(own.unwrap_or(written), language)?;
    let mut before = ' ';
    let mut name = String::new();
    let text: Vec<(char, bool)> = signs(&found)
        .map(|(_, sign, is_text)| (sign, is_text))
        .collect();
    let mut roots = Vec::new();
    let mut is_root = false;
    for (sign, is_text) in text.into_iter().chain([(' ', false)]) {
        let is_part = !is_text && (sign.is_alphanumeric() || sign == '_');
        if is_part {
            if name.is_empty() {
                is_root = before != '.' && !sign.is_ascii_digit();
            }
            name.push(sign);
        } else {
            if is_root && sign != '(' && !name.is_empty() {
                roots.push(std::mem::take(&mut name));
            }
            name.clear();
            is_root = false;
        }
        before = sign;
    }
    let words = ["true", "false", "null", "in"];
    // A step of such a name would need another form.
    let is_step = |root: &String| ids.contains(root) && (own.is_some() || is_item_name(root));
    let is_known = |root: &String| is_step(root) || words.contains(&&**root);
    roots.iter().all(is_known).then_some(found)
}
