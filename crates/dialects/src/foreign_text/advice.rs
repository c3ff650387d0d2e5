//! Advice with a whole plan in JSON, in the native dialect.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use planwright_core::{Code, Diagnostic, Diagnostics, TextEdit, Value};

use super::remainder::remainder;
use crate::dialect::Dialect;
use crate::document::quote;
use crate::foreign_plans::{Translation, translated, translated_in_general};
use crate::native::{Native, is_word_of_others};
use crate::parse::{ParseResult, ReadOptions, parse_unadvised};

/// The form of a plan in JSON.
pub(super) const JSON_FORM: &str =
    "`{\"steps\": [{\"id\": \"a\", \"tool\": \"TOOL\", \"args\": {\"NAME\": VALUE}}]}`";

/// The maximum number of parts that advice names as left out.
const MAX_SHOWN_PARTS: usize = 8;

/// The maximum length of the JSON in advice, in bytes.
const MAX_SHOWN_JSON: usize = 4000;

/// The part of a text that the plan in advice stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// All of the text, which the plan may replace.
    All,
    /// A part of the text, with words around it, which a replacement would lose.
    Part,
    /// All calls of the text, without parts that change what they do.
    Calls,
    /// The first step, as an example.
    FirstStep,
}

impl Extent {
    /// The extent of a plan in the bytes `range` of `text`.
    pub(crate) fn of(range: Range<usize>, text: &str) -> Self {
        let is_blank = |part: Option<&str>| part.is_none_or(|part| part.trim().is_empty());
        if is_blank(text.get(..range.start)) && is_blank(text.get(range.end..)) {
            Self::All
        } else {
            Self::Part
        }
    }

    /// The extent of a plan that is in a part with the extent `self`.
    pub(super) fn and(self, inner: Self) -> Self {
        if self == Self::All { inner } else { self }
    }
}

/// A plan in a text, the extent of the text that it covers, and the parts of that extent that it leaves out.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Reading {
    pub(crate) plan: Value,
    pub(crate) extent: Extent,
    pub(crate) left_out: Vec<String>,
}

impl Reading {
    pub(crate) fn new(plan: Value, extent: Extent) -> Self {
        Self {
            plan,
            extent,
            left_out: Vec::new(),
        }
    }

    /// The reading of a system that is only similar to others: it is advice, and never replaces the text.
    fn similar(found: Translation, extent: Extent) -> Self {
        let found = Self::of(found, extent);
        let extent = match found.extent {
            Extent::All | Extent::Part => Extent::Part,
            other @ (Extent::Calls | Extent::FirstStep) => other,
        };
        Self { extent, ..found }
    }

    fn of(found: Translation, extent: Extent) -> Self {
        let inner = match (found.is_complete, found.left_out.is_empty()) {
            (true, true) => Extent::All,
            (true, false) => Extent::Part,
            (false, false) => Extent::Calls,
            (false, true) => Extent::FirstStep,
        };
        Self {
            plan: found.plan,
            extent: extent.and(inner),
            left_out: found.left_out,
        }
    }
}

/// The reading of `value`, which has the `extent` of a text, with the fewest uncertain parts: as a plan of a known system, of
/// Planwright, or of an unknown system. `None` if it is not a plan.
pub(crate) fn reading(value: &Value, extent: Extent) -> Option<Reading> {
    let specific = translated(value);
    if let Some(found) = specific.clone().filter(|found| found.is_complete) {
        return Some(Reading::of(found, extent));
    }
    let own = Reading::new(value.clone(), extent);
    let is_own = specific.is_none() && read(&value.to_json()).dialect.is_some();
    let faults = |reading: &Reading| native_json(&without_output_fields(&reading.plan)).1.len();
    let of_own = is_own.then(|| faults(&own));
    if of_own == Some(0) {
        return Some(own);
    }
    let general = translated_in_general(value).map(|found| Reading::similar(found, extent));
    let of_general = general.as_ref().map(&faults);
    // A known system says more than its calls.
    if let Some(found) = specific {
        let general = general.filter(|found| of_general == Some(0) && found.left_out.is_empty());
        return general.or_else(|| Some(Reading::of(found, extent)));
    }
    match (general, of_general, of_own) {
        (Some(general), Some(found), Some(of_own)) if found < of_own => Some(general),
        (Some(general), Some(0), None) => Some(general),
        (_, _, Some(_)) => Some(own),
        (general, ..) => general,
    }
}

/// The reading of `value` as a plan of a system that is only similar to others, if nothing in it is uncertain.
pub(crate) fn certain_reading(value: &Value, extent: Extent) -> Option<Reading> {
    let found = translated_in_general(value).filter(|found| found.is_complete)?;
    let found = Reading::similar(found, extent);
    native_json(&without_output_fields(&found.plan))
        .1
        .is_empty()
        .then_some(found)
}

