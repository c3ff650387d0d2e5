//! Expressions of other systems in markers: operators, and the filters of templates.

use super::markers::{OUTPUT_CALLS, ReferenceNames};
use super::paths::{path_length, split_name};
use crate::native::{Language, expression_in};

/// The certainty of the meaning of a marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Certainty {
    Certain,
    /// The marker has a reference and more, which has no counterpart.
    Partial,
    /// The marker may be plain text.
    Doubtful,
}

impl ReferenceNames<'_> {
    /// The native expression for one of another system, if it names a step or an input, and the certainty of that.
    pub(super) fn expression(&self, written: &str) -> Option<(String, Certainty)> {
        let signs = |c: char| c.is_whitespace() || "-~#{}.=$@(!".contains(c);
        // `body('a')?['field']` of Logic Apps
        let called = OUTPUT_CALLS
            .iter()
            .find_map(|call| written.trim().strip_prefix(call)?.split_once("')"));
        let called = called.map(|(name, rest)| format!("{name}{}", rest.replace('?', "")));
        // The output of a node of n8n: `$('a').item.json.x`, `$('a').first().json.x`
        let node = written.trim().strip_prefix("$('");
        let node = node
            .and_then(|node| node.split_once("')"))
            .and_then(|(name, rest)| {
                let items = [".item.json", ".first().json", ".last().json"];
                let fields = items.iter().find_map(|item| rest.strip_prefix(item))?;
                (path_length(fields) == fields.len()).then(|| format!("{name}{fields}"))
            });
        let called = called.or(node);
        if let Some(meaning) = called.and_then(|path| self.path(&path)) {
            return Some((meaning, Certainty::Certain));
        }
        let trimmed = written.trim_matches(signs);
        if !has_operator(trimmed)
            && let Some(meaning) = self.path(trimmed)
        {
            return Some((meaning, Certainty::Certain));
        }
        let has_sign = written.contains(['=', '<', '>', '&', '|', '+', '?', '.', '[']);
        if let Some(meaning) = self.operation(written).filter(|_| has_sign) {
            return Some((meaning, Certainty::Certain));
        }
        let mut found = self.paths(written, true).next();
        if found.is_none() {
            found = self.paths(written, false).next();
        }
        let (_, path, meaning) = found?;
        let certainty = if has_sign && has_operator(trimmed) {
            Certainty::Partial
        } else if path.contains(['.', '[']) {
            Certainty::Certain
        } else {
            Certainty::Doubtful
        };
        Some((meaning, certainty))
    }

    /// The paths in an expression of another system, with the bytes at which they begin and their meanings; without those in texts
    /// if it `skips_texts`.
    fn paths<'w>(
        &self,
        written: &'w str,
        skips_texts: bool,
    ) -> impl Iterator<Item = (usize, &'w str, String)> {
        let is_of_name = |c: char| c.is_alphanumeric() || c == '_';
        let mut before = ' ';
        let mut end = 0;
        let mut quote = None;
        written.char_indices().filter_map(move |(at, sign)| {
            let begins = is_of_name(sign) && !is_of_name(before) && !".-".contains(before);
            before = sign;
            if at < end {
                return None;
            }
            match quote {
                Some(open) if sign == open => quote = None,
                None if matches!(sign, '"' | '\'') => quote = Some(sign),
                Some(_) | None => {}
            }
            if !begins || (skips_texts && quote.is_some()) {
                return None;
            }
            let rest = &written[at..];
            let is_of_path = |c: char| is_of_name(c) || "-.[]'\"".contains(c);
            let length = rest.find(|c| !is_of_path(c)).unwrap_or(rest.len());
            let path = rest[..length].trim_end_matches(['.', '-', '\'', '"']);
            let path = if path.matches('[').count() < path.matches(']').count() {
                path.trim_end_matches(']')
            } else {
                path
            };
            let meaning = self.path(path)?;
            end = at + path.len();
            Some((at, path, meaning))
        })
    }

    /// The native expression for one with operators or filters, `a.x != b.y` or `a | join(', ')`; `None` if a part of it has no
    /// counterpart.
    fn operation(&self, written: &str) -> Option<String> {
        let (first, filters) = split_filters(written.trim())
            .split_first()
            .map(|(first, filters)| (*first, filters.to_vec()))?;
        let expression = |is_quoted: bool| {
            let mut expression = String::new();
            let mut rest = 0;
            for (at, path, meaning) in self.paths(first, true) {
                expression.push_str(first.get(rest..at)?);
                // An id such as `new` is a keyword.
                let (name, behind) = split_name(&meaning);
                if is_quoted && self.steps.contains_key(name) && !name.contains('\'') {
                    expression.extend(["steps['", name, "']", behind]);
                } else {
                    expression.push_str(&meaning);
                }
                rest = at + path.len();
            }
            expression.push_str(first.get(rest..)?);
            for (index, filter) in filters.iter().enumerate() {
                let (filter, rest) = filter_head(filter.trim())?;
                expression = filtered(&expression, filter)?;
                // `x | length > 0`
                if !rest.is_empty() {
                    (index + 1 == filters.len()).then_some(())?;
                    expression.extend([" ", rest]);
                }
            }
            expression_in(&expression, Language::Value)
                .or_else(|| expression_in(&expression, Language::Condition))
                .or_else(|| expression_in(&expression, Language::Own))
        };
        self.paths(first, true).next()?;
        expression(false).or_else(|| expression(true))
    }
}

