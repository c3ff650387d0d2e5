//! Calls whose results have names behind an arrow: `read_file("a.txt") -> notes`, `notes, other -> echo("$notes.content")`.

use std::collections::HashMap;

use planwright_core::Value;

use super::{Draft, call, plan_of, referenced, shell};
use crate::native::path_of;

/// The signs between the inputs, the call and the name of its result.
const ARROWS: [&str; 3] = ["->", "=>", "→"];

/// The plan in lines that all have an arrow.
pub(super) fn plan(text: &str) -> Option<Value> {
    let mut names: Vec<String> = Vec::new();
    let mut drafts = Vec::new();
    let lines = text.lines().map(str::trim);
    for line in lines.filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let draft = draft(line, &names)?;
        names.push(draft.id.clone());
        drafts.push(draft);
    }
    plan_of(drafts)
}

/// The call in `line`, which may refer to the results `names`.
fn draft(line: &str, names: &[String]) -> Option<Draft> {
    let parts = shell::separated(line, &ARROWS)?;
    let parts: Vec<&str> = parts.into_iter().map(str::trim).collect();
    let (inputs, written, result) = match *parts.as_slice() {
        [call, name] if call.ends_with(')') && is_name(name) => ("", call, Some(name)),
        [inputs, call] if call.ends_with(')') => (inputs, call, None),
        [inputs, call, name] if call.ends_with(')') && is_name(name) => (inputs, call, Some(name)),
        _ => return None,
    };
    let inputs: Vec<String> = inputs
        .split(',')
        .map(|name| name.trim().to_owned())
        .filter(|name| !name.is_empty())
        .collect();
    // An input is the result of a line before.
    inputs
        .iter()
        .all(|input| names.contains(input))
        .then_some(())?;
    let fields = call(written, names)?;
    let paths: HashMap<String, String> = names
        .iter()
        .map(|name| (name.clone(), path_of(name)))
        .collect();
    let read: Vec<String> = fields
        .iter()
        .map(|(_, field)| referenced(field, &paths).to_json())
        .collect();
    let reads = |name: &String| {
        let reference = format!("${{{}", paths.get(name).map_or("", String::as_str));
        read.iter().any(|text| {
            text.match_indices(&reference).any(|(at, _)| {
                let after = &text[at + reference.len()..];
                after.starts_with(['}', '.', '[', ' '])
            })
        })
    };
    let after = inputs.into_iter().filter(|name| !reads(name)).collect();
    let id = match result {
        Some(name) => name.to_owned(),
        None => unused_id(written, names)?,
    };
    Some(Draft { id, fields, after })
}

/// The id of the call `written`, whose result has no name.
pub(super) fn unused_id(written: &str, names: &[String]) -> Option<String> {
    let (tool, _) = written.split_once('(').unwrap_or((written, ""));
    let name = tool.rsplit('.').next()?.trim().replace('-', "_");
    let mut ids = std::iter::once(name.clone())
        .chain((2..=names.len() + 2).map(|count| format!("{name}_{count}")));
    ids.find(|id| !names.contains(id)).filter(|id| is_name(id))
}

/// Returns true if `name` is one word.
pub(super) fn is_name(name: &str) -> bool {
    name.starts_with(|sign: char| sign.is_alphabetic() || sign == '_')
        && name
            .chars()
            .all(|sign| sign.is_alphanumeric() || sign == '_')
}
