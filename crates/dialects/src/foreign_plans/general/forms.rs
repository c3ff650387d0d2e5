//! Forms of calls, arguments, conditions and outputs in plans of other systems.

use std::sync::Arc;

use planwright_core::Value;

use super::read::{ForeignCall, MAX_DEPTH, Reader};
use super::tool::{qualified_name, tool_name};
use super::words::{CERTAIN_TOOLS, Meaning, TOOLS, is_kind, means, normal};
use crate::foreign_text::calls;

/// The further attempts of `{"limit": {"attempt": {"count": 3}}, "delay": {"seconds": 5}}`; `None` if it says more.
pub(super) fn retry_of(value: &Value) -> Option<Value> {
    let fields = value.as_object()?;
    let mut found = Vec::new();
    for (key, value) in fields {
        match &*normal(key) {
            "limit" => found.push(("attempts", value.get("attempt")?.get("count")?.clone())),
            "delay" => {
                let units = [("milliseconds", "ms"), ("seconds", "s"), ("minutes", "m")];
                let number = units
                    .iter()
                    .find_map(|(name, unit)| Some((value.get(name)?, unit)));
                let delay = match (number, value) {
                    (Some((number, unit)), _) => format!("{}{unit}", number.as_u64()?),
                    (None, Value::Text(text)) => text.to_string(),
                    _ => return None,
                };
                found.push(("delay", Value::text(delay)));
            }
            _ => return None,
        }
    }
    Some(Value::object(found))
}

/// Returns true if the call with `fields` has a list of a loop.
pub(super) fn has_loop(fields: &[(&str, &Value)]) -> bool {
    fields
        .iter()
        .any(|(key, value)| means(key, Meaning::Over) && !is_empty(value))
}

/// Returns true if `value` can be the list of a loop.
pub(super) fn is_reference(value: &Value) -> bool {
    match value {
        Value::List(_) => true,
        Value::Text(text) => text.starts_with(['$', '{', '<', '@', '#']),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    }
}

