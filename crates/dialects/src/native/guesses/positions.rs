//! Positions of steps in place of their ids: `"after": [0]`, and names of outputs where ids are positions or missing.

use std::collections::HashSet;

use planwright_core::{Code, Diagnostic, TextEdit};

use super::texts::bare_name;
use super::words::{OUTPUT_NAMES, STEP};
use super::{Guesses, has};
use crate::document::edits::{json, removal};
use crate::document::{Item, ItemEntry, ItemKind};

impl Guesses<'_> {
    /// Reads the names of outputs in `items` as their ids: beside a number in place of an id, and of a loop whose other steps have only
    /// such names.
    pub(super) fn outputs_as_ids(&mut self, items: &mut [Item]) {
        if items.iter().any(|item| item.has("id")) {
            return;
        }
        let counts = |item: &Item| entries_of(item).iter().filter(|one| is_count(one)).count() == 1;
        let waits = |item: &Item| entries_of(item).iter().any(|one| is_word_for("after", one));
        let is_numbered = items
            .iter()
            .all(|item| counts(item) && name_of(item).is_some())
            && !items.iter().any(waits);
        // A name that is never read may be a label only.
        let reads = |name: &str| items.iter().any(|item| mentions(item, name, false));
        if is_numbered && items.iter().filter_map(name_of).any(reads) {
            for item in items {
                let ItemKind::Object(entries) = &mut item.kind else {
                    continue;
                };
                if let Some(at) = entries.iter().position(is_count) {
                    let entry = entries.remove(at);
                    let edits = removal(self.source, &entry).into_iter().collect();
                    self.unknown_with(
                        &entry,
                        "leave it out: the name of the output is the `id`",
                        edits,
                    );
                }
                if let Some(entry) = entries.iter_mut().find(|one| is_output_name(one)) {
                    self.rename_entry(entry, "the step", "id");
                }
            }
            return;
        }
        let names_output = |item: &Item| item.get("as").and_then(Item::as_text).is_some();
        if items.len() < 2 || !items.iter().all(names_output) {
            return;
        }
        for item in items {
            let is_item = item
                .get("as")
                .and_then(Item::as_text)
                .is_some_and(|name| mentions(item, name, true));
            let is_loop = entries_of(item)
                .iter()
                .any(|one| is_word_for("for_each", one));
            if let ItemKind::Object(entries) = &mut item.kind
                && is_loop
                && !is_item
                && !has(entries, "item")
                && let Some(entry) = entries.iter_mut().find(|entry| &*entry.key == "as")
            {
                self.rename_entry(entry, "the step", "id");
            }
        }
    }

    /// Replaces positions in the `after` of `items` by the ids of those steps, if they can only count from 0 or only from 1.
    pub(super) fn positions(&mut self, items: &mut [Item]) {
        let ids: Vec<Option<String>> = items
            .iter()
            .map(|item| item.get("id")?.as_text().map(ToString::to_string))
            .collect();
        // HuggingGPT waits for `-1` if there is nothing to wait for.
        let is_none = |item: &Item| matches!(&item.kind, ItemKind::Number(number) if number.as_i64() == Some(-1));
        for list in items.iter_mut().filter_map(after_of) {
            let is_only = list.len() == 1;
            if let Some(place) = list
                .iter()
                .find(|item| is_none(item))
                .map(|item| item.place)
            {
                let edit = self.source.span(place).filter(|_| is_only);
                let edit = edit.map(|span| TextEdit::new(span, ""));
                let note = Diagnostic::note(Code::ReadAs, "`-1` in `after` is read as no step");
                self.sink.push(place, note.fixes(edit));
            }
            list.retain(|item| !is_none(item));
        }
        let known: HashSet<&str> = ids.iter().flatten().map(String::as_str).collect();
        if let Some(base) = base(items, &known) {
            self.replace_positions(items, (&ids, &known), base);
        }
        // Ids that are numbers are texts, too.
        for item in items.iter_mut().filter_map(after_of).flatten() {
            if let ItemKind::Number(number) = &item.kind {
                item.kind = ItemKind::Text(number.to_string().into());
            }
        }
    }

    fn replace_positions(
        &mut self,
        items: &mut [Item],
        (ids, known): (&[Option<String>], &HashSet<&str>),
        base: usize,
    ) {
        for item in items {
            let Some(list) = after_of(item) else {
                continue;
            };
            for waits_for in list {
                let Some(position) = position(waits_for, known) else {
                    continue;
                };
                let index = position.checked_sub(base);
                let Some(Some(id)) = index.and_then(|index| ids.get(index)) else {
                    continue;
                };
                let message =
                    format!("`after` has ids of steps, not positions such as `{position}`");
                let diagnostic = Diagnostic::error(Code::InvalidFieldValue, message);
                let edit = self.source.span(waits_for.place);
                let edit = edit.map(|span| TextEdit::new(span, json(id)));
                let help = format!("write `{}`", json(id));
                self.sink
                    .push(waits_for.place, diagnostic.help(help).fixes(edit));
                waits_for.kind = ItemKind::Text(id.as_str().into());
            }
        }
    }
}

