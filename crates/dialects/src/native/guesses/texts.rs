//! Texts that stand for expressions, names and ids.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::translation::{Language, quoted_length, translated};
use crate::document::{Item, ItemKind};

/// The expression in a text without `${…}`; otherwise `None`.
pub(crate) fn expression_of(text: &str) -> Option<String> {
    expression_in(text, Language::Own)
}

/// The expression in a text of `language` without `${…}`; otherwise `None`.
pub(crate) fn expression_in(text: &str, language: Language) -> Option<String> {
    let text = text.trim();
    let stripped = [("${{", "}}"), ("{{", "}}")]
        .iter()
        .find_map(|(open, close)| text.strip_prefix(open)?.strip_suffix(close));
    let text = stripped.unwrap_or(text).trim();
    // `${{…: …}}` is a reference of this dialect to an object.
    if text.contains("${") || (stripped.is_some() && text.contains(':')) {
        return None;
    }
    let translate = |text: &str| {
        let translated = translated(text, language)?;
        crate::native::reference::is_expression(&translated).then_some(translated)
    };
    translate(text)
        .or_else(|| translate(&with_methods(text)?))
        .or_else(|| translate(&with_operators(text)?))
        .map(with_sizes)
}

/// `text` without the braces of its markers; `None` if one is in quotes, where it may be part of a text.
pub(crate) fn without_markers(text: &str) -> Option<String> {
    let mut joined = String::with_capacity(text.len());
    let mut rest = text;
    // The operators around a marker bind what is in it as a whole.
    let grouped = |inside: &str| {
        if inside.contains([' ', '?']) && inside.len() + "${}".len() < text.len() {
            format!("({inside})")
        } else {
            inside.to_owned()
        }
    };
    while let Some((before, after)) = rest.split_once("${") {
        let (inside, after) = after.split_once('}')?;
        joined.push_str(before);
        let quote = before
            .chars()
            .next_back()
            .filter(|c| matches!(c, '"' | '\''));
        match quote {
            // `'${a}' == 'b'` compares the value.
            Some(quote) if after.starts_with(quote) => {
                joined.pop();
                joined.push_str(&grouped(inside));
                rest = &after[1..];
            }
            Some(_) => return None,
            None => {
                joined.push_str(&grouped(inside));
                rest = after;
            }
        }
    }
    joined.push_str(rest);
    Some(joined)
}

/// `expression` with `size()` in place of the `length` of JavaScript.
fn with_sizes(expression: String) -> String {
    if !expression.contains(".length") {
        return expression;
    }
    crate::native::form_in(&expression).unwrap_or(expression)
}

/// The maximum depth of groups of steps that are searched for ids.
const MAX_GROUPS: usize = 8;

/// The ids of the steps in `item`, under any name.
pub(super) fn ids_in(item: &Item, depth: usize) -> HashSet<Arc<str>> {
    let mut found = HashSet::new();
    if depth > MAX_GROUPS {
        return found;
    }
    match &item.kind {
        ItemKind::List(items) => {
            found.extend(items.iter().flat_map(|item| ids_in(item, depth + 1)));
        }
        ItemKind::Object(entries) => {
            for entry in entries {
                match &entry.item.kind {
                    ItemKind::Text(text) => {
                        let is_id = matches!(
                            &*entry.key,
                            "id" | "name"
                                | "step"
                                | "step_id"
                                | "stepId"
                                | "taskId"
                                | "task_id"
                                | "key"
                                | "label"
                                | "save_as"
                                | "saveAs"
                                | "node_id"
                        );
                        found.extend(is_id.then(|| Arc::clone(text)));
                    }
                    ItemKind::Object(_) if depth == 0 => {
                        found.insert(Arc::clone(&entry.key));
                    }
                    ItemKind::List(_) => found.extend(ids_in(&entry.item, depth + 1)),
                    ItemKind::Object(_)
                    | ItemKind::Null
                    | ItemKind::Bool(_)
                    | ItemKind::Number(_) => {}
                }
            }
        }
        ItemKind::Null | ItemKind::Bool(_) | ItemKind::Number(_) | ItemKind::Text(_) => {}
    }
    found
}

/// `expression` without the fields that other systems write after the ids in `ids`: `a.result` and `steps.a.outputs` as `a`.
pub(crate) fn without_output_fields(expression: &str, ids: &HashSet<Arc<str>>) -> String {
    const FIELDS: [&str; 6] = [
        ".outputs",
        ".output",
        ".results",
        ".result",
        ".structuredContent",
        ".structured_content",
    ];
    let is_part = |sign: char| sign.is_alphanumeric() || sign == '_';
    let mut written = String::with_capacity(expression.len());
    let mut rest = expression;
    let mut before = ' ';
    let mut quote = None;
    while let Some(sign) = rest.chars().next() {
        let begins = quote.is_none() && is_part(sign) && !is_part(before) && before != '.';
        match quote {
            Some(open) if sign == open => quote = None,
            None if matches!(sign, '"' | '\'') => quote = Some(sign),
            Some(_) | None => {}
        }
        if !begins {
            written.push(sign);
            before = sign;
            rest = &rest[sign.len_utf8()..];
            continue;
        }
        // `steps.a` is `a` in other systems.
        let root = ["steps.", "tasks.", "nodes.", "outputs."]
            .iter()
            .find(|root| rest.starts_with(**root));
        let named = &rest[root.map_or(0, |root| root.len())..];
        let end = named.find(|sign| !is_part(sign)).unwrap_or(named.len());
        let (name, after) = named.split_at(end);
        let mut fields = FIELDS.iter().filter_map(|field| after.strip_prefix(field));
        let shorter = fields.find(|after| !after.starts_with(|sign| is_part(sign) || sign == '('));
        if ids.contains(name) {
            written.push_str(name);
            rest = shorter.unwrap_or(after);
        } else {
            let end = rest.find(|sign| !is_part(sign)).unwrap_or(rest.len());
            written.push_str(&rest[..end]);
            rest = &rest[end..];
        }
        before = 'a';
    }
    written
}

