//! Arguments that belong into an SQL statement, for a tool that takes the statement alone: the values of its placeholders, and the
//! number of its rows.

use super::ArgumentPass;
use crate::Value;
use crate::check::passes::meant::meant_text;
use crate::check::reporter::Reporter;
use crate::plan::{Node, NodeKind, TextPart};
use crate::schema::{Compatibility, Type};

/// Words for the values of a statement's placeholders.
const WORDS: [&str; 9] = [
    "params",
    "parameters",
    "values",
    "bindings",
    "binds",
    "bind",
    "args",
    "arguments",
    "variables",
];

/// Words for the number of rows, each with its keyword.
const LIMITS: [(&str, &str); 8] = [
    ("limit", "LIMIT"),
    ("max_rows", "LIMIT"),
    ("maxrows", "LIMIT"),
    ("row_limit", "LIMIT"),
    ("rowlimit", "LIMIT"),
    ("max_results", "LIMIT"),
    ("maxresults", "LIMIT"),
    ("offset", "OFFSET"),
];

/// The maximum length of a statement in advice, in bytes.
const MAX_SHOWN: usize = 500;

impl ArgumentPass<'_> {
    /// The advice for the argument `field`, if it has the values of placeholders in another one: the statement with the values in
    /// it. `None` if it has not.
    pub(super) fn bound_values(
        &self,
        field: &str,
        values: &Node,
        reporter: &Reporter<'_>,
    ) -> Option<String> {
        if !WORDS.contains(&&*field.to_lowercase()) {
            return None;
        }
        let (name, statement) = self.fields(reporter)?.iter().find_map(|(name, node)| {
            let text = node.as_literal()?.as_text()?;
            placeholder(text).map(|_| (name, text))
        })?;
        let written = self
            .written_values(values)
            .and_then(|values| inserted(statement, &values));
        let text = "quotes in a text are doubled by `.replace(\"'\", \"''\")`";
        Some(match written {
            Some(written) if written.len() <= MAX_SHOWN && !written.contains('`') => format!(
                "leave it out, and write `\"{name}\": {}`",
                Value::text(written).to_json()
            ),
            _ => format!("leave it out, and write the values into `{name}`; {text}"),
        })
    }

    /// The advice for the argument `field`, if it limits the rows of the statement in another one: the statement with the limit.
    pub(super) fn row_limit(
        &self,
        field: &str,
        value: &Node,
        reporter: &Reporter<'_>,
    ) -> Option<String> {
        let word = field.to_lowercase();
        let (_, keyword) = LIMITS.iter().find(|(known, _)| *known == word)?;
        let is_select = |text: &str| {
            let first = text.split_whitespace().next();
            first.is_some_and(|first| first.eq_ignore_ascii_case("select"))
        };
        let (name, statement) = self.fields(reporter)?.iter().find_map(|(name, node)| {
            let text = match &node.kind {
                NodeKind::Text(parts) => match parts.first()? {
                    TextPart::Literal(text) => text,
                    TextPart::Reference(_) => return None,
                },
                _ => node.as_literal()?.as_text()?,
            };
            is_select(text).then_some((name, node.as_literal().and_then(Value::as_text)))
        })?;
        let number = self.written_value(value).filter(|number| {
            number.starts_with("${") || number.bytes().all(|sign| sign.is_ascii_digit())
        });
        let mut words = statement.into_iter().flat_map(str::split_whitespace);
        let is_given = words.any(|word| word.eq_ignore_ascii_case(keyword));
        Some(match (statement, number) {
            (Some(statement), Some(number))
                if !is_given && statement.len() <= MAX_SHOWN && !statement.contains('`') =>
            {
                let statement = statement.trim_end().trim_end_matches(';').trim_end();
                let written = Value::text(format!("{statement} {keyword} {number}")).to_json();
                format!("leave it out, and write `\"{name}\": {written}`")
            }
            _ => format!("leave it out, and write `{keyword}` into `{name}`, which is SQL"),
        })
    }

    /// The values as they are written in a statement, each with its name.
    fn written_values(&self, values: &Node) -> Option<Vec<(String, String)>> {
        let named = |name: &str, node: &Node| Some((name.to_owned(), self.written_value(node)?));
        match &values.kind {
            NodeKind::List(items) => items.iter().map(|item| named("", item)).collect(),
            NodeKind::Object(fields) => fields
                .iter()
                .map(|field| named(&field.key, &field.value))
                .collect(),
            NodeKind::Literal(Value::List(items)) => items
                .iter()
                .map(|item| Some((String::new(), literal(item)?)))
                .collect(),
            NodeKind::Literal(Value::Object(fields)) => fields
                .iter()
                .map(|(key, field)| Some((key.to_string(), literal(field)?)))
                .collect(),
            NodeKind::Literal(_) | NodeKind::Reference(_) | NodeKind::Text(_) => {
                Some(vec![named("", values)?])
            }
        }
    }

    fn written_value(&self, node: &Node) -> Option<String> {
        match &node.kind {
            NodeKind::Literal(value) => literal(value),
            NodeKind::Reference(reference) => {
                let text = meant_text(self.resolved, reference);
                let inside = text.strip_prefix("${")?.strip_suffix('}')?.trim();
                let found = self.types.reference_type(reference, Some(self.index));
                if !found.is_any() && Type::Number.accepts(&found) == Compatibility::Yes {
                    return Some(format!("${{{inside}}}"));
                }
                let is_text = !found.is_any() && Type::Text.accepts(&found) == Compatibility::Yes;
                let is_path = !inside.contains([' ', '?']);
                let value = match (is_text, is_path) {
                    (true, true) => inside.to_owned(),
                    (true, false) => format!("({inside})"),
                    (false, _) => format!("string({inside})"),
                };
                Some(format!("'${{{value}.replace(\"'\", \"''\")}}'"))
            }
            NodeKind::List(_) | NodeKind::Object(_) | NodeKind::Text(_) => None,
        }
    }
}