fn entries_of(item: &Item) -> &[ItemEntry] {
    item.as_object().unwrap_or_default()
}

/// Returns true if the key of `entry` is `field`, or another word for it.
fn is_word_for(field: &str, entry: &ItemEntry) -> bool {
    let mut groups = STEP.iter().filter(|group| group.field == field);
    *entry.key == *field || groups.any(|group| group.words.contains(&&*entry.key))
}

/// Returns true for a number where the id of a step belongs.
fn is_count(entry: &ItemEntry) -> bool {
    is_word_for("id", entry) && matches!(entry.item.kind, ItemKind::Number(_))
}

/// Returns true for the name of the output of a step.
fn is_output_name(entry: &ItemEntry) -> bool {
    let is_bare = |text: &str| bare_name(text).is_some_and(|name| name == text);
    OUTPUT_NAMES.contains(&entry.key) && entry.item.as_text().is_some_and(|text| is_bare(text))
}

/// The name of the output of the step `item`, if it has one.
fn name_of(item: &Item) -> Option<&str> {
    let mut named = entries_of(item)
        .iter()
        .filter(|entry| is_output_name(entry));
    let only = named.next().filter(|_| named.next().is_none())?;
    only.item.as_text().map(|text| &**text)
}

/// Returns true if a text in `item` has `name` as a word; a whole text counts only if it `may_be_whole`.
fn mentions(item: &Item, name: &str, may_be_whole: bool) -> bool {
    let is_part = |sign: char| sign.is_alphanumeric() || sign == '_';
    let has_word = |text: &str| {
        text.match_indices(name).any(|(at, _)| {
            !text[..at].ends_with(is_part) && !text[at + name.len()..].starts_with(is_part)
        })
    };
    match &item.kind {
        ItemKind::Text(text) => has_word(text) && (may_be_whole || **text != *name),
        ItemKind::List(items) => items.iter().any(|item| mentions(item, name, may_be_whole)),
        ItemKind::Object(entries) => entries
            .iter()
            .filter(|entry| &*entry.key != "as")
            .any(|entry| mentions(&entry.item, name, may_be_whole)),
        ItemKind::Null | ItemKind::Bool(_) | ItemKind::Number(_) => false,
    }
}

/// The position of the first step, 0 or 1; `None` if there are no positions, or if both are possible.
fn base(items: &mut [Item], ids: &HashSet<&str>) -> Option<usize> {
    let count = items.len();
    let (mut from_zero, mut from_one) = (true, true);
    let mut is_found = false;
    for (index, item) in items.iter_mut().enumerate() {
        for waits_for in after_of(item).into_iter().flatten() {
            if let Some(position) = position(waits_for, ids) {
                is_found = true;
                // A step can wait only for another, existing step.
                from_zero &= position < count && position != index;
                from_one &= (1..=count).contains(&position) && position != index + 1;
            }
        }
    }
    match (is_found, from_zero, from_one) {
        (true, true, false) => Some(0),
        (true, false, true) => Some(1),
        _ => None,
    }
}

fn after_of(item: &mut Item) -> Option<&mut Vec<Item>> {
    let ItemKind::Object(entries) = &mut item.kind else {
        return None;
    };
    let entry = entries.iter_mut().find(|entry| &*entry.key == "after")?;
    match &mut entry.item.kind {
        ItemKind::List(list) => Some(list),
        ItemKind::Null
        | ItemKind::Bool(_)
        | ItemKind::Number(_)
        | ItemKind::Text(_)
        | ItemKind::Object(_) => None,
    }
}

/// The number that `item` is, if no step has it as its id.
fn position(item: &Item, ids: &HashSet<&str>) -> Option<usize> {
    let ItemKind::Number(number) = &item.kind else {
        return None;
    };
    let written = number.to_string();
    let is_id = ids.contains(&*written);
    written.parse().ok().filter(|_| !is_id)
}