/// `expression` with `inputs.` before the names in `inputs` that no step has.
pub(super) fn with_input_roots(
    expression: &str,
    inputs: &HashSet<Arc<str>>,
    ids: &HashSet<Arc<str>>,
) -> String {
    let others = inputs.difference(ids).cloned().collect();
    with_roots(expression, &others, "inputs.")
}

/// `expression` with `root` before the `names` that begin a path in it.
pub(super) fn with_roots(expression: &str, names: &HashSet<Arc<str>>, root: &str) -> String {
    if names.is_empty() {
        return expression.to_owned();
    }
    let is_part = |sign: char| sign.is_alphanumeric() || sign == '_';
    let mut written = String::with_capacity(expression.len());
    let mut rest = expression;
    while let Some(sign) = rest.chars().next() {
        let length = if matches!(sign, '"' | '\'') {
            quoted_length(rest, sign).unwrap_or(rest.len())
        } else {
            rest.find(|sign| !is_part(sign)).unwrap_or(rest.len())
        };
        let (word, after) = rest.split_at(length.max(sign.len_utf8()));
        // The parameter of a macro is followed by a comma, a function by its bracket.
        let is_root = names.contains(word)
            && !written.ends_with(['.', '$'])
            && !after.starts_with(['(', ':'])
            && !expression.contains(&format!("({word},"));
        if is_root {
            written.push_str(root);
        }
        written.push_str(word);
        rest = after;
    }
    written
}

/// Returns true if `text` is a native expression as written: it is readable and makes sense as an expression.
pub(in crate::native) fn is_own_expression(text: &str) -> bool {
    translated(text, Language::Own).is_some_and(|translated| translated == text.trim_end())
}

/// Words between two values that stand for a method of the first one.
const METHODS: [(&str, &str); 9] = [
    (" does not contain ", "!contains"),
    (" not contains ", "!contains"),
    (" contains ", "contains"),
    (" includes ", "contains"),
    (" starts with ", "startsWith"),
    (" startswith ", "startsWith"),
    (" startsWith ", "startsWith"),
    (" ends with ", "endsWith"),
    (" matches ", "matches"),
];

/// Words between two values that stand for an operator; the longer ones first.
const OPERATORS: [(&str, &str); 24] = [
    (" is greater than or equal to ", ">="),
    (" greater than or equal to ", ">="),
    (" is less than or equal to ", "<="),
    (" less than or equal to ", "<="),
    (" is not equal to ", "!="),
    (" does not equal ", "!="),
    (" not equal to ", "!="),
    (" is greater than ", ">"),
    (" greater than ", ">"),
    (" is more than ", ">"),
    (" is less than ", "<"),
    (" less than ", "<"),
    (" is at least ", ">="),
    (" is at most ", "<="),
    (" is equal to ", "=="),
    (" is above ", ">"),
    (" is below ", "<"),
    (" equals ", "=="),
    (" -gt ", ">"),
    (" -ge ", ">="),
    (" -lt ", "<"),
    (" -le ", "<="),
    (" -eq ", "=="),
    (" -ne ", "!="),
];