/// The position of the tool among `fields`, and its name.
pub(super) fn tool_in(fields: &[(&str, &Value)]) -> Option<(usize, String)> {
    let server = fields
        .iter()
        .find(|(key, _)| means(key, Meaning::Server))
        .and_then(|(_, server)| server.as_text());
    let has_args = fields.iter().any(|(key, value)| {
        means(key, Meaning::Args) && matches!(value, Value::Object(_) | Value::List(_))
    });
    let is_named = fields.iter().any(|(key, value)| {
        matches!(&*normal(key), "id" | "name" | "step") && value.as_text().is_some()
    });
    for word in TOOLS {
        let Some(at) = fields.iter().position(|(key, _)| normal(key) == word) else {
            continue;
        };
        let value = fields[at].1;
        let named = |text: &str| {
            let qualified = qualified_name(text);
            // Beside an action with arguments, a name is that of the step.
            let is_action = has_args
                && is_named
                && matches!(word, "action" | "operation" | "op" | "do" | "run");
            let is_certain = CERTAIN_TOOLS.contains(&word)
                || server.is_some()
                || is_action
                || (word == "name" && has_args);
            let name = qualified
                .or_else(|| tool_name(text).filter(|name| is_certain && !is_kind(name)))?;
            Some(match server {
                Some(server) if !name.contains('.') => format!("{server}.{name}"),
                _ => name,
            })
        };
        let name = match value {
            Value::Text(text) => named(text),
            Value::Object(inner) => {
                let name = ["name", "tool", "id"]
                    .iter()
                    .find_map(|key| inner.get(*key)?.as_text());
                name.and_then(qualified_name)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::List(_) => None,
        };
        if let Some(name) = name {
            return Some((at, name));
        }
    }
    // `{"server.tool": {…}}`
    let mut keys = fields.iter().enumerate().filter_map(|(at, (key, value))| {
        let is_call = matches!(value, Value::Object(_) | Value::Null | Value::List(_))
            && !holds_calls(value, 0);
        Some((
            at,
            qualified_name(key).filter(|_| is_call && arguments(value).is_some())?,
        ))
    });
    let (Some(found), None) = (keys.next(), keys.next()) else {
        return None;
    };
    Some(found)
}

/// Returns true if `value` is a call or holds one.
pub(super) fn holds_calls(value: &Value, depth: usize) -> bool {
    if depth > MAX_DEPTH {
        return false;
    }
    let mut probe = Reader::default();
    match value {
        Value::Text(text) => text_call(text, None).is_some(),
        Value::List(items) => {
            tuple_call(items, None).is_some()
                || items.iter().any(|item| holds_calls(item, depth + 1))
        }
        Value::Object(fields) => {
            probe.call(value, None).is_some()
                || fields
                    .iter()
                    .any(|(key, field)| !means(key, Meaning::Note) && holds_calls(field, depth + 1))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Returns true if `value` is a group of calls by name.
pub(super) fn holds_group(value: &Value) -> bool {
    let mut probe = Reader::default();
    value.as_object().is_some() && probe.call(value, None).is_none()
}

/// `value` as arguments by name; otherwise `None`.
pub(super) fn arguments(value: &Value) -> Option<Vec<(Arc<str>, Value)>> {
    match value {
        Value::Null => Some(Vec::new()),
        Value::Object(fields) => match fields.get("parameters") {
            Some(inner @ Value::List(_)) if fields.len() == 1 => arguments(inner),
            _ => Some(
                fields
                    .iter()
                    .map(|(key, field)| (Arc::clone(key), field.clone()))
                    .collect(),
            ),
        },
        Value::List(items) => {
            let fields = items.iter().map(|item| {
                let name = ["name", "key", "parameter"]
                    .iter()
                    .find_map(|key| item.get(key)?.as_text())?;
                let is_pair = item.as_object().is_some_and(|fields| fields.len() == 2);
                Some((
                    Arc::from(name),
                    item.get("value").filter(|_| is_pair)?.clone(),
                ))
            });
            fields.collect()
        }
        Value::Text(text) if text.trim_start().starts_with('{') => {
            arguments(&Value::from_json(text).ok()?)
        }
        Value::Bool(_) | Value::Number(_) | Value::Text(_) => None,
    }
}

/// The call in a text: `server.tool name=value` or `server.tool(name="value")`.
pub(super) fn text_call(text: &str, key: Option<&str>) -> Option<ForeignCall> {
    let text = text.trim();
    let end = text
        .find(|sign: char| sign.is_whitespace() || sign == '(')
        .unwrap_or(text.len());
    let tool = qualified_name(&text[..end])?;
    let rest = text[end..].trim();
    let args = if rest.is_empty() {
        // A single word may be plain text.
        return None;
    } else if rest.starts_with('(') {
        let plan = calls::plan(&format!("a = {text}"))?;
        let step = plan.get("steps")?.as_list()?.first()?.clone();
        arguments(step.get("args")?)?
    } else {
        pairs(rest)?
    };
    Some(ForeignCall {
        id: key.map(str::to_owned),
        tool,
        args,
        ..ForeignCall::default()
    })
}

/// The arguments in `name=value name="a b"` or `--name value`.
pub(super) fn pairs(text: &str) -> Option<Vec<(Arc<str>, Value)>> {
    let mut pairs: Vec<(Arc<str>, Value)> = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (name, after) = match rest.strip_prefix("--") {
            Some(flag) => flag.split_at(flag.find(['=', ' '])?),
            None => rest.split_at(rest.find('=')?),
        };
        let is_name = !name.is_empty()
            && name
                .chars()
                .all(|sign| sign.is_alphanumeric() || sign == '_');
        is_name.then_some(())?;
        let after = after[1..].trim_start();
        let quote = after
            .chars()
            .next()
            .filter(|sign| matches!(sign, '"' | '\''));
        let (value, behind) = match quote {
            Some(quote) => {
                let length = crate::native::quoted_length(after, quote)?;
                (Value::text(&after[1..length - 1]), &after[length..])
            }
            None => {
                let end = after.find(char::is_whitespace).unwrap_or(after.len());
                let word = &after[..end];
                let is_number = word.parse::<f64>().is_ok()
                    && word.starts_with(|sign: char| sign.is_ascii_digit() || sign == '-');
                let value = Value::from_json(word).ok().filter(|_| is_number);
                (value.unwrap_or_else(|| Value::text(word)), &after[end..])
            }
        };
        pairs.push((name.into(), value));
        rest = behind.trim_start_matches([',', ';']).trim_start();
    }
    (!pairs.is_empty()).then_some(pairs)
}

/// The call in `["id", "server.tool", {…}, ["other"]]`, or `["server", "tool", {…}]`.
pub(super) fn tuple_call(items: &[Value], key: Option<&str>) -> Option<ForeignCall> {
    let texts = items
        .iter()
        .take_while(|item| item.as_text().is_some())
        .count();
    let (words, rest) = items.split_at(texts);
    let (args, rest) = rest.split_first()?;
    args.as_object()?;
    let words: Vec<&str> = words.iter().filter_map(Value::as_text).collect();
    let (id, tool) = match words.as_slice() {
        [tool] => (None, qualified_name(tool)?),
        [id, tool] if qualified_name(tool).is_some() => (Some(*id), qualified_name(tool)?),
        [server, tool] => (None, qualified_name(&format!("{server}.{tool}"))?),
        _ => return None,
    };
    let after = match rest {
        [] => None,
        [ids @ Value::List(_)] => Some(names_in(ids)),
        _ => return None,
    };
    Some(ForeignCall {
        id: id.or(key).map(str::to_owned),
        tool,
        args: arguments(args)?,
        has_after: after.is_some(),
        after: after.unwrap_or_default(),
        ..ForeignCall::default()
    })
}

/// The names in a list, in one text, or in the keys of an object; a negative number is none.
pub(super) fn names_in(value: &Value) -> Vec<String> {
    match value {
        Value::List(items) => items.iter().flat_map(names_in).collect(),
        Value::Object(fields) => fields
            .keys()
            .map(std::string::ToString::to_string)
            .collect(),
        Value::Text(text) => text
            .split(',')
            .map(|name| name.trim().to_owned())
            .filter(|name| !name.is_empty())
            .collect(),
        Value::Number(_) => scalar(value)
            .filter(|number| !number.starts_with('-'))
            .into_iter()
            .collect(),
        Value::Null | Value::Bool(_) => Vec::new(),
    }
}

/// The text of a name, which may be a number.
pub(super) fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::Text(text) => Some(text.to_string()),
        Value::Number(_) => Some(value.to_json()),
        Value::Null | Value::Bool(_) | Value::List(_) | Value::Object(_) => None,
    }
}

/// The condition in a text, or in a list with one.
pub(super) fn condition_text(value: &Value) -> Option<String> {
    match value {
        Value::Text(text) => Some(text.to_string()),
        Value::List(items) => match items.as_slice() {
            [only] => condition_text(only),
            _ => None,
        },
        Value::Object(fields) => {
            let inner = ["expression", "value_template", "condition"]
                .iter()
                .find_map(|key| fields.get(*key));
            condition_text(inner?)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

/// The names at both ends of `[{"source": …, "target": …}]`; `None` if an edge says more.
pub(super) fn edges(value: &Value) -> Option<Vec<(String, String)>> {
    let edges = value.as_list()?.iter().map(|edge| {
        let get = |words: &[&str]| words.iter().find_map(|word| scalar(edge.get(word)?));
        let ends = match edge {
            Value::List(ends) => match ends.as_slice() {
                [from, to] => (scalar(from), scalar(to)),
                _ => return None,
            },
            _ => (get(&["source", "from"]), get(&["target", "to"])),
        };
        let known = ["id", "source", "from", "target", "to", "type"];
        let is_plain = edge
            .as_object()
            .is_none_or(|fields| fields.keys().all(|key| known.contains(&&**key)));
        Some((ends.0.filter(|_| is_plain)?, ends.1?))
    });
    edges.collect()
}

/// The output in `{"action": "finish", "output": …}`, the end of a plan.
pub(super) fn final_output(value: &Value) -> Option<Value> {
    let fields = value.as_object()?;
    let ends = [
        "finish",
        "return",
        "end",
        "final",
        "finalanswer",
        "answer",
        "done",
        "respond",
    ];
    let is_end = |(key, value): (&Arc<str>, &Value)| {
        let is_kind = matches!(&*normal(key), "action" | "type" | "op" | "tool" | "kind");
        is_kind
            && value
                .as_text()
                .is_some_and(|text| ends.contains(&&*normal(text)))
    };
    fields.iter().any(is_end).then_some(())?;
    let output = |(key, value): (&Arc<str>, &Value)| {
        (means(key, Meaning::Output) || normal(key) == "value").then(|| value.clone())
    };
    fields.iter().find_map(output)
}

/// The edges of n8n, `{"a": {"main": [[{"node": "b"}]]}}`; `None` if they say more.
pub(super) fn connections(value: &Value) -> Option<Vec<(String, String)>> {
    let mut found = Vec::new();
    for (from, outputs) in value.as_object()? {
        let main = outputs
            .get("main")
            .filter(|_| outputs.as_object().is_some_and(|fields| fields.len() == 1))?;
        for target in main
            .as_list()?
            .iter()
            .flat_map(|list| list.as_list().unwrap_or_default())
        {
            found.push((from.to_string(), target.get("node")?.as_text()?.to_owned()));
        }
    }
    Some(found)
}

/// Returns true for the start of a workflow, which calls nothing.
pub(super) fn is_trigger(call: &ForeignCall) -> bool {
    call.args.is_empty() && call.tool.to_lowercase().ends_with("trigger")
}

/// Returns true if `value` has no content.
pub(super) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::List(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Text(text) => text.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Returns true if the field `key` is a mark of a format, which says nothing about a run.
pub(super) fn is_mark(key: &str, value: &Value) -> bool {
    match &*normal(key) {
        "type" | "kind" | "action" | "op" => value.as_text().is_some_and(is_kind),
        _ => means(key, Meaning::Mark) || (means(key, Meaning::Note) && value.as_text().is_some()),
    }
}
