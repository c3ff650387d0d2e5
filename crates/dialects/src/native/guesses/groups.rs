//! Steps that hold other steps: groups, branches and bodies of loops.

use std::sync::Arc;

use planwright_core::{Code, Diagnostic, Place, SourceText, TextEdit};

use super::names::Names;
use super::texts::{bare_name, expression_of};
use super::words::{GROUPS, ITEM_NAMES, STEP, are_steps, holds_branches, is_branch, is_switch};
use super::{Guesses, field, get, has};
use crate::document::{Item, ItemEntry, ItemKind, quote};

/// The maximum length of steps in advice, in bytes.
const MAX_SHOWN_STEPS: usize = 2000;

impl Guesses<'_> {
    /// Replaces groups of steps by the steps that have the same effect, and reports each with these steps.
    pub(super) fn flatten(&mut self, items: &mut Vec<Item>) {
        for mut item in std::mem::take(items) {
            hoist_branches(&mut item);
            let Some(word) = group_of(&item) else {
                items.push(item);
                continue;
            };
            let place = item.place;
            let ItemKind::Object(mut entries) = item.kind else {
                continue;
            };
            let Some(at) = entries.iter().position(|entry| *entry.key == *word) else {
                continue;
            };
            let group = entries.remove(at);
            let loops = STEP.iter().filter(|group| group.field == "for_each");
            let is_loop = |entry: &ItemEntry| {
                &*entry.key == "for_each"
                    || loops
                        .clone()
                        .any(|group| group.words.contains(&&*entry.key))
            };
            let loop_at = entries.iter().position(is_loop);
            let (steps, otherwise) = match (&*group.key, loop_at) {
                ("cases", _) => (cases(&group, &entries), ARE_UNCERTAIN),
                ("then", _) => (branches(&group, &mut entries), ARE_UNCERTAIN),
                (_, Some(at)) => {
                    let over = entries.remove(at);
                    let steps = loop_of(&group, &entries, &over, items);
                    (
                        steps,
                        "put these steps into `steps`, each with its own `for_each`",
                    )
                }
                ("sequence" | "sequential", None) => {
                    (Some(chain(steps_in(&group.item))), ARE_PARALLEL)
                }
                _ => (Some(steps_in(&group.item)), ARE_PARALLEL),
            };
            let message = format!("a step cannot hold the steps in {}", quote(&group.key));
            let mut diagnostic = Diagnostic::error(Code::UnknownField, message).help(otherwise);
            let Some(steps) = steps else {
                self.sink.push_at_key(&group, diagnostic);
                items.extend(steps_in(&group.item));
                continue;
            };
            let written = steps.iter().map(|step| step.to_value().to_json());
            let written = written.collect::<Vec<_>>().join(", ");
            if written.len() <= MAX_SHOWN_STEPS && !written.contains('`') {
                let reason = if otherwise == ARE_PARALLEL {
                    " (steps that do not refer to each other run in parallel)"
                } else {
                    ""
                };
                let id = get(&entries, "id")
                    .and_then(Item::as_text)
                    .filter(|_| otherwise == ARE_PARALLEL);
                let names = id.map_or_else(String::new, |id| {
                    let first = steps
                        .iter()
                        .find_map(|step| step.get("id")?.as_text().cloned());
                    let first = first.unwrap_or_else(|| "step".into());
                    format!(", and `${{{first}}}` in place of `${{{id}.{first}}}`")
                });
                let help = format!("write these steps in its place: `{written}`{reason}{names}");
                let span = self.source.span(place);
                let edit = span
                    .filter(|_| names.is_empty() && !has_comment(self.source, place))
                    .map(|span| TextEdit::new(span, written));
                diagnostic = diagnostic.help(help).fixes(edit);
            }
            self.sink.push_at_key(&group, diagnostic);
            items.extend(steps);
        }
    }
}

const ARE_PARALLEL: &str = "put these steps into `steps`: those that do not refer to each other run in parallel, and `after` puts one behind others";

const ARE_UNCERTAIN: &str = "put these steps into `steps`, each with `\"when\": \"${…}\"`, those of `else` with `\"when\": \"${!(…)}\"`";

/// Returns true if the text at `place` may have a comment, which a replacement would lose.
fn has_comment(source: &SourceText, place: Place) -> bool {
    let span = source.span(place).unwrap_or_default();
    let text = source.text().get(span.start..span.end);
    text.is_none_or(|text| text.contains("//") || text.contains("/*") || text.contains('#'))
}

