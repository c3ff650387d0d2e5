//! References in the texts of other systems: the things that they name, and the native references to them.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use planwright_core::Value;

use super::lower::step_path;
use crate::foreign_plans::texts::replace_references;
use crate::foreign_references::{ReferenceNames, path_length};
use crate::foreign_text::program_condition;
use crate::native::{Language, expression_in};

/// The maximum number of markers of one text that are replaced.
const MAX_REPLACEMENTS: usize = 64;

/// The names of a plan, with their native paths.
#[derive(Debug, Default)]
pub(super) struct References {
    /// The ids of the steps in their order.
    order: Vec<String>,
    /// The ids by all names of the steps.
    ids: HashMap<String, String>,
    inputs: HashMap<String, String>,
    /// The names that begin with a sign, `#E1`, and the ids of their steps.
    signed: Vec<(String, String)>,
    /// The names of the items of the loops around the text.
    items: Vec<String>,
}

impl References {
    pub(super) fn add_step(&mut self, id: &str, alias: Option<&str>) {
        self.order.push(id.to_owned());
        self.ids.insert(id.to_owned(), id.to_owned());
        if let Some(alias) = alias {
            if alias.starts_with(['#', '@', '&', '%']) {
                self.signed.push((alias.to_owned(), id.to_owned()));
            }
            let alias = alias.trim_start_matches(['#', '@', '&', '%']);
            self.ids
                .entry(alias.to_owned())
                .or_insert_with(|| id.to_owned());
        }
    }

    pub(super) fn add_input(&mut self, name: &str, path: &str) {
        self.inputs.insert(name.to_owned(), path.to_owned());
    }

    /// Begins a loop whose item has the `name`.
    pub(super) fn enter(&mut self, name: &str) {
        self.items.push(name.to_owned());
    }

    pub(super) fn leave(&mut self) {
        self.items.pop();
    }

    /// The id of the step that `name` stands for.
    pub(super) fn id_of(&self, name: &str) -> Option<String> {
        let bare = name.trim_start_matches(['#', '$', '@']);
        self.ids.get(name).or_else(|| self.ids.get(bare)).cloned()
    }

