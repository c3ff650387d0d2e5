//! Guesses of steps: their calls, their names, and the shapes of their fields.

use std::sync::Arc;

use planwright_core::plan::RETRY_FIELDS;
use planwright_core::{Code, Diagnostic, Place, TextEdit};

use super::groups::{condition_of, group_of, has_alternative, hoist_loop, is_control, sequence};
use super::names::Names;
use super::texts::{
    UsedIds, bare_name, expression_of, path_of, with_input_roots, without_output_fields,
};
use super::units::retry_field;
use super::words::{
    ARGS, ITEM_NAMES, LOOSE, OUTPUT_NAMES, RETRY, STEP, TOOL, is_step_field, negates,
};
use super::{Guesses, field, get, get_mut, has};
use crate::document::edits::{field_edits, json};
use crate::document::{Item, ItemEntry, ItemKind, quote};
use crate::native::form_in;

impl Guesses<'_> {
    /// Rewrites the steps `items`; the names of their outputs are added to `names`.
    pub(super) fn steps(&mut self, items: &mut Vec<Item>, names: &mut Names) {
        let sequence = sequence(items).filter(|_| !self.is_ordered);
        if items.iter().any(has_alternative) {
            self.alternatives(items);
        }
        items.iter_mut().for_each(hoist_loop);
        if items
            .iter()
            .any(|item| group_of(item).is_some() || is_control(item))
        {
            self.flatten(items);
        }
        self.fallback_calls(items);
        self.outputs_as_ids(items);
        for item in items.iter_mut() {
            self.step(item, names);
            self.previous = item.get("id").and_then(Item::as_text).cloned();
        }
        self.add_ids(items);
        self.positions(items);
        if let Some(sequence) = sequence {
            self.warn_of_sequence(items, sequence);
        }
    }

    fn step(&mut self, step: &mut Item, names: &mut Names) {
        let place = step.place;
        let ItemKind::Object(entries) = &mut step.kind else {
            return;
        };
        if let Some(inner) = get_mut(entries, "plan")
            && inner.as_object().is_some()
        {
            self.plan(inner);
        }
        let retried = retry_field(entries);
        self.written_call(entries);
        self.call_object(entries);
        self.call_by_name(entries);
        self.matrix(entries);
        self.loop_head(entries);
        self.loop_body(entries);
        self.outcomes(entries);
        self.condition_objects(entries);
        self.forms(entries);
        if entries.iter().all(|entry| is_step_field(&entry.key)) {
            self.outcome_tests(entries);
            self.expressions(entries);
            self.after_text(entries);
        } else {
            self.people(entries, "note", is_step_field);
            self.handlers(entries);
            self.units(entries);
            self.uses(entries);
            if let (Some(title), Some(id)) = (self.name(entries), get(entries, "id")) {
                names.add_title(&title, &id.to_value().to_inserted_text());
            }
            self.negation(entries);
            self.outcome_tests(entries);
            self.expressions(entries);
            self.after_text(entries);
            self.rename(entries, "the step", STEP, is_step_field);
            self.misspelt(entries);
            self.server(entries);
            self.output_name(entries, names);
            self.loose_arguments(entries, place);
        }
        if let Some(ItemKind::Object(inner)) = get_mut(entries, "retry").map(|item| &mut item.kind)
        {
            let is_known = |key: &str| RETRY_FIELDS.iter().any(|field| field.name == key);
            self.retry_units(inner, &retried);
            self.rename(inner, "`retry`", RETRY, is_known);
        }
        self.filter(entries);
        self.loop_item(entries);
        self.loop_list(entries);
        self.arguments(entries);
        self.loops_in_arguments(entries);
        numbers_as_ids(entries);
    }

    pub(super) fn unknown(&mut self, entry: &ItemEntry, help: &str) {
        self.unknown_with(entry, help, Vec::new());
    }

    /// Reports an unknown field, with the edits that write it as it is read.
    pub(super) fn unknown_with(&mut self, entry: &ItemEntry, help: &str, edits: Vec<TextEdit>) {
        let message = format!("the step has an unknown field {}", quote(&entry.key));
        let diagnostic = Diagnostic::error(Code::UnknownField, message);
        let diagnostic = diagnostic.help(help).fixes(edits);
        self.sink.push_at_key(entry, diagnostic);
    }

    /// Reads `name`, which is the tool of a step without one, the id of a step without one, or else a title; and `type`,
    /// which is the tool of a step that has no other.
    ///
    /// Returns the title, if it is one.
    fn name(&mut self, entries: &mut [ItemEntry]) -> Option<Arc<str>> {
        let is_call = |word: &&str| {
            get(entries, word)
                .is_some_and(|item| item.as_text().is_some_and(|text| !text.is_empty()))
        };
        let has_tool = TOOL.iter().chain(["tool"].iter()).any(is_call)
            || ["plan", "value", "extract"]
                .iter()
                .any(|word| has(entries, word));
        let is_typed = get(entries, "type").is_some_and(|item| item.as_text().is_some());
        if !has_tool
            && is_typed
            && let Some(entry) = entries.iter_mut().find(|entry| &*entry.key == "type")
        {
            self.rename_entry(entry, "the step", "tool");
        }
        let ids = STEP.iter().find(|group| group.field == "id");
        let ids = ids.map_or(&[][..], |group| group.words);
        let has_id = has(entries, "id") || ids.iter().any(|word| has(entries, word));
        let target = if !has_tool && !is_typed {
            "tool"
        } else if !has_id {
            "id"
        } else if !has(entries, "title") {
            "title"
        } else {
            return None;
        };
        let mut named = entries.iter_mut().filter(|entry| &*entry.key == "name");
        let entry = named.find(|entry| entry.item.as_text().is_some())?;
        self.rename_entry(entry, "the step", target);
        entry.item.as_text().filter(|_| target == "title").cloned()
    }

    /// Leaves out an `unless` that is not an expression: as `when`, it would mean the opposite.
    fn negation(&mut self, entries: &mut Vec<ItemEntry>) {
        let is_unreadable =
            |entry: &ItemEntry| negates(&entry.key) && condition_of(entry).is_none();
        if let Some(at) = entries.iter().position(is_unreadable) {
            let entry = entries.remove(at);
            self.unknown(
                &entry,
                "write the opposite condition as `\"when\": \"${!(…)}\"`",
            );
        }
    }

    /// Reads conditions and lists of loops that are written without `${…}`.
    fn expressions(&mut self, entries: &mut [ItemEntry]) {
        let is_loose = may_have_loose_arguments(entries);
        for target in ["when", "for_each"] {
            let words = STEP.iter().find(|group| group.field == target);
            let words = words.map_or(&[][..], |group| group.words);
            let is_present = has(entries, target);
            let is_meant = |entry: &&mut ItemEntry| {
                (!is_present && words.contains(&&*entry.key))
                    || (target == "for_each" && &*entry.key == target)
            };
            let mut found = entries.iter_mut().filter(is_meant);
            let (Some(entry), None) = (found.next(), found.next()) else {
                continue;
            };
            // Whether it is an argument is decided when fields are renamed.
            if is_loose && LOOSE.contains(&entry.key) {
                continue;
            }
            let negates = negates(&entry.key);
            let text = entry.item.as_text();
            let inside = text.and_then(|text| text.strip_prefix("${")?.strip_suffix('}'));
            let inside = inside.filter(|_| negates).or(text.map(|text| &**text));
            let in_other_words = |text: &str| {
                let form = form_in(text)?;
                (target == "when" && without_output_fields(&form, &self.ids) != form)
                    .then_some(form)
            };
            let expression =
                inside.and_then(|text| expression_of(text).or_else(|| in_other_words(text)));
            let Some(expression) = expression else {
                continue;
            };
            // `unless` with the id of a step is about its success.
            let is_step = negates && self.ids.contains(&*expression);
            let expression = if is_step && bare_name(&expression).is_some() {
                format!("results.{expression}.success")
            } else {
                without_output_fields(&expression, &self.ids)
            };
            let expression = with_input_roots(&expression, &self.inputs, &self.ids);
            let expression = if negates {
                format!("!({expression})")
            } else {
                expression
            };
            let help = format!("write `\"{target}\": \"${{{expression}}}\"`");
            // The words that were replaced by operators may also occur inside a string of the expression.
            let is_literal =
                |text: &Arc<str>| text.contains(&*expression) || !text.contains(['"', '\'']);
            let edits = if negates || entry.item.as_text().is_some_and(is_literal) {
                let value = json(&format!("${{{expression}}}"));
                field_edits(self.source, entry, target, Some(value))
            } else {
                Vec::new()
            };
            if &*entry.key == target {
                let message = format!("expected a list or one `${{…}}` in `{target}`, found text");
                let diagnostic = Diagnostic::error(Code::WrongFieldType, message);
                let diagnostic = diagnostic.help(help).fixes(edits);
                self.sink.push(entry.item.place, diagnostic);
            } else {
                self.unknown_with(entry, &help, edits);
            }
            entry.key = target.into();
            entry.item.kind = ItemKind::Text(format!("${{{expression}}}").into());
        }
    }

    /// Reads a single step that is not in a list.
    fn after_text(&mut self, entries: &mut [ItemEntry]) {
        let words = STEP.iter().find(|group| group.field == "after");
        let words = words.map_or(&[][..], |group| group.words);
        let is_present = has(entries, "after");
        let is_meant = |entry: &&mut ItemEntry| {
            &*entry.key == "after" || (!is_present && words.contains(&&*entry.key))
        };
        let mut found = entries.iter_mut().filter(is_meant);
        let (Some(entry), None) = (found.next(), found.next()) else {
            return;
        };
        let has_other_outcome = match &entry.item.kind {
            ItemKind::Object(keys) => !keys.iter().all(|entry| is_success(&entry.item)),
            ItemKind::Null
            | ItemKind::Bool(_)
            | ItemKind::Number(_)
            | ItemKind::Text(_)
            | ItemKind::List(_) => false,
        };
        // The ids of Logic Apps are keys.
        let ids: Vec<Arc<str>> = match &entry.item.kind {
            ItemKind::Text(id) => vec![Arc::clone(id)],
            ItemKind::Object(keys) => keys.iter().map(|entry| Arc::clone(&entry.key)).collect(),
            ItemKind::Null | ItemKind::Bool(_) | ItemKind::Number(_) | ItemKind::List(_) => return,
        };
        let found = if entry.item.as_text().is_some() {
            "text"
        } else {
            "an object"
        };
        let written: Vec<String> = ids.iter().map(|id| json(id)).collect();
        let value = format!("[{}]", written.join(", "));
        let help = if has_other_outcome {
            format!(
                "a step with `\"after\": {value}` runs after any outcome; what else it needs is a condition, such as `\"when\": \"${{!results.ID.success}}\"`"
            )
        } else {
            format!("write `\"after\": {value}`")
        };
        let items = ids.into_iter().map(|id| Item {
            kind: ItemKind::Text(id),
            place: entry.item.place,
        });
        let items: Vec<Item> = items.collect();
        let edits = if has_other_outcome {
            Vec::new()
        } else {
            field_edits(self.source, entry, "after", Some(value))
        };
        if &*entry.key == "after" {
            let message = format!("expected a list in `after`, found {found}");
            let diagnostic = Diagnostic::error(Code::WrongFieldType, message);
            let diagnostic = diagnostic.help(help).fixes(edits);
            self.sink.push(entry.item.place, diagnostic);
        } else {
            self.unknown_with(entry, &help, edits);
        }
        entry.key = "after".into();
        entry.item.kind = ItemKind::List(items);
    }

    /// Reads a name for the output of a step, which has none but the id.
    fn output_name(&mut self, entries: &mut Vec<ItemEntry>, names: &mut Names) {
        let loops = has(entries, "for_each");
        let is_name = |entry: &ItemEntry| {
            let is_of_loop = loops && ITEM_NAMES.contains(&&*entry.key);
            OUTPUT_NAMES.contains(&entry.key)
                && !is_of_loop
                && entry
                    .item
                    .as_text()
                    .is_some_and(|text| bare_name(text).is_some())
        };
        let Some(at) = entries.iter().position(is_name) else {
            return;
        };
        let Some(id) = get(entries, "id").cloned() else {
            if let Some(entry) = entries.get_mut(at) {
                self.rename_entry(entry, "the step", "id");
            }
            return;
        };
        let entry = entries.remove(at);
        let name = entry.item.as_text().and_then(|text| bare_name(text));
        let name = name.unwrap_or_default();
        let path = path_of(&id.to_value().to_inserted_text());
        let mut help = format!(
            "leave it out: the output of a step has its id as its name, so write `${{{path}}}` for `${{{name}}}`"
        );
        // A title or a number is no name in a text such as `{vienna.datetime}`.
        if path.starts_with("steps[") {
            let old = id.to_value().to_inserted_text();
            help = format!(
                "the output of a step has its id as its name: write `\"id\": \"{name}\"` in place of {}, also where a step waits for it, and leave this out",
                quote(&old)
            );
            self.unknown(&entry, &help);
            if let Some(id) = entries.iter_mut().find(|entry| &*entry.key == "id") {
                id.item.kind = ItemKind::Text(name.as_str().into());
            }
            names.add(old.as_str().into(), name);
            return;
        }
        self.unknown(&entry, &help);
        if path != name {
            names.add(name.into(), path);
        }
    }

    /// The edit that puts a field before the others of the object at `place`.
    pub(super) fn first_field(&self, place: Place, key: &str, value: &str) -> Option<TextEdit> {
        let span = self.source.span(place)?;
        let inside = self.source.text().get(span.start..span.end)?;
        let inside = inside.strip_prefix('{')?;
        let blanks = &inside[..inside.len() - inside.trim_start().len()];
        let gap = if blanks.contains('\n') { blanks } else { " " };
        let at = span.start + 1 + blanks.len();
        Some(TextEdit::new(
            at..at,
            format!("{}: {value},{gap}", json(key)),
        ))
    }

    /// Assigns ids to steps without one, with one diagnostic for all of them.
    fn add_ids(&mut self, items: &mut [Item]) {
        if items
            .iter()
            .all(|item| item.as_object().is_none() || item.has("id"))
        {
            return;
        }
        let texts = items.iter().filter_map(|item| item.get("id"));
        let mut ids: UsedIds = texts.map(|id| id.to_value().to_inserted_text()).collect();
        let mut missing = Vec::new();
        let mut edits = Vec::new();
        for item in items {
            if item.has("id") {
                continue;
            }
            let Some(tool) = item.get("tool").and_then(Item::as_text) else {
                continue;
            };
            let id = ids.add_for(tool);
            edits.extend(self.first_field(item.place, "id", &json(&id)));
            missing.push((item.place, id.clone()));
            let place = item.place;
            if let ItemKind::Object(entries) = &mut item.kind {
                entries.push(field("id", ItemKind::Text(id.as_str().into()), place));
            }
        }
        let Some((place, _)) = missing.first() else {
            return;
        };
        let message = match missing.len() {
            1 => "the step has no `id`".to_owned(),
            2 => "the step has no `id`, nor has one other".to_owned(),
            count => format!("the step has no `id`, nor have {} others", count - 1),
        };
        let shown = missing.iter().take(MAX_SHOWN_IDS);
        let shown: Vec<String> = shown.map(|(_, id)| format!("`\"id\": \"{id}\"`")).collect();
        let help = match missing.len() {
            1 => format!("add an `id`, such as {}", shown.join(", ")),
            _ => format!("add an `id` to each, such as {}", shown.join(", ")),
        };
        let diagnostic = Diagnostic::error(Code::MissingField, message);
        self.sink.push(*place, diagnostic.help(help).fixes(edits));
    }
}

/// Returns true if the outcomes of a step in Logic Apps are only its success.
fn is_success(outcomes: &Item) -> bool {
    let is_success = |item: &Item| {
        let text = item.as_text();
        text.is_some_and(|text| text.eq_ignore_ascii_case("succeeded"))
    };
    let outcomes = outcomes.as_list();
    outcomes.is_some_and(|outcomes| !outcomes.is_empty() && outcomes.iter().all(is_success))
}

/// Returns true if fields of the step may be arguments of its call, because it has no `args`.
pub(super) fn may_have_loose_arguments(entries: &[ItemEntry]) -> bool {
    let names = ["tool", "name"];
    let calls = TOOL.iter().chain(&names).any(|word| has(entries, word));
    let others = ["positional", "extract", "plan", "value"];
    calls && !ARGS.iter().chain(&others).any(|word| has(entries, word))
}

/// The maximum number of ids in advice.
const MAX_SHOWN_IDS: usize = 8;

/// Reads ids that are numbers.
fn numbers_as_ids(entries: &mut [ItemEntry]) {
    if let Some(id) = get_mut(entries, "id")
        && let ItemKind::Number(number) = &id.kind
    {
        id.kind = ItemKind::Text(number.to_string().into());
    }
}