/// The literal `value` in SQL.
fn literal(value: &Value) -> Option<String> {
    match value {
        Value::Null => Some("NULL".to_owned()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_json()),
        Value::Text(text) => Some(format!("'{}'", text.replace('\'', "''"))),
        Value::List(_) | Value::Object(_) => None,
    }
}

/// The place and the name of the first placeholder in `text`: `?`, `%s`, `$1`, `:name`, `@name` or `%(name)s`, outside of quotes.
fn placeholder(text: &str) -> Option<(std::ops::Range<usize>, &str)> {
    let mut quote = None;
    for (at, sign) in text.char_indices() {
        if quote.is_some() {
            if Some(sign) == quote {
                quote = None;
            }
            continue;
        }
        let rest = &text[at + sign.len_utf8()..];
        let word = |rest: &str| {
            rest.find(|sign: char| !sign.is_alphanumeric() && sign != '_')
                .unwrap_or(rest.len())
        };
        match sign {
            '\'' | '"' => quote = Some(sign),
            '?' => return Some((at..at + 1, "")),
            '%' if rest.starts_with('s') => return Some((at..at + 2, "")),
            '%' => {
                if let Some(name) = rest
                    .strip_prefix('(')
                    .and_then(|rest| rest.split_once(")s"))
                {
                    return Some((at..at + 4 + name.0.len(), name.0));
                }
            }
            ':' | '@' | '$' if rest.starts_with(|sign: char| sign.is_alphanumeric()) => {
                let is_cast = sign == ':' && text[..at].ends_with(':');
                let is_number = sign == ':' && rest.starts_with(|sign: char| sign.is_ascii_digit());
                if !is_cast && !is_number {
                    let length = word(rest);
                    return Some((at..at + 1 + length, &rest[..length]));
                }
            }
            _ => {}
        }
    }
    None
}

/// `statement` with `values` in place of its placeholders; `None` if it has more or fewer, or other names.
fn inserted(statement: &str, values: &[(String, String)]) -> Option<String> {
    let mut written = String::new();
    let mut rest = statement;
    let mut used = vec![false; values.len()];
    let mut next = 0;
    while let Some((range, name)) = placeholder(rest) {
        let at = match name.parse::<usize>() {
            Ok(number) => number.checked_sub(1)?,
            Err(_) if name.is_empty() => {
                next += 1;
                next - 1
            }
            Err(_) => values
                .iter()
                .position(|(key, _)| key.trim_start_matches([':', '@', '$']) == name)?,
        };
        *used.get_mut(at)? = true;
        written.push_str(&rest[..range.start]);
        written.push_str(&values.get(at)?.1);
        rest = &rest[range.end..];
    }
    written.push_str(rest);
    used.iter().all(|used| *used).then_some(written)
}