/// Returns true if an expression of another system is more than a path.
pub(super) fn has_operator(written: &str) -> bool {
    let mut quote = None;
    let mut before = ' ';
    for sign in written.trim().chars() {
        match quote {
            Some(open) if sign == open => quote = None,
            None if matches!(sign, '"' | '\'') => quote = Some(sign),
            None if matches!(
                sign,
                '=' | '<' | '>' | '!' | '+' | '*' | '/' | '&' | '|' | '~' | '?'
            ) =>
            {
                return true;
            }
            None if sign == ' ' && before != ' ' => return true,
            Some(_) | None => {}
        }
        before = sign;
    }
    false
}

/// The parts of an expression between the signs of filters, `|`, which are no part of `||` or of a text.
fn split_filters(written: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut quote = None;
    let mut start = 0;
    let bytes = written.as_bytes();
    for (at, sign) in written.char_indices() {
        match quote {
            Some(open) if sign == open => quote = None,
            None if matches!(sign, '"' | '\'') => quote = Some(sign),
            None if sign == '|' => {
                let is_or = bytes.get(at + 1) == Some(&b'|')
                    || at.checked_sub(1).and_then(|before| bytes.get(before)) == Some(&b'|');
                if !is_or {
                    parts.push(&written[start..at]);
                    start = at + 1;
                }
            }
            Some(_) | None => {}
        }
    }
    parts.push(&written[start..]);
    parts
}

/// The name and the arguments of a filter, and the rest of the text; `None` if its bracket is never closed.
fn filter_head(filter: &str) -> Option<(&str, &str)> {
    let is_part = |sign: char| sign.is_alphanumeric() || sign == '_';
    let end = filter.find(|sign| !is_part(sign)).unwrap_or(filter.len());
    let end = if filter[end..].starts_with('(') {
        end + filter[end..].find(')')? + 1
    } else {
        end
    };
    let (head, rest) = filter.split_at(end);
    Some((head, rest.trim()))
}

/// `expression` with a template filter applied to it; `None` if it has no counterpart.
fn filtered(expression: &str, filter: &str) -> Option<String> {
    let expression = expression.trim();
    let (name, argument) = match filter.split_once('(') {
        Some((name, rest)) => (name.trim(), rest.strip_suffix(')')?.trim()),
        None => (filter, ""),
    };
    let is_path = expression.ends_with(')')
        || expression
            .chars()
            .all(|sign| sign.is_alphanumeric() || "_.[]'\"()".contains(sign));
    let operand = if is_path {
        expression.to_owned()
    } else {
        format!("({expression})")
    };
    let is_literal = argument.len() > 1
        && ['"', '\''].iter().any(|quote| {
            argument.starts_with(*quote)
                && argument.ends_with(*quote)
                && argument.matches(*quote).count() == 2
        });
    Some(match (name, argument) {
        ("length" | "count" | "size", "") => format!("size({operand})"),
        ("tojson" | "to_json" | "json" | "string" | "toJson", "") => format!("string({operand})"),
        ("from_json" | "fromjson" | "fromJson", "") => format!("json({operand})"),
        ("int", "") => format!("int({operand})"),
        ("float", "") => format!("double({operand})"),
        ("join", _) if is_literal => format!("{operand}.join({argument})"),
        ("join", "") => format!("{operand}.join('')"),
        ("first", "") => format!("{operand}[0]"),
        ("last", "") => format!("{operand}[-1]"),
        ("trim" | "strip", "") => format!("{operand}.trim()"),
        ("lower" | "downcase" | "lowercase", "") => format!("{operand}.lowerAscii()"),
        ("upper" | "upcase" | "uppercase", "") => format!("{operand}.upperAscii()"),
        ("unique" | "uniq", "") => format!("{operand}.distinct()"),
        ("sort", "") => format!("{operand}.sort()"),
        ("reverse", "") => format!("{operand}.reverse()"),
        ("sum", "") => format!("sum({operand})"),
        ("min" | "max", "") => format!("{name}({operand})"),
        ("map", _) if argument.starts_with("attribute=") => {
            let name = argument["attribute=".len()..].trim_matches(['"', '\'']);
            let is_name = !name.is_empty()
                && name
                    .chars()
                    .all(|sign| sign.is_ascii_alphanumeric() || sign == '_');
            is_name.then(|| format!("{operand}.map(x, x.{name})"))?
        }
        ("default" | "d", _) if is_literal => format!("{operand} ?? {argument}"),
        _ => return None,
    })
}
