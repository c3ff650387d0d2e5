//! Calls in words, each on a line: `now = get_current_time timezone=UTC`.

use std::sync::Arc;

use planwright_core::Value;

use super::arrows::{is_name, unused_id};
use super::{Draft, plan_of, scalar};

/// The plan in lines that are all calls, which run one after the other.
pub(super) fn plan(text: &str) -> Option<Value> {
    let mut names: Vec<String> = Vec::new();
    let mut drafts = Vec::new();
    let lines = text.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut has_arguments = false;
    for line in lines {
        let (name, call) = match line.split_once('=') {
            Some((name, call)) if is_name(name.trim()) => (Some(name.trim()), call.trim()),
            _ => (None, line),
        };
        let mut words = words(call)?.into_iter();
        let tool = words.next()?;
        let args: Option<Vec<(Arc<str>, Value)>> = words.map(argument).collect();
        let args = args?;
        has_arguments |= !args.is_empty();
        is_tool(tool).then_some(())?;
        let id = match name {
            Some(name) => name.to_owned(),
            None => unused_id(tool, &names)?,
        };
        names.push(id.clone());
        drafts.push(Draft {
            id,
            fields: vec![
                ("tool".into(), Value::text(tool)),
                ("args".into(), Value::object(args)),
            ],
            after: Vec::new(),
        });
    }
    has_arguments.then_some(())?;
    let is_ordered = drafts.len() > 1;
    let plan = plan_of(drafts)?;
    let ordering = is_ordered.then(|| (Arc::from("ordering"), Value::text("listed")));
    let fields = plan.as_object()?.iter();
    let fields = fields.map(|(key, field)| (Arc::clone(key), field.clone()));
    Some(Value::object(ordering.into_iter().chain(fields)))
}

/// Returns true if `word` is the name of a tool and no other word: it has several parts.
fn is_tool(word: &str) -> bool {
    let is_part = |sign: char| sign.is_alphanumeric() || "_-.".contains(sign);
    word.starts_with(char::is_alphabetic)
        && word.chars().all(is_part)
        && word.trim_end_matches('.').contains(['_', '-', '.'])
}

/// The words of `call`; blanks in quotes are no ends. `None` if a quote is open.
fn words(call: &str) -> Option<Vec<&str>> {
    let mut found = Vec::new();
    let mut start = None;
    let mut quote = None;
    let mut is_escaped = false;
    for (at, sign) in call.char_indices() {
        match quote {
            Some(_) if is_escaped => is_escaped = false,
            Some('"') if sign == '\\' => is_escaped = true,
            Some(open) => quote = Some(open).filter(|open| *open != sign),
            None if sign.is_whitespace() => {
                found.extend(start.take().and_then(|start| call.get(start..at)));
            }
            None => {
                start = start.or(Some(at));
                quote = Some(sign).filter(|sign| matches!(sign, '"' | '\''));
            }
        }
    }
    found.extend(start.and_then(|start| call.get(start..)));
    quote.is_none().then_some(found)
}

/// The argument in a word such as `path=/data`.
fn argument(word: &str) -> Option<(Arc<str>, Value)> {
    let (name, value) = word.split_once('=')?;
    is_name(name).then_some(())?;
    let value = match Value::from_json(value) {
        Ok(text @ Value::Text(_)) => text,
        _ => scalar(value),
    };
    Some((Arc::from(name), value))
}