/// The expression that `text` is meant as, if it has operators in words, a `BETWEEN` or `LIKE` of SQL, or a word or sign before it.
fn with_operators(text: &str) -> Option<String> {
    let mut inside = text.trim();
    for (open, close) in [
        ("[[", "]]"),
        ("[", "]"),
        ("=", ""),
        ("if ", ""),
        ("when ", ""),
        ("only if ", ""),
    ] {
        if let Some(rest) = inside
            .strip_prefix(open)
            .and_then(|rest| rest.strip_suffix(close))
            && !rest.starts_with('=')
        {
            inside = rest.trim();
        }
    }
    let mut written = inside
        .trim_start_matches('$')
        .trim_start_matches('.')
        .to_owned();
    for (words, sign) in OPERATORS {
        written = written.replace(words, &format!(" {sign} "));
    }
    let split = |word: &str| {
        let at = written.to_lowercase().find(word)?;
        Some((
            written.get(..at)?.trim(),
            written.get(at + word.len()..)?.trim(),
        ))
    };
    let quoted = |text: &str| {
        let text = text.trim_matches(['\'', '"']);
        (!text.contains(['\'', '\\', '"'])).then(|| format!("'{text}'"))
    };
    if let Some((value, bounds)) = split(" between ") {
        let at = bounds.to_lowercase().find(" and ")?;
        let (low, high) = (bounds.get(..at)?, bounds.get(at + 5..)?);
        return is_operand(value).then(|| format!("{value} >= {low} && {value} <= {high}"));
    }
    if let Some((value, pattern)) = split(" like ") {
        let pattern = pattern.trim_matches(['\'', '"']);
        let method = match (pattern.starts_with('%'), pattern.ends_with('%')) {
            (true, true) => "contains",
            (true, false) => "endsWith",
            (false, true) => "startsWith",
            (false, false) => return Some(format!("{value} == {}", quoted(pattern)?)),
        };
        return Some(format!(
            "{value}.{method}({})",
            quoted(pattern.trim_matches('%'))?
        ));
    }
    if let Some((value, pattern)) = split(" =~ ") {
        let pattern = pattern.trim_matches(['/', '\'', '"']);
        return Some(format!("{value}.matches({})", quoted(pattern)?));
    }
    (written != text).then_some(written)
}

/// Words after a value that say something about it.
const STATES: [(&str, &str); 9] = [
    (" is not empty", ".size() > 0"),
    (" is empty", ".size() == 0"),
    (" is not null", " != null"),
    (" is not None", " != null"),
    (" is defined", " != null"),
    (" exists", " != null"),
    (" is null", " == null"),
    (" is None", " == null"),
    (" is true", " == true"),
];

/// The expression for a sentence such as `a contains 'b'` or `a is not empty`.
fn with_methods(text: &str) -> Option<String> {
    let is_value = |text: &str| crate::native::reference::is_expression(text);
    for (words, method) in METHODS {
        if let Some((value, other)) = text.split_once(words)
            && is_operand(value.trim())
            && is_operand(other.trim())
        {
            let (value, other) = (value.trim(), other.trim());
            let expression = match method.strip_prefix('!') {
                Some(method) => format!("!{value}.{method}({other})"),
                None => format!("{value}.{method}({other})"),
            };
            return is_value(&expression).then_some(expression);
        }
    }
    STATES.iter().find_map(|(words, after)| {
        let value = text.strip_suffix(words)?;
        (is_value(value) && is_operand(value)).then(|| format!("{value}{after}"))
    })
}

/// Returns true if `text` is one text in quotes, one number or one path, without an operator.
fn is_operand(text: &str) -> bool {
    match text.chars().next() {
        Some(quote @ ('"' | '\'')) => quoted_length(text, quote) == Some(text.len()),
        Some(_) => text
            .chars()
            .all(|sign| sign.is_alphanumeric() || "_.-[]'\"".contains(sign)),
        None => false,
    }
}

/// The name in a text such as `now`, `$now` or `${now}`.
pub(super) fn bare_name(text: &str) -> Option<String> {
    let name = text.trim_matches(|c: char| "${} ".contains(c));
    let is_name = !name.is_empty()
        && name.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && name
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
    is_name.then(|| name.to_owned())
}

/// The path of the output of the step `id`.
pub(crate) fn path_of(id: &str) -> String {
    // These names have a special meaning in references.
    let is_other = matches!(id, "item" | "index" | "last");
    if !is_other && bare_name(id).as_deref() == Some(id) {
        return id.to_owned();
    }
    // Single quotes need no escape in the JSON of a plan.
    if !id.contains(['\'', '"', '\\']) {
        return format!("steps['{id}']");
    }
    format!("steps[{}]", planwright_core::Value::from(id).to_json())
}

/// The ids of a plan, from which those of steps without one differ.
#[derive(Debug, Default)]
pub(crate) struct UsedIds {
    ids: HashSet<String>,
    /// The number to try next for each name.
    next: HashMap<String, usize>,
}

impl UsedIds {
    /// Adds `id`; returns false if it was used before.
    pub(crate) fn insert(&mut self, id: String) -> bool {
        self.ids.insert(id)
    }

    /// Adds an id for a call of `tool`, and returns it.
    pub(crate) fn add_for(&mut self, tool: &str) -> String {
        let name = id_of_tool(tool);
        let mut id = name.clone();
        if self.ids.contains(&id) {
            let next = self.next.entry(name.clone()).or_insert(2);
            while self.ids.contains(&id) {
                id = format!("{name}_{next}");
                *next += 1;
            }
        }
        self.ids.insert(id.clone());
        id
    }
}

impl FromIterator<String> for UsedIds {
    fn from_iter<I: IntoIterator<Item = String>>(ids: I) -> Self {
        Self {
            ids: ids.into_iter().collect(),
            next: HashMap::new(),
        }
    }
}

/// The name of `tool` without its server, as an id.
fn id_of_tool(tool: &str) -> String {
    let name = tool.rsplit(['.', '/', ':']).next().unwrap_or(tool);
    let is_of_id = |sign: char| sign.is_alphanumeric() || sign == '_';
    name.chars()
        .map(|sign| if is_of_id(sign) { sign } else { '_' })
        .collect()
}
