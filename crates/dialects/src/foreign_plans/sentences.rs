//! Plans whose steps are sentences: `{"plan": ["1. Call echo with message='x'"]}`.

use planwright_core::Value;

use super::Translation;
use crate::foreign_text::calls;

/// The fields that hold the sentences.
const FIELDS: [&str; 6] = ["steps", "plan", "tasks", "actions", "calls", "workflow"];

/// The translation of a list of sentences that call tools.
pub(super) fn translation(value: &Value) -> Option<Translation> {
    let list = FIELDS.iter().find_map(|field| value.get(field));
    let items = list.unwrap_or(value).as_list()?;
    let sentences: Option<Vec<&str>> = items.iter().map(Value::as_text).collect();
    let sentences = sentences.filter(|sentences| !sentences.is_empty())?;
    let form = "a list of sentences";
    // A sentence without a call would be lost, and a sentence over several lines may have its call in a part of it.
    let is_line = |sentence: &&str| !sentence.trim().is_empty() && !sentence.contains('\n');
    let are_lines = sentences.iter().all(is_line);
    let text = sentences.join("\n");
    if let Some(plan) = calls::plan(&text).filter(|_| are_lines) {
        return Some(Translation {
            form,
            plan,
            is_complete: true,
            left_out: Vec::new(),
        });
    }
    let first = sentences
        .iter()
        .find_map(|sentence| calls::plan(sentence))?;
    let step = first.get("steps")?.as_list()?.first()?;
    Some(Translation::of_first_step(form, step.clone()))
}
