//! Plans in formats for other programs: diagrams, scripts of a shell, makefiles, configurations, tables with commas, forms.
//!
//! A plan is only advice, and only if each part of the text has a meaning.

mod arrows;
mod csv;
mod diagrams;
mod forms;
mod hcl;
mod lists;
mod makefiles;
mod pipes;
pub(super) mod script_parts;
mod shell;
mod words;

use std::collections::HashMap;
use std::sync::Arc;

use planwright_core::Value;

use super::program;
use crate::native::path_of;

/// The maximum length of a text, in bytes.
const MAX_BYTES: usize = 10_000;

/// The plan in `text`, with the name of its format.
pub(super) fn plan(text: &str) -> Option<(&'static str, Value)> {
    if text.len() > MAX_BYTES {
        return None;
    }
    diagrams::flowchart(text)
        .map(|plan| ("a flowchart", plan))
        .or_else(|| Some(("a sequence diagram", diagrams::sequence(text)?)))
        .or_else(|| Some(("a graph of DOT", diagrams::dot(text)?)))
        .or_else(|| Some(("a configuration in HCL", hcl::plan(text)?)))
        .or_else(|| Some(("a makefile", makefiles::plan(text)?)))
        .or_else(|| Some(("a table", csv::plan(text)?)))
        .or_else(|| Some(("a form", forms::plan(text)?)))
        .or_else(|| Some(("a pipe of calls", pipes::plan(text)?)))
        .or_else(|| Some(("calls with arrows", arrows::plan(text)?)))
        .or_else(|| Some(("calls in words", words::plan(text)?)))
        .or_else(|| Some(("a list of words", lists::plan(text)?)))
        .or_else(|| Some(("a script", shell::plan(text)?)))
}

/// The plan in JSON that has typographic quotes in place of straight ones.
pub(super) fn with_straight_quotes(text: &str) -> Option<Value> {
    let is_quoted = ['“', '”', '„', '‟']
        .iter()
        .any(|quote| text.contains(*quote));
    if !is_quoted || text.len() > MAX_BYTES {
        return None;
    }
    let straight = text.replace(['“', '”', '„', '‟'], "\"");
    let value = Value::from_json(straight.trim()).ok()?;
    (value.as_object().is_some() || value.as_list().is_some()).then_some(value)
}

/// A step of another format.
#[derive(Clone, Debug)]
struct Draft {
    id: String,
    /// The tool and the arguments, as fields of a step.
    fields: Vec<(Arc<str>, Value)>,
    after: Vec<String>,
}

/// The plan with `drafts`, in whose texts the ids are references.
fn plan_of(drafts: Vec<Draft>) -> Option<Value> {
    let names: HashMap<String, String> = drafts
        .iter()
        .map(|draft| (draft.id.clone(), path_of(&draft.id)))
        .collect();
    if names.len() < drafts.len() || drafts.is_empty() {
        return None;
    }
    let steps = drafts.into_iter().map(|draft| {
        let mut fields = vec![(Arc::from("id"), Value::text(draft.id.as_str()))];
        for (key, field) in draft.fields {
            let field = match &*key {
                "args" | "positional" => referenced(&field, &names),
                _ => field,
            };
            fields.push((key, field));
        }
        if !draft.after.is_empty() {
            let known = draft.after.iter().all(|id| names.contains_key(id));
            known.then_some(())?;
            let ids = draft.after.iter().map(|id| Value::text(id.as_str()));
            fields.push(("after".into(), Value::list(ids)));
        }
        Some(Value::object(fields))
    });
    let steps = steps.collect::<Option<Vec<_>>>()?;
    Some(Value::object([("steps", Value::list(steps))]))
}

/// The fields of a step that makes the call `written`, such as `f(x=1)`; `names` are the steps that it may refer to.
fn call(written: &str, names: &[String]) -> Option<Vec<(Arc<str>, Value)>> {
    if !written.contains('(') {
        return worded_call(written, names);
    }
    let plan = program::call(written, names)?;
    let [step] = plan.get("steps")?.as_list()? else {
        return None;
    };
    let fields = step.as_object()?.iter();
    let fields = fields.filter(|(key, _)| matches!(&***key, "tool" | "args" | "positional"));
    Some(
        fields
            .map(|(key, field)| (Arc::clone(key), field.clone()))
            .collect(),
    )
}

