//! Texts that are exactly the id of a step, in places where the output of that step is probably meant.

use std::collections::HashSet;
use std::sync::Arc;

use planwright_core::plan::Output;
use planwright_core::{Code, Diagnostic, Plan, SourceText};

use super::guesses::path_of;
use crate::document::{DiagnosticSink, Item, ItemKind, quote};

/// The maximum number of warnings.
const MAX_WARNINGS: usize = 16;

/// Warns of fields of the output that are the id of a step, and of arguments that are the id of a step before that nothing else reads.
pub(super) fn warn(
    items: &[Item],
    output: Option<&Item>,
    plan: &Plan,
    source: &SourceText,
    sink: &mut DiagnosticSink,
) {
    let mut found: Vec<(&Item, &str)> = Vec::new();
    let all: HashSet<&str> = plan.steps.iter().map(|step| &**step.id.text()).collect();
    let fields = output.and_then(Item::as_object).unwrap_or_default();
    // `{"value": …}` alone wraps a literal output.
    let is_wrapped = matches!(fields, [only] if &*only.key == "value");
    for field in fields.iter().filter(|_| !is_wrapped) {
        let is_name = |text: &Arc<str>| all.contains(&**text);
        if field.item.as_text().is_some_and(is_name) && found.len() < MAX_WARNINGS {
            found.push((&field.item, "output"));
        }
    }
    // An output that is not selected is one of all steps.
    if matches!(plan.output, Output::Value(_) | Output::Steps(_)) {
        let mut before: HashSet<&str> = HashSet::new();
        for step in items {
            let mut candidates = Vec::new();
            if let Some(args) = step.get("args").filter(|_| found.len() < MAX_WARNINGS) {
                each_text(args, &mut |item, text| {
                    if before.contains(text) && candidates.len() < MAX_WARNINGS {
                        candidates.push(item);
                    }
                });
            }
            for item in candidates {
                let id = item.as_text().map_or("", |text| &**text);
                let is_read = items.iter().any(|step| mentions(step, id))
                    || output.is_some_and(|output| selects(output, id));
                if !is_read && found.len() < MAX_WARNINGS {
                    found.push((item, "argument"));
                }
            }
            before.extend(step.get("id").and_then(Item::as_text).map(|id| &**id));
        }
    }
    for (item, what) in found {
        let id = item.as_text().map_or("", |text| &**text);
        let span = source.span(item.place).unwrap_or_default();
        let written = source.text().get(span.start..span.end);
        // A word without quotes was reported before.
        if written.is_some_and(|written| !written.contains(id)) {
            continue;
        }
        let message = format!(
            "{} is only text in the {what}, and not the output of the step",
            quote(id)
        );
        let diagnostic = Diagnostic::warning(Code::MalformedReference, message);
        let help = format!("write `${{{}}}` for its output", path_of(id));
        sink.push(item.place, diagnostic.help(help));
    }
}

/// Calls `visit` with each text in `item`.
fn each_text<'i>(item: &'i Item, visit: &mut dyn FnMut(&'i Item, &'i str)) {
    match &item.kind {
        ItemKind::Text(text) => visit(item, text),
        ItemKind::List(items) => items.iter().for_each(|item| each_text(item, visit)),
        ItemKind::Object(entries) => entries
            .iter()
            .for_each(|entry| each_text(&entry.item, visit)),
        ItemKind::Null | ItemKind::Bool(_) | ItemKind::Number(_) => {}
    }
}

/// Returns true if a reference or a list of steps in `step` names the step `id`.
fn mentions(step: &Item, id: &str) -> bool {
    let is_waited_for = step.get("after").is_some_and(|after| {
        let mut is_found = false;
        each_text(after, &mut |_, text| is_found |= text == id);
        is_found
    });
    is_waited_for || refers(step, id)
}

/// Returns true if a text in `item` has a reference with the name `id`.
fn refers(item: &Item, id: &str) -> bool {
    let mut is_found = false;
    each_text(item, &mut |_, text| {
        is_found |= text.contains("${") && text.contains(id);
    });
    is_found
}

/// Returns true if `output` lists the step `id`, or refers to it.
fn selects(output: &Item, id: &str) -> bool {
    let items = output.as_list().unwrap_or_default();
    let is_listed = |item: &Item| item.as_text().is_some_and(|text| &**text == id);
    items.iter().any(is_listed) || refers(output, id)
}