/// The plan `json`, whose output is that of a step if it is the id of one.
fn with_listed_output(json: String) -> String {
    let Ok(plan) = Value::from_json(&json) else {
        return json;
    };
    let id = plan.get("output").filter(|output| {
        let steps = plan.get("steps").and_then(Value::as_list);
        let mut steps = steps.unwrap_or_default().iter();
        output.as_text().is_some() && steps.any(|step| step.get("id") == Some(*output))
    });
    let (Some(id), Some(fields)) = (id, plan.as_object()) else {
        return json;
    };
    let fields = fields.iter().map(|(key, field)| {
        let field = match &**key {
            "output" => Value::list([id.clone()]),
            _ => field.clone(),
        };
        (Arc::clone(key), field)
    });
    Value::object(fields).to_json()
}

/// An error with `message` about all of `text`, whose advice is the plan `value` in JSON, followed by the uncertain parts.
///
/// Only a plan that covers the whole text becomes an edit.
pub(crate) fn advice(
    code: Code,
    message: &str,
    value: &Value,
    extent: Extent,
    text: &str,
) -> Diagnostics {
    advice_of(code, message, &Reading::new(value.clone(), extent), text)
}

/// The same for the plan of `reading`.
pub(crate) fn advice_of(code: Code, message: &str, reading: &Reading, text: &str) -> Diagnostics {
    let extent = reading.extent;
    let value = &without_output_fields(&reading.plan);
    let (json, open) = native_json(value);
    let json = with_listed_output(json);
    let calls_all = calls_named_tools(text, &json);
    // A first step leaves out more than it has.
    let left = match (extent, Value::from_json(&json)) {
        (Extent::All | Extent::Part, Ok(plan)) => remainder(&plan, &json, text, &[]),
        (Extent::Calls, Ok(plan)) => remainder(&plan, &json, text, &reading.left_out),
        (Extent::FirstStep, _) | (_, Err(_)) => Diagnostics::new(),
    };
    let start = text.len() - text.trim_start().len();
    let end = text[start..]
        .find('\n')
        .map_or(text.len(), |end| start + end);
    let diagnostic = Diagnostic::error(code, message).at_span("", start..end);
    let is_shown = json.len() <= MAX_SHOWN_JSON && !json.contains('`') && calls_all;
    let diagnostic = match (is_shown, extent) {
        (true, Extent::All) if reading.left_out.is_empty() && !left.is_empty() => {
            let parts = match left.len() {
                1 => "1 part of the text has".to_owned(),
                count => format!("{count} parts of the text have"),
            };
            diagnostic.help(format!(
                "write it as JSON; `--fix` does not apply it, because {parts} no equivalent yet: `{json}`"
            ))
        }
        (true, Extent::All | Extent::Part) if reading.left_out.is_empty() => {
            diagnostic.help(format!("write it as JSON: `{json}`"))
        }
        (true, Extent::All | Extent::Part) => {
            let shown = reading.left_out.iter().take(MAX_SHOWN_PARTS).map(|part| quote(part));
            let shown: Vec<String> = shown.collect();
            diagnostic.help(format!(
                "write it as JSON, which leaves out {}: `{json}`",
                shown.join(", ")
            ))
        }
        (true, Extent::Calls) => diagnostic.help(format!(
            "write it as JSON, and what it leaves out with it: `{json}`"
        )),
        (true, Extent::FirstStep) => diagnostic.help(format!(
            "write each call as a step of JSON, with `${{ID.FIELD}}` for what another step gives, `\"when\": \"${{…}}\"` for a condition, `\"for_each\": \"${{…}}\"` for a loop; here is the first one: `{json}`"
        )),
        (false, _) => diagnostic.help(format!("write it as JSON, {JSON_FORM}")),
    };
    let is_replaced = extent == Extent::All && open.is_empty() && calls_all && left.is_empty();
    let edit = is_replaced.then(|| TextEdit::new(0..text.trim_end().len(), json));
    let mut diagnostics: Diagnostics = [diagnostic.fixes(edit)].into_iter().collect();
    if is_shown {
        let of_plan = open.into_iter().filter(Diagnostic::is_error);
        let of_plan = of_plan.map(|found| Diagnostic {
            span: None,
            source: None,
            fix: None,
            ..found.fixes([])
        });
        diagnostics.extend(of_plan.collect());
        diagnostics.extend(left);
    }
    diagnostics
}

/// Returns true if the plan in `json` calls each tool that `text` names after a key `tool`. Otherwise the key is part of data
/// that the plan only passes on.
pub(super) fn calls_named_tools(text: &str, json: &str) -> bool {
    let named = named_tools(text);
    if named.is_empty() {
        return true;
    }
    let Some(plan) = read(json).plan else {
        return true;
    };
    let Some(printed) = Native
        .print(&plan)
        .0
        .and_then(|json| Value::from_json(&json).ok())
    else {
        return false;
    };
    let mut called = HashSet::new();
    called_tools(&printed, &mut called);
    // Servers and tools are named in more than one way: `server/tool`, `server__tool`.
    let last = |name: &str| {
        let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
        let name = name.rsplit(|c| !is_part(c)).next().unwrap_or_default();
        name.rsplit("__").next().unwrap_or_default().to_owned()
    };
    let called: HashSet<String> = called.iter().map(|name| last(name)).collect();
    named.iter().all(|name| called.contains(&last(name)))
}