/// The fields of the step that makes the call `f x=1 y=a.b`, whose values are written without quotes.
fn worded_call(written: &str, names: &[String]) -> Option<Vec<(Arc<str>, Value)>> {
    let written = written.trim();
    let (tool, mut rest) = written.split_once(' ').unwrap_or((written, ""));
    let is_name = |name: &str| {
        let is_part = |sign: char| sign.is_alphanumeric() || "_-.".contains(sign);
        !name.is_empty() && name.chars().all(is_part)
    };
    let mut args: Vec<(Arc<str>, Value)> = Vec::new();
    // A plain word says what a node is about.
    (is_name(tool) && (tool.contains(['_', '-', '.']) || !rest.is_empty())).then_some(())?;
    while !rest.trim().is_empty() {
        let (name, after) = rest.trim_start().split_once('=')?;
        is_name(name).then_some(())?;
        // The value ends before the next name.
        let mut ends = after.match_indices(' ').map(|(at, _)| at);
        let end = ends.find(|at| {
            let next = after[*at..].trim_start();
            next.split_once('=').is_some_and(|(name, _)| is_name(name))
        });
        let (value, behind) = after.split_at(end.unwrap_or(after.len()));
        let root = value.split(['.', '[']).next().unwrap_or_default();
        let value = if names.iter().any(|name| name == root) {
            Value::text(format!("${{{value}}}"))
        } else {
            scalar(value)
        };
        args.push((Arc::from(name), value));
        rest = behind;
    }
    Some(vec![
        ("tool".into(), Value::text(tool)),
        ("args".into(), Value::object(args)),
    ])
}

/// `value` with references in place of names in its texts: `{a}`, `{{a.b}}`, `$a`, `${a}`, `$(a)`, `<a>`.
fn referenced(value: &Value, names: &HashMap<String, String>) -> Value {
    match value {
        Value::Text(text) => Value::text(with_references(text, names)),
        Value::List(items) => Value::list(items.iter().map(|item| referenced(item, names))),
        Value::Object(fields) => {
            let fields = fields.iter();
            Value::object(fields.map(|(key, field)| (Arc::clone(key), referenced(field, names))))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// The brackets around names.
const BRACKETS: [(&str, &str); 6] = [
    ("${", "}"),
    ("$(", ")"),
    ("{{", "}}"),
    ("{", "}"),
    ("<<", ">>"),
    ("<", ">"),
];

/// `text` with references in place of names.
fn with_references(text: &str, names: &HashMap<String, String>) -> String {
    let mut written = String::new();
    let mut rest = text;
    while let Some(sign) = rest.chars().next() {
        if let Some((path, length)) = reference_at(rest, names) {
            // `$$` is a dollar before a reference.
            let dollars = written.len() - written.trim_end_matches('$').len();
            written.push_str(&"$".repeat(dollars));
            written.extend(["${", &path, "}"]);
            rest = &rest[length..];
            continue;
        }
        // A literal `${` has another form.
        if rest.starts_with("${") {
            written.push('$');
        }
        written.push(sign);
        rest = &rest[sign.len_utf8()..];
    }
    written
}

/// The path that the reference at the start of `rest` means, and its length.
fn reference_at(rest: &str, names: &HashMap<String, String>) -> Option<(String, usize)> {
    for (open, close) in BRACKETS {
        let Some(inside) = rest.strip_prefix(open) else {
            continue;
        };
        let line = &inside[..inside.floor_char_boundary(256)];
        let end = line.find(close)?;
        let path = path(line[..end].trim(), names)?;
        return Some((path, open.len() + end + close.len()));
    }
    // `#E1` of ReWOO
    let inside = rest
        .strip_prefix('$')
        .or_else(|| rest.strip_prefix('#').filter(|rest| rest.starts_with('E')))?;
    let is_part = |sign: char| sign.is_alphanumeric() || "_.[]".contains(sign);
    let end = inside.find(|sign| !is_part(sign)).unwrap_or(inside.len());
    let written = inside[..end].trim_end_matches('.');
    Some((path(written, names)?, 1 + written.len()))
}

/// The path of a name with fields, without the fields that other systems insert after the name.
fn path(written: &str, names: &HashMap<String, String>) -> Option<String> {
    let end = written.find(['.', '[']).unwrap_or(written.len());
    let (name, rest) = written.split_at(end);
    let is_part = |sign: char| sign.is_alphanumeric() || "_.[]*-".contains(sign);
    let root = names.get(name).filter(|_| rest.chars().all(is_part))?;
    let mut shorter = [".outputs", ".output", ".results", ".result"]
        .iter()
        .filter_map(|field| rest.strip_prefix(field));
    let shorter = shorter.find(|rest| rest.is_empty() || rest.starts_with(['.', '[']));
    Some(format!("{root}{}", shorter.unwrap_or(rest)))
}

/// A value as it is written without a type: a number, `true`, a text in quotes or without.
fn scalar(written: &str) -> Value {
    let written = written.trim();
    let quoted = ['"', '\'', '`'].iter().find_map(|quote| {
        let inside = written.strip_prefix(*quote)?.strip_suffix(*quote)?;
        (!inside.contains(*quote)).then_some(inside)
    });
    if let Some(inside) = quoted {
        return Value::text(inside.replace("\\n", "\n"));
    }
    match Value::from_json(written) {
        Ok(
            value @ (Value::Number(_)
            | Value::Bool(_)
            | Value::Null
            | Value::List(_)
            | Value::Object(_)),
        ) => value,
        Ok(Value::Text(_)) | Err(_) => Value::text(written),
    }
}

#[cfg(test)]
mod tests;