/// The steps in the value of a group.
fn steps_in(item: &Item) -> Vec<Item> {
    match &item.kind {
        ItemKind::List(inner) => inner.clone(),
        ItemKind::Object(_) => vec![item.clone()],
        ItemKind::Null | ItemKind::Bool(_) | ItemKind::Number(_) | ItemKind::Text(_) => Vec::new(),
    }
}

/// The steps of `then` and of `else`, each under its condition; `None` if the condition is no expression.
fn branches(then: &ItemEntry, entries: &mut Vec<ItemEntry>) -> Option<Vec<Item>> {
    let mut conditions = ["if", "condition", "when"]
        .iter()
        .filter_map(|word| get(entries, word));
    let text = conditions.find_map(Item::as_text)?;
    let inside = text
        .strip_prefix("${")
        .and_then(|text| text.strip_suffix('}'));
    let condition = expression_of(inside.unwrap_or(text))?;
    let negated = format!("!({condition})");
    let other = entries
        .iter()
        .position(|entry| matches!(&*entry.key, "else" | "otherwise"));
    let other = other.map(|at| entries.remove(at).item);
    let groups = [(Some(then.item.clone()), condition), (other, negated)];
    let mut steps = Vec::new();
    for (group, condition) in groups {
        for mut step in group.iter().flat_map(steps_in) {
            let place = step.place;
            let ItemKind::Object(fields) = &mut step.kind else {
                return None;
            };
            let own = ["when", "if", "condition"]
                .iter()
                .find_map(|word| fields.iter().position(|entry| &*entry.key == *word));
            let condition = match own.map(|at| fields.remove(at)) {
                Some(own) => {
                    let own = own.item.as_text()?;
                    let inside = own
                        .strip_prefix("${")
                        .and_then(|text| text.strip_suffix('}'));
                    format!(
                        "({condition}) && ({})",
                        expression_of(inside.unwrap_or(own))?
                    )
                }
                None => condition.clone(),
            };
            let when = ItemKind::Text(format!("${{{condition}}}").into());
            fields.push(field("when", when, place));
            steps.push(step);
        }
    }
    Some(steps)
}

/// The steps of a `switch`, each under the condition of its case; `None` if its value is no expression.
fn cases(group: &ItemEntry, entries: &[ItemEntry]) -> Option<Vec<Item>> {
    let text = SWITCH
        .iter()
        .find_map(|word| get(entries, word)?.as_text())?;
    let inside = text
        .strip_prefix("${")
        .and_then(|text| text.strip_suffix('}'));
    let value = expression_of(inside.unwrap_or(text))?;
    let name = get(entries, "id").and_then(Item::as_text);
    let mut steps = Vec::new();
    let mut conditions = Vec::new();
    for entry in group.item.as_object()? {
        let is_literal =
            matches!(&*entry.key, "true" | "false") || entry.key.parse::<f64>().is_ok();
        let condition = match &*entry.key {
            "default" | "else" if conditions.is_empty() => return None,
            "default" | "else" => format!("!({})", conditions.join(" || ")),
            key if is_literal => format!("{value} == {key}"),
            key if key.contains(['\'', '\\']) => return None,
            key => format!("{value} == '{key}'"),
        };
        for mut step in steps_in(&entry.item) {
            let place = step.place;
            let ItemKind::Object(fields) = &mut step.kind else {
                return None;
            };
            if has(fields, "when") || has(fields, "if") {
                return None;
            }
            if let Some(name) = name.filter(|_| !has(fields, "id")) {
                let id = format!("{name}_{}", entry.key);
                fields.insert(0, field("id", ItemKind::Text(id.into()), place));
            }
            let when = ItemKind::Text(format!("${{{condition}}}").into());
            fields.push(field("when", when, place));
            steps.push(step);
        }
        conditions.push(condition);
    }
    Some(steps)
}

/// Reads `"if": {"condition": …, "then": …}` as the fields in it.
fn hoist_branches(item: &mut Item) {
    let ItemKind::Object(entries) = &mut item.kind else {
        return;
    };
    let Some(at) = entries.iter().position(holds_branches) else {
        return;
    };
    let entry = entries.remove(at);
    if let ItemKind::Object(inner) = entry.item.kind {
        entries.extend(inner);
    }
}

/// Words for the value of a `switch`.
const SWITCH: [&str; 4] = ["switch", "on", "match", "expression"];