    fn names(&self) -> ReferenceNames<'_> {
        let paths = self
            .ids
            .iter()
            .map(|(name, id)| (name.as_str(), Cow::from(step_path(id))));
        let items = self.items.iter().map(|name| (name.as_str(), name.clone()));
        let inputs = self
            .inputs
            .iter()
            .map(|(name, path)| (name.as_str(), path.clone()));
        ReferenceNames::of_paths(
            self.order.iter().map(String::as_str).collect(),
            paths.collect(),
            inputs.chain(items).collect(),
        )
    }

    /// The path that `written` is here, without what other systems put before and after names.
    fn path(&self, names: &ReferenceNames<'_>, written: &str) -> Option<String> {
        let written = written.trim();
        if let Some((name, rest)) = named_call(written).or_else(|| node_by_name(written)) {
            let id = self.ids.get(name)?;
            return Some(format!("{}{rest}", step_path(id)));
        }
        let is_path = |sign: char| sign.is_alphanumeric() || "_-.[]*'\"#$@/".contains(sign);
        if written.is_empty() || !written.chars().all(is_path) {
            return None;
        }
        let bare = written.trim_start_matches(['$', '@', '#', '.']);
        // An item of a loop comes before a step of the same name.
        let root = bare.find(['.', '[']).unwrap_or(bare.len());
        if self.items.iter().any(|item| *item == bare[..root]) {
            return Some(bare.to_owned());
        }
        ["repeat.item", "loop.item", "each.value"]
            .iter()
            .find_map(|word| {
                Some(format!(
                    "{}{}",
                    self.items.last()?,
                    bare.strip_prefix(word)?
                ))
            })
            .or_else(|| names.path(bare))
            .or_else(|| names.path(written))
    }

    /// The expression that the condition `written` is here; `None` if it is not understood.
    pub(super) fn condition(&self, written: &str) -> Option<String> {
        let names = self.names();
        let written = written.trim();
        let inside = [("${{", "}}"), ("{{", "}}"), ("${", "}")]
            .iter()
            .find_map(|(open, close)| written.strip_prefix(open)?.strip_suffix(close))
            .filter(|inside| !inside.contains("{{") && !inside.contains("${"))
            .unwrap_or(written);
        self.expression(&names, inside)
    }

    fn expression(&self, names: &ReferenceNames<'_>, written: &str) -> Option<String> {
        if written.len() > 2000 {
            return None;
        }
        let mapped = with_functions(&self.with_known_paths(names, written));
        let known: Vec<String> = self.order.iter().chain(&self.items).cloned().collect();
        program_condition(mapped.trim(), &known)
            .filter(|found| !found.contains("['steps']"))
            .or_else(|| expression_in(&mapped, Language::Own))
    }

    /// `written` with the paths of this dialect in place of those that name steps and inputs, outside of texts in quotes.
    fn with_known_paths(&self, names: &ReferenceNames<'_>, written: &str) -> String {
        let mut found = String::with_capacity(written.len());
        let mut rest = written;
        let mut before = ' ';
        while let Some(sign) = rest.chars().next() {
            if matches!(sign, '"' | '\'') {
                let length = crate::native::quoted_length(rest, sign).unwrap_or(rest.len());
                found.push_str(&rest[..length]);
                rest = &rest[length..];
                before = sign;
                continue;
            }
            let is_of_path = |sign: char| sign.is_alphanumeric() || "_.[]".contains(sign);
            let begins = (sign.is_alphabetic() || "_$@#.".contains(sign))
                && !(before.is_alphanumeric() || matches!(before, '_' | '.' | ')' | ']'));
            if !begins {
                found.push(sign);
                before = sign;
                rest = &rest[sign.len_utf8()..];
                continue;
            }
            let signs = rest.len() - rest.trim_start_matches(['$', '@', '#', '.']).len();
            let end = rest[signs..]
                .find(|sign| !is_of_path(sign))
                .map_or(rest.len(), |end| signs + end);
            let written = rest[..end].trim_end_matches('.');
            // A call such as `.size()` after a path is a part of it.
            let is_call = rest[end..].starts_with('(');
            let (path, method) = match written.rsplit_once('.').filter(|_| is_call) {
                Some((path, _)) => (path, &written[path.len()..]),
                None => (written, ""),
            };
            match self.path(names, path) {
                Some(path) => found.extend([&path, method]),
                None => found.push_str(written),
            }
            before = 'a';
            rest = &rest[written.len().max(1)..];
        }
        found
    }

    /// The list of a loop.
    pub(super) fn list(&self, value: &Value) -> Value {
        let Some(text) = value.as_text() else {
            return self.argument(value);
        };
        let names = self.names();
        match self.condition(text) {
            Some(expression) if !text.contains(' ') || text.contains(['$', '{']) => {
                Value::text(format!("${{{expression}}}"))
            }
            _ => match self.path(&names, text) {
                Some(path) => Value::text(format!("${{{path}}}")),
                None => Value::text(self.text(&names, text)),
            },
        }
    }

    /// The output of a plan.
    pub(super) fn output(&self, value: &Value) -> Value {
        let names = self.names();
        match value {
            Value::Text(text) if self.ids.contains_key(&**text) => {
                Value::list([Value::text(self.ids[&**text].clone())])
            }
            Value::List(items)
                if items.iter().all(|item| {
                    item.as_text()
                        .is_some_and(|name| self.ids.contains_key(name))
                }) =>
            {
                Value::list(
                    items
                        .iter()
                        .filter_map(Value::as_text)
                        .map(|name| Value::text(self.ids[name].clone())),
                )
            }
            Value::Text(text) => match self.path(&names, text) {
                Some(path) => Value::text(format!("${{{path}}}")),
                None => self.argument(value),
            },
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::List(_) | Value::Object(_) => {
                self.argument(value)
            }
        }
    }

    /// `value` with the references of this dialect.
    pub(super) fn argument(&self, value: &Value) -> Value {
        self.value(&self.names(), value)
    }

    fn value(&self, names: &ReferenceNames<'_>, value: &Value) -> Value {
        match value {
            Value::Text(text) => Value::text(self.text(names, text)),
            Value::List(items) => match self.joined(names, items) {
                Some(text) => Value::text(text),
                None => Value::list(items.iter().map(|item| self.value(names, item))),
            },
            Value::Object(fields) => {
                let all: Vec<(&str, &Value)> =
                    fields.iter().map(|(key, field)| (&**key, field)).collect();
                if let Some(path) = self.path_of_object(names, &all) {
                    return Value::text(format!("${{{path}}}"));
                }
                if let [(key, inner)] = all.as_slice() {
                    let is_literal = matches!(*key, "value" | "literal" | "const" | "constant");
                    let is_template = matches!(*key, "template" | "format" | "expr" | "expression");
                    let text = inner.as_text().map(|text| self.text(names, text));
                    match text {
                        Some(text) if is_literal || (is_template && text.contains("${")) => {
                            return Value::text(text);
                        }
                        None if is_literal => return self.value(names, inner),
                        Some(_) | None => {}
                    }
                }
                Value::object(
                    fields
                        .iter()
                        .map(|(key, field)| (Arc::clone(key), self.value(names, field))),
                )
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }

    /// The text of `["concat", "a", "@step"]`.
    fn joined(&self, names: &ReferenceNames<'_>, items: &[Value]) -> Option<String> {
        let (function, parts) = items.split_first()?;
        matches!(function.as_text()?, "concat" | "join" | "+" | "str" | "cat").then_some(())?;
        let parts: Vec<String> = parts
            .iter()
            .map(|part| Some(self.text(names, part.as_text()?)))
            .collect::<Option<_>>()?;
        parts
            .iter()
            .any(|part| part.contains("${"))
            .then(|| parts.concat())
    }

    /// The path of `{"from": "step", "path": "a.b"}` or `{"$ref": "#/steps/a/output/b"}`.
    fn path_of_object(
        &self,
        names: &ReferenceNames<'_>,
        fields: &[(&str, &Value)],
    ) -> Option<String> {
        let root = [
            "from",
            "ref",
            "$ref",
            "step",
            "source",
            "node",
            "stepId",
            "step_id",
            "result_of",
            "output_of",
        ];
        let field = ["path", "field", "key", "output", "property", "select"];
        match fields {
            [(key, Value::Text(pointer))] if root.contains(key) => {
                let parts: Vec<&str> = pointer.trim_start_matches("#/").split(['/', '.']).collect();
                // Names before that of a step say where steps are.
                let at = parts.iter().position(|part| self.ids.contains_key(*part))?;
                let mut path = parts.get(at)?.to_string();
                for part in parts.get(at + 1..)? {
                    if part.bytes().all(|byte| byte.is_ascii_digit()) {
                        path.extend(["[", part, "]"]);
                    } else {
                        path.extend([".", part]);
                    }
                }
                (at <= 2).then(|| names.path(&format!("steps.{path}")))?
            }
            [(one, Value::Text(step)), (other, Value::Text(path))]
            | [(other, Value::Text(path)), (one, Value::Text(step))]
                if root.contains(one)
                    && field.contains(other)
                    && self.ids.contains_key(&**step) =>
            {
                let path = path.trim_start_matches(['$', '.']);
                let path = if path.starts_with('[') || path.is_empty() {
                    path.to_owned()
                } else {
                    format!(".{path}")
                };
                names.path(&format!("{step}{path}"))
            }
            _ => None,
        }
    }

    /// `text` with the references of this dialect.
    fn text(&self, names: &ReferenceNames<'_>, text: &str) -> String {
        let replaced = replace_references(text, |path| {
            let found = self.path(names, path).or_else(|| {
                let is_known = path.contains(|sign: char| " +()".contains(sign));
                let found = self.expression(names, path).filter(|_| is_known)?;
                (!found.contains('|')).then_some(found)
            });
            Some(format!("${{{}}}", found?))
        });
        let replaced = match replaced.strip_prefix('=') {
            Some(rest) if replaced != text && text.contains("{{") => rest.to_owned(),
            _ => replaced,
        };
        let mut written = String::new();
        let mut rest = replaced.as_str();
        for _ in 0..MAX_REPLACEMENTS {
            let Some(marker) = names.first_marker(rest) else {
                break;
            };
            written.push_str(&rest[..marker.0.start]);
            written.extend(["${", &marker.1, "}"]);
            rest = &rest[marker.0.end..];
        }
        written.push_str(rest);
        let written = self.with_marked(names, &self.with_signed(&written));
        if written == text {
            self.with_items(text)
        } else {
            written
        }
    }

    /// `text` with references in place of the names of steps that are in brackets or after a sign: `[a]`, `{a.b}`, `@a`.
    fn with_marked(&self, names: &ReferenceNames<'_>, text: &str) -> String {
        let mut written = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(sign) = rest.chars().next() {
            let is_apart =
                !written.ends_with(|before: char| before.is_alphanumeric() || before == '$');
            let found = is_apart.then(|| self.marked(names, rest)).flatten();
            match found {
                Some((path, length)) => {
                    written.extend(["${", &path, "}"]);
                    rest = &rest[length..];
                }
                None => {
                    written.push(sign);
                    rest = &rest[sign.len_utf8()..];
                }
            }
        }
        written
    }

    /// The path of the marked name at the start of `text`, and the length of both.
    fn marked(&self, names: &ReferenceNames<'_>, text: &str) -> Option<(String, usize)> {
        let brackets = [("{{", "}}"), ("{", "}"), ("[", "]"), ("<", ">"), ("%", "%")];
        let within = brackets.iter().find_map(|(open, close)| {
            let inside = text.strip_prefix(*open)?;
            let length = inside.find(*close).filter(|length| *length <= 256)?;
            Some((inside[..length].trim(), open.len() + length + close.len()))
        });
        let (written, length) = match (within, text.strip_prefix(['@', '#'])) {
            (Some(found), _) => found,
            (None, Some(rest)) => {
                let is_of_name = |sign: char| sign.is_alphanumeric() || sign == '_';
                let name = rest.find(|sign| !is_of_name(sign)).unwrap_or(rest.len());
                let length = name + path_length(&rest[name..]);
                (&rest[..length], 1 + length)
            }
            (None, None) => return None,
        };
        let ends = written
            .match_indices(['.', '['])
            .map(|(end, _)| end)
            .chain([written.len()]);
        let is_known = |end: usize| self.ids.contains_key(&written[..end]);
        // The longest name counts: it may have blanks.
        let end = ends
            .collect::<Vec<_>>()
            .into_iter()
            .rev()
            .find(|end| is_known(*end))?;
        let rest = &written[end..];
        let path = names.path(written);
        let path =
            path.unwrap_or_else(|| format!("{}{rest}", step_path(&self.ids[&written[..end]])));
        (path_length(rest) == rest.len()).then_some((path, length))
    }

    /// `text` with references in place of names that begin with a sign.
    fn with_signed(&self, text: &str) -> String {
        let mut written = text.to_owned();
        for (name, id) in &self.signed {
            let mut found = String::with_capacity(written.len());
            let mut rest = written.as_str();
            while let Some(at) = rest.find(name) {
                let behind = &rest[at + name.len()..];
                found.push_str(&rest[..at]);
                if behind.starts_with(char::is_alphanumeric) {
                    found.push_str(name);
                    rest = behind;
                    continue;
                }
                let length = path_length(behind);
                found.extend(["${", &step_path(id), &behind[..length], "}"]);
                rest = &behind[length..];
            }
            found.push_str(rest);
            written = found;
        }
        written
    }

    /// `text` with references in place of the plain fields of loop items, such as `kid.email`.
    fn with_items(&self, text: &str) -> String {
        let mut written = text.to_owned();
        for item in self.items.iter().filter(|item| item.len() > 1) {
            let name = format!("{item}.");
            let mut found = String::with_capacity(written.len());
            let mut rest = written.as_str();
            while let Some(at) = rest.find(&name) {
                let is_apart = !rest[..at]
                    .ends_with(|sign: char| sign.is_alphanumeric() || "_.{$".contains(sign));
                let field = &rest[at + name.len()..];
                let length = field
                    .find(|sign: char| !(sign.is_alphanumeric() || sign == '_'))
                    .unwrap_or(field.len());
                let end = at + name.len() + length;
                found.push_str(&rest[..at]);
                if is_apart && field.starts_with(|sign: char| sign.is_alphabetic() || sign == '_') {
                    found.extend(["${", &rest[at..end], "}"]);
                } else {
                    found.push_str(&rest[at..end]);
                }
                rest = &rest[end..];
            }
            found.push_str(rest);
            written = found;
        }
        written
    }
}

/// The name and the rest of the path in a call for the output of a step, `ti.xcom_pull(task_ids='a')` or `$('a').first().json.b`.
fn named_call(written: &str) -> Option<(&str, &str)> {
    let calls = [
        "ti.xcom_pull(task_ids=",
        "task_instance.xcom_pull(task_ids=",
        "ti.xcom_pull(",
        "$(",
    ];
    let inside = calls.iter().find_map(|call| written.strip_prefix(call))?;
    let quote = inside
        .chars()
        .next()
        .filter(|sign| matches!(sign, '"' | '\''))?;
    let (name, rest) = inside[1..].split_once(quote)?;
    Some((name, output_path(rest.strip_prefix(')')?)?))
}

/// The same for `$node["a"].json.b`.
fn node_by_name(written: &str) -> Option<(&str, &str)> {
    let inside = written.strip_prefix("$node[")?;
    let quote = inside
        .chars()
        .next()
        .filter(|sign| matches!(sign, '"' | '\''))?;
    let (name, rest) = inside[1..].split_once(quote)?;
    Some((name, output_path(rest.strip_prefix(']')?)?))
}

/// The path in `rest` after prefixes such as `.first().json`, which only mark an output; `None` if `rest` has more than a path.
fn output_path(rest: &str) -> Option<&str> {
    let mut rest = rest;
    for word in [".all()", ".first()", ".item", ".json"] {
        let after = rest.strip_prefix(word);
        rest = after
            .filter(|after| after.is_empty() || after.starts_with(['.', '[']))
            .unwrap_or(rest);
    }
    (path_length(rest) == rest.len()).then_some(rest)
}

/// `written` with functions in place of the filters of jq that turn a path into text, `(a.b | tostring)`.
fn with_functions(written: &str) -> String {
    let mut found = written.to_owned();
    for filter in [" | length", " | count", "|length", "|count"] {
        while let Some(end) = found.find(filter) {
            let is_of_path = |sign: char| sign.is_alphanumeric() || "_.[]'".contains(sign);
            let start = found[..end]
                .rfind(|sign| !is_of_path(sign))
                .map_or(0, |start| start + 1);
            let behind = &found[end + filter.len()..];
            if start == end || behind.starts_with(char::is_alphanumeric) {
                break;
            }
            found.replace_range(end..end + filter.len(), ".size()");
        }
    }
    while let Some(end) = found.find(" | tostring)") {
        let Some(start) = found[..end].rfind('(') else {
            break;
        };
        let path = found[start + 1..end].trim().to_owned();
        found.replace_range(
            start..end + " | tostring)".len(),
            &format!("string({path})"),
        );
    }
    found
}
