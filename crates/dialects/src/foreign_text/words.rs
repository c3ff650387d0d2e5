//! The skeleton of a plan for a list of words: a step for each item, with the names that the words give.

use std::sync::Arc;

use planwright_core::Value;

use super::advice::JSON_FORM;
use crate::lowering::nested_calls::{call_length, named_call};

/// The maximum number of items in a skeleton.
const MAX_ITEMS: usize = 20;

/// The maximum length of the words of an item in a skeleton.
const MAX_NOTE_CHARS: usize = 100;

/// The advice for the `items` of a list of words.
pub(super) fn advice(items: &[String]) -> String {
    if items.len() > MAX_ITEMS {
        return format!(
            "write each call as a line `a = TOOL(NAME=VALUE)`, or all as JSON, {JSON_FORM}"
        );
    }
    let mut ids: Vec<String> = Vec::new();
    for (at, item) in items.iter().enumerate() {
        let named = result_name(item).map(str::to_owned);
        let id = named.filter(|name| !ids.contains(name));
        ids.push(id.unwrap_or_else(|| format!("step{}", at + 1)));
    }
    // The item that a condition is about may fail.
    let failed: Vec<Option<usize>> = items.iter().map(|item| failed_item(item)).collect();
    let steps = items.iter().enumerate().map(|(at, item)| {
        let condition = failed.get(at).copied().flatten();
        let condition = condition.and_then(|number| ids.get(number.checked_sub(1)?));
        let may_fail = failed.contains(&Some(at + 1));
        // The advice has its own backticks.
        let note = item.replace(['`', '*'], "");
        let note: String = note.chars().take(MAX_NOTE_CHARS).collect();
        let call = call_in(item);
        let tool = call.as_ref().map(|(tool, _)| &**tool);
        let args = call.as_ref().map(|(_, args)| args.clone());
        let mut fields: Vec<(Arc<str>, Value)> = vec![
            (
                "id".into(),
                Value::text(ids.get(at).map_or("", String::as_str)),
            ),
            (
                "tool".into(),
                Value::text(tool.or_else(|| tool_in(item)).unwrap_or("TOOL")),
            ),
            ("args".into(), args.unwrap_or_else(Value::empty_object)),
        ];
        if let Some(id) = condition {
            fields.push((
                "when".into(),
                Value::text(format!("${{!results.{id}.success}}")),
            ));
        }
        if may_fail {
            fields.push(("on_error".into(), Value::text("continue")));
        }
        fields.push(("note".into(), Value::text(note)));
        Value::object(fields)
    });
    let plan = Value::object([
        ("ordering", Value::text("listed")),
        ("steps", Value::list(steps)),
    ]);
    let names: Vec<String> = placeholders(items)
        .into_iter()
        .map(|name| match ids.iter().find(|id| **id == name) {
            Some(id) => format!("`<{name}>` is `${{{id}}}`"),
            None => format!("`<{name}>` is `${{ID}}` of the step that gives it"),
        })
        .collect();
    let end = match names.as_slice() {
        [] => format!(
            "where `${{{}}}` is the result of an item",
            ids.first().map_or("step1", String::as_str)
        ),
        _ => format!("where {}", names.join(", ")),
    };
    format!(
        "write each item as a step, with the tool that it calls and its arguments: `{}`, {end}",
        plan.to_json()
    )
}

/// The call in `item`, with names of all arguments: its tool, and the arguments.
fn call_in(item: &str) -> Option<(String, Value)> {
    let is_of_name = |sign: char| sign.is_alphanumeric() || "_-.".contains(sign);
    item.match_indices('(').take(MAX_ITEMS).find_map(|(at, _)| {
        let start = item[..at].trim_end_matches(is_of_name).len();
        let call = &item[start..];
        let call = &call[..call_length(call)?];
        let (tool, args) = named_call(call, |_| None).filter(|_| !call.contains('`'))?;
        let args = args
            .into_iter()
            .map(|(name, value)| (Arc::from(name), value));
        Some((tool, Value::object(args)))
    })
}

/// The tool that an item names: a word such as `get_current_time`.
fn tool_in(item: &str) -> Option<&str> {
    let mut words = item.split(|sign: char| !(sign.is_alphanumeric() || "_-.".contains(sign)));
    let is_tool = |word: &&str| {
        word.contains('_')
            && word.starts_with(char::is_alphabetic)
            && !item.contains(&format!("<{word}>"))
    };
    words.find(is_tool).map(|word| word.trim_end_matches('.'))
}

/// The name that an item gives its result: `call it <now>`, `→ <now>`, `save it as <now>`.
fn result_name(item: &str) -> Option<&str> {
    let words = [
        "call it <",
        "call this <",
        "as <",
        "-> <",
        "→ <",
        "into <",
        "=> <",
    ];
    // ``name = call(…)```
    let plain = item.trim_start_matches('`');
    if let Some((name, rest)) = plain.split_once(" = ")
        && is_name(name)
        && rest.contains('(')
    {
        return Some(name);
    }
    let Some((_, rest)) = words.iter().find_map(|word| item.split_once(word)) else {
        // ``call(…)` → `name```
        let (_, rest) = ["->", "→", "=>"]
            .iter()
            .find_map(|arrow| item.rsplit_once(arrow))?;
        let name = rest.trim().trim_matches(['`', '*', '.']);
        return is_name(name).then_some(name);
    };
    let (name, _) = rest.split_once('>')?;
    is_name(name).then_some(name)
}

/// The number of the item whose failure is the condition of `item`.
fn failed_item(item: &str) -> Option<usize> {
    let lower = item.to_lowercase();
    let rest = ["if step ", "when step ", "if number ", "if item "]
        .iter()
        .find_map(|word| lower.split_once(word))?
        .1;
    let end = rest.find(|sign: char| !sign.is_ascii_digit())?;
    let (number, after) = rest.split_at(end);
    let fails = [" fails", " failed", " does not work", " errors"];
    fails
        .iter()
        .any(|word| after.starts_with(word))
        .then(|| number.parse().ok())?
}

/// The names in angle brackets, each once.
fn placeholders(items: &[String]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for item in items {
        for part in item.split('<').skip(1) {
            if let Some((name, _)) = part.split_once('>')
                && is_name(name)
                && !found.iter().any(|known| known == name)
            {
                found.push(name.to_owned());
            }
        }
    }
    found
}

fn is_name(name: &str) -> bool {
    name.starts_with(|sign: char| sign.is_ascii_alphabetic() || sign == '_')
        && name
            .chars()
            .all(|sign| sign.is_ascii_alphanumeric() || sign == '_')
}

#[cfg(test)]
mod tests {
    use super::advice;

    #[test]
    fn skeletons_of_words() {
        let items = [
            "Get the time and call it <now>.",
            "Write <now> with write_file to <path>.",
            "If step 2 fails, say so.",
        ];
        let items = items.map(str::to_owned);
        assert_eq!(
            advice(&items),
            "write each item as a step, with the tool that it calls and its arguments: `{\"ordering\":\"listed\",\"steps\":[{\"id\":\"now\",\"tool\":\"TOOL\",\"args\":{},\"note\":\"Get the time and call it <now>.\"},{\"id\":\"step2\",\"tool\":\"write_file\",\"args\":{},\"on_error\":\"continue\",\"note\":\"Write <now> with write_file to <path>.\"},{\"id\":\"step3\",\"tool\":\"TOOL\",\"args\":{},\"when\":\"${!results.step2.success}\",\"note\":\"If step 2 fails, say so.\"}]}`, where `<now>` is `${now}`, `<path>` is `${ID}` of the step that gives it"
        );
    }
}