/// `steps`, each after the one before it.
fn chain(mut steps: Vec<Item>) -> Vec<Item> {
    let ids: Vec<Option<Item>> = steps.iter().map(|step| step.get("id").cloned()).collect();
    for (step, before) in steps.iter_mut().skip(1).zip(ids) {
        let place = step.place;
        if let (ItemKind::Object(fields), Some(before)) = (&mut step.kind, before)
            && !has(fields, "after")
        {
            fields.push(field("after", ItemKind::List(vec![before]), place));
        }
    }
    steps
}

/// The step that does the steps in `group` for each item of `over`: the only one of them, or a plan of its own that gets the item
/// and the outputs of steps `before` as its inputs. `None` if it has no name.
fn loop_of(
    group: &ItemEntry,
    entries: &[ItemEntry],
    over: &ItemEntry,
    before: &[Item],
) -> Option<Vec<Item>> {
    let place = group.item.place;
    let mut steps = steps_in(&group.item);
    let text = over.item.as_text()?;
    let inside = text
        .strip_prefix("${")
        .and_then(|text| text.strip_suffix('}'));
    let list = format!("${{{}}}", expression_of(inside.unwrap_or(text))?);
    let over = field("for_each", ItemKind::Text(list.into()), place);
    let item_name = ITEM_NAMES
        .iter()
        .find_map(|word| get(entries, word)?.as_text());
    let item_name = item_name
        .and_then(|name| bare_name(name))
        .unwrap_or_else(|| "item".to_owned());
    let named = (item_name != "item")
        .then(|| field("as", ItemKind::Text(item_name.as_str().into()), place));
    if let [only] = steps.as_mut_slice() {
        let ItemKind::Object(fields) = &mut only.kind else {
            return None;
        };
        if has(fields, "for_each") {
            return None;
        }
        fields.push(over);
        fields.extend(named);
        return Some(steps);
    }
    let id = get(entries, "id").cloned()?;
    let own: Vec<Item> = steps
        .iter()
        .filter_map(|step| step.get("id").cloned())
        .collect();
    let is_own = |id: &Item| own.iter().any(|own| own.to_value() == id.to_value());
    let outer = before
        .iter()
        .filter_map(|step| step.get("id"))
        .filter(|id| !is_own(id));
    let outer: Vec<String> = outer
        .filter_map(Item::as_text)
        .map(ToString::to_string)
        .collect();
    let mut args = Vec::new();
    for name in outer.iter().chain([&item_name]) {
        let mut names = Names::default();
        names.add(name.as_str().into(), format!("inputs.{name}"));
        let mut is_used = false;
        for step in &mut steps {
            is_used |= names.write_in(step);
        }
        if is_used {
            let value = ItemKind::Text(format!("${{{name}}}").into());
            args.push(field(name, value, place));
        }
    }
    for name in own.iter().filter_map(Item::as_text) {
        let mut names = Names::default();
        names.add(Arc::clone(name), name.to_string());
        for step in &mut steps {
            names.write_in(step);
        }
    }
    let inputs = args
        .iter()
        .map(|entry| field(&entry.key, ItemKind::Object(Vec::new()), place));
    let mut plan = Vec::new();
    if !args.is_empty() {
        plan.push(field("inputs", ItemKind::Object(inputs.collect()), place));
    }
    plan.push(field("steps", ItemKind::List(steps), place));
    let mut fields = vec![field("id", id.kind, place), over];
    fields.extend(named);
    fields.push(field("plan", ItemKind::Object(plan), place));
    if !args.is_empty() {
        fields.push(field("args", ItemKind::Object(args), place));
    }
    Some(vec![Item {
        kind: ItemKind::Object(fields),
        place,
    }])
}

/// The word under which `item` holds other steps and no call of its own.
pub(super) fn group_of(item: &Item) -> Option<Arc<str>> {
    let entries = item.as_object()?;
    if entries.iter().any(holds_branches) {
        return Some("if".into());
    }
    let is_call = ["tool", "plan", "value", "extract"];
    if is_call.iter().any(|word| has(entries, word)) {
        return None;
    }
    let is_group = |entry: &&ItemEntry| {
        let is_list = entry.item.as_list().is_some() && are_steps(&entry.item);
        (GROUPS.contains(&&*entry.key) && is_list) || is_switch(entry) || is_branch(entry)
    };
    let group = entries.iter().find(is_group)?;
    Some(Arc::clone(&group.key))
}
