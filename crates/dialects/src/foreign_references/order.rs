//! The order of plans with references of n8n, where each node runs after the one before it.

use planwright_core::plan::{Action, OnError, Ordering, Source};
use planwright_core::{Code, Diagnostic, Plan, Step, TextEdit, Value};

use super::markers::CHECKED_FIELDS;
use crate::document::{DiagnosticSink, Item, ItemKind};
use crate::foreign_text::only_reads;

/// The parts of texts that only references of n8n have, also once the titles of nodes are ids.
const SIGNS: [&str; 9] = [
    "$('",
    "$(\"",
    "$json.",
    "$json[",
    "$node[",
    "$input.",
    "$items(",
    "].item.json",
    "].json",
];

/// The largest plan whose order is compared, in steps.
const MAX_STEPS: usize = 100;

/// Warns of each step of `plan` that follows one with effects in `items`, which have references of n8n, and does not wait for it.
pub(crate) fn warn_of_order(items: &[Item], plan: &Plan, sink: &mut DiagnosticSink) {
    let is_n8n = || {
        let fields = items.iter().filter_map(Item::as_object).flatten();
        let mut checked = fields.filter(|field| CHECKED_FIELDS.contains(&&*field.key));
        checked.any(|field| has_sign(&field.item))
    };
    if plan.ordering == Ordering::Listed
        || MAX_STEPS < items.len()
        || plan.steps.len() != items.len()
        || !is_n8n()
    {
        return;
    }
    // The steps with effects so far, and for each step those that it waits for.
    let mut before: Vec<Vec<usize>> = Vec::new();
    let mut effect = None;
    for (at, (step, item)) in plan.steps.iter().zip(items).enumerate() {
        let mut waits = awaited(step, &plan.steps[..at]);
        let inherited: Vec<usize> = waits
            .iter()
            .flat_map(|on| before.get(*on).into_iter().flatten().copied())
            .collect();
        waits.extend(inherited);
        let Action::Tool(tool) = &step.action else {
            before.push(waits);
            continue;
        };
        if let Some(on) = effect
            && !waits.contains(&on)
            && let Some(other) = plan.steps.get(on)
            && !are_alternatives(other, step)
        {
            sink.push(item.place, warning(other, step, item));
            // The advice is followed when the next step is compared.
            let inherited = before.get(on).cloned().unwrap_or_default();
            waits.extend(inherited);
            waits.push(on);
        }
        before.push(waits);
        if !only_reads(&tool.text) {
            effect = Some(at);
        }
    }
}

/// The warning that `step`, written as `item`, does not wait for `other`.
fn warning(other: &Step, step: &Step, item: &Item) -> Diagnostic {
    let message = format!(
        "`{}` does not wait for `{}`: each node of n8n runs after the one before, and steps run at once",
        step.id, other.id
    );
    let diagnostic = Diagnostic::warning(Code::UnorderedCalls, message);
    let name = Value::text(other.id.as_str()).to_json();
    if !step.after.is_empty() {
        return diagnostic.help(format!("add `{name}` to the `after` of `{}`", step.id));
    }
    let field = format!("\"after\": [{name}]");
    let diagnostic = diagnostic.help(format!("write `{field}` in `{}`", step.id));
    let fields = item.as_object().unwrap_or_default();
    // No fix renames the key of the tool, and two edits at one place exclude each other.
    match fields.iter().find(|field| &*field.key == "tool") {
        Some(tool) => {
            let start = tool.key_span.start;
            diagnostic.fixes([TextEdit::new(start..start, format!("{field}, "))])
        }
        None => diagnostic,
    }
}

/// Returns true if each step has a condition, so that perhaps only one of them runs.
fn are_alternatives(one: &Step, other: &Step) -> bool {
    one.when.is_some() && other.when.is_some()
}

/// The positions of the steps among `earlier` that `step` names.
fn awaited(step: &Step, earlier: &[Step]) -> Vec<usize> {
    let mut waits = Vec::new();
    let mut add = |name: &str| {
        let found = earlier.iter().position(|other| other.id.as_str() == name);
        waits.extend(found);
    };
    for name in &step.after {
        add(&name.text);
    }
    let value = match &step.action {
        Action::Value(node) => Some(node),
        Action::Tool(_) | Action::Plan(_) => None,
    };
    let instead = match &step.on_error {
        OnError::Output(node) => Some(node),
        OnError::Fail | OnError::Continue => None,
    };
    let nodes = std::iter::once(&step.args)
        .chain(&step.positional)
        .chain(value)
        .chain(instead)
        .chain(&step.when)
        .chain(step.for_each.as_ref().map(|for_each| &for_each.over))
        .chain(step.repeat.as_ref().map(|repeat| &repeat.until));
    for node in nodes {
        node.each_reference(&mut |reference| {
            for read in reference.reads() {
                if let Source::Step(id) | Source::Result(id) = &read.source {
                    add(id.as_str());
                }
            }
        });
    }
    waits
}

/// Returns true if a text in `item` has a reference of n8n.
fn has_sign(item: &Item) -> bool {
    match &item.kind {
        ItemKind::Text(text) => text.contains("{{") && SIGNS.iter().any(|sign| text.contains(sign)),
        ItemKind::List(items) => items.iter().any(has_sign),
        ItemKind::Object(entries) => entries.iter().any(|entry| has_sign(&entry.item)),
        ItemKind::Null | ItemKind::Bool(_) | ItemKind::Number(_) => false,
    }
}