/// The tools that the steps of the native plan `plan` call.
fn called_tools(plan: &Value, found: &mut HashSet<String>) {
    let steps = plan.get("steps").and_then(Value::as_list);
    for step in steps.unwrap_or_default() {
        if let Some(tool) = step.get("tool").and_then(Value::as_text) {
            found.insert(tool.to_string());
        }
        // A plan inside of a step.
        for field in ["plan", "for_each", "repeat"] {
            if let Some(inner) = step.get(field) {
                called_tools(inner, found);
            }
        }
    }
}

/// The texts after `"tool":`, `'tool':` and `tool:`.
fn named_tools(text: &str) -> HashSet<&str> {
    let mut found = HashSet::new();
    for (at, key) in text.match_indices("tool") {
        let rest = &text[at + key.len()..];
        let before = text[..at].chars().next_back();
        let is_key = match before {
            Some(quote @ ('"' | '\'')) => rest.starts_with(quote),
            Some(before) => !before.is_alphanumeric() && !"_-.$".contains(before),
            None => true,
        };
        let rest = rest.trim_start_matches(['"', '\'']).trim_start();
        let Some(value) = rest.strip_prefix(':').filter(|_| is_key) else {
            continue;
        };
        let value = value.trim_start();
        let Some(quote) = value.chars().next().filter(|c| matches!(c, '"' | '\'')) else {
            continue;
        };
        if let Some((name, _)) = value[1..].split_once(quote)
            && !name.is_empty()
            && !name.contains(['$', '{', ' '])
        {
            found.insert(name);
        }
    }
    found
}

/// `plan` without the fields that other systems write after the ids of steps, `${a.output}`.
fn without_output_fields(plan: &Value) -> Value {
    let steps = ["steps", "tasks", "nodes", "plan"]
        .iter()
        .find_map(|key| plan.get(key)?.as_list());
    let Some(steps) = steps.or_else(|| plan.as_list()) else {
        return plan.clone();
    };
    let ids = steps
        .iter()
        .filter_map(|step| step.get("id").or_else(|| step.get("name"))?.as_text())
        .map(Arc::from);
    shortened(plan, &ids.collect())
}

fn shortened(value: &Value, ids: &HashSet<Arc<str>>) -> Value {
    match value {
        Value::Text(text) if text.contains("${") => {
            let mut written = String::new();
            let mut rest = &**text;
            while let Some(at) = rest.find("${") {
                let (before, inside) = (&rest[..at], &rest[at + 2..]);
                let is_escaped = before.ends_with('$');
                let end = inside.find('}').unwrap_or(inside.len());
                written.extend([before, "${"]);
                if is_escaped || inside.starts_with('{') {
                    written.push_str(&inside[..end]);
                } else {
                    {
                        written
                            .push_str(&crate::native::without_output_fields(&inside[..end], ids));
                    }
                }
                rest = &inside[end..];
            }
            written.push_str(rest);
            Value::text(written)
        }
        Value::List(items) => Value::list(items.iter().map(|item| shortened(item, ids))),
        Value::Object(fields) => {
            let fields = fields.iter();
            Value::object(fields.map(|(key, field)| (Arc::clone(key), shortened(field, ids))))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => value.clone(),
    }
}

/// The plan in `json`, in any dialect.
pub(super) fn read(json: &str) -> ParseResult {
    parse_unadvised(json.as_bytes(), &ReadOptions::new("plan"))
}

/// The JSON of `value` with native fields in place of guesses; or unchanged, with the list of uncertain parts.
fn native_json(value: &Value) -> (String, Diagnostics) {
    let json = value.to_json();
    let found = read(&json);
    // An error with a fix is read as the fix says, and so are a guess with the words to write and a certain reference of another system.
    let is_certain = |found: &Diagnostic| {
        let help = found.help.as_deref().unwrap_or_default();
        // A misspelt field is not read, so that a plan without it would have lost its value.
        let key = found.message.rsplit_once("unknown field `");
        let is_read = key.is_none_or(|(_, key)| is_word_of_others(key.trim_end_matches('`')));
        if found.code == Code::UnknownField && help.starts_with("did you mean") && !is_read {
            return false;
        }
        !found.is_error()
            || (help.starts_with("write `\"") && help.contains("\":"))
            || help.starts_with("arguments stand in `args`: write `\"")
            || !found.fixes.is_empty()
            || found.fix.is_some()
            || (found.code == Code::MalformedReference
                && found.message.contains("is a reference in other systems"))
    };
    if !found.diagnostics.has_errors() {
        return (json, Diagnostics::new());
    }
    let written = found
        .plan
        .as_ref()
        .filter(|_| found.diagnostics.iter().all(is_certain))
        .and_then(|plan| Native.print(plan).0)
        .and_then(|written| Some(Value::from_json(&written).ok()?.to_json()))
        .filter(|written| !read(written).diagnostics.has_errors());
    match written {
        Some(written) => (written, Diagnostics::new()),
        None => (json, found.diagnostics),
    }
}
