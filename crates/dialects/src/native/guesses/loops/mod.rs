//! Guesses of loops: their lists, the names of their items, and conditions on these.

mod lists;
mod parts;

pub(super) use self::parts::{MAX_DEPTH, has_loop};

use planwright_core::{Code, Diagnostic, TextEdit};

use super::step::may_have_loose_arguments;
use super::texts::{bare_name, expression_of};
use super::words::{FOR_EACH, ITEM_NAMES, LOOSE, STEP};
use super::{Guesses, field, get, get_mut, has};
use crate::document::edits::{field_edits, json, removal};
use crate::document::{Item, ItemEntry, ItemKind, quote};

impl Guesses<'_> {
    /// Reads a condition on the items of a loop, which belongs to its list.
    pub(super) fn filter(&mut self, entries: &mut Vec<ItemEntry>) {
        let words = ["filter", "where", "select"];
        let Some(at) = entries
            .iter()
            .position(|entry| words.contains(&&*entry.key))
        else {
            return;
        };
        let inside = |item: &Item| {
            let text = item.as_text()?;
            let inside = text
                .strip_prefix("${")
                .and_then(|text| text.strip_suffix('}'));
            expression_of(inside.unwrap_or(text))
        };
        let item = get(entries, "as").and_then(Item::as_text).cloned();
        let item = item.unwrap_or_else(|| "item".into());
        let list = get(entries, "for_each").and_then(inside);
        let condition = entries.get(at).and_then(|entry| inside(&entry.item));
        let (Some(list), Some(condition)) = (list, condition) else {
            return;
        };
        let entry = entries.remove(at);
        let list = format!("${{({list}).filter({item}, {condition})}}");
        let over = entries.iter().find(|entry| &*entry.key == "for_each");
        let over = over.map(|over| field_edits(self.source, over, "for_each", Some(json(&list))));
        let edits = match (over, removal(self.source, &entry)) {
            (Some(mut edits), Some(removed)) if !edits.is_empty() => {
                edits.push(removed);
                edits
            }
            _ => Vec::new(),
        };
        self.unknown_with(&entry, &format!("write `\"for_each\": \"{list}\"`"), edits);
        if let Some(over) = get_mut(entries, "for_each") {
            over.kind = ItemKind::Text(list.into());
        }
    }

    /// Reads a matrix of GitHub's workflows, also in a `strategy`: a loop over all combinations of its values.
    pub(super) fn matrix(&mut self, entries: &mut Vec<ItemEntry>) {
        if has(entries, "for_each") {
            return;
        }
        let values = |entry: &ItemEntry| match &*entry.key {
            "matrix" => combinations(&entry.item),
            "strategy" => entry.item.get("matrix").and_then(combinations),
            _ => None,
        };
        let mut found = entries.iter().enumerate();
        let Some((at, items)) = found.find_map(|(at, entry)| Some((at, values(entry)?))) else {
            return;
        };
        let entry = entries.remove(at);
        let place = entry.item.place;
        let list = Item {
            kind: ItemKind::List(items),
            place,
        };
        let written = list.to_value().to_json();
        let written = format!("{written}, \"as\": \"matrix\"");
        let edits = field_edits(self.source, &entry, "for_each", Some(written.clone()));
        self.unknown_with(&entry, &format!("write `\"for_each\": {written}`"), edits);
        entries.push(field("for_each", list.kind, place));
        if !has(entries, "as") {
            entries.push(field("as", ItemKind::Text("matrix".into()), place));
        }
    }

    /// Reads `"for": "x in list"`.
    pub(super) fn loop_head(&mut self, entries: &mut Vec<ItemEntry>) {
        let words = STEP.iter().find(|group| group.field == "for_each");
        let words = words.map_or(&[][..], |group| group.words);
        let is_loose = may_have_loose_arguments(entries);
        let is_loop = |entry: &&mut ItemEntry| {
            let may_be_argument = is_loose && LOOSE.contains(&entry.key);
            &*entry.key == "for_each" || (words.contains(&&*entry.key) && !may_be_argument)
        };
        let Some(entry) = entries.iter_mut().find(is_loop) else {
            return;
        };
        let text = entry.item.as_text().map_or("", |text| &**text);
        let text = text.trim_matches(|c: char| "${} ".contains(c));
        let Some((name, list)) = text.split_once(" in ") else {
            return;
        };
        // `x in list ? a : b` is an ordinary expression.
        if list.contains(['?', '&', '|']) {
            return;
        }
        let (Some(name), Some(list)) = (bare_name(name), expression_of(list)) else {
            return;
        };
        let written = format!("\"${{{list}}}\", \"as\": \"{name}\"");
        let edits = field_edits(self.source, entry, "for_each", Some(written.clone()));
        self.unknown_with(entry, &format!("write `\"for_each\": {written}`"), edits);
        entry.key = "for_each".into();
        entry.item.kind = ItemKind::Text(format!("${{{list}}}").into());
        let place = entry.item.place;
        entries.push(field("as", ItemKind::Text(name.into()), place));
    }

    /// Reads a name for the item of a loop under another name than `as`, or at another place.
    pub(super) fn loop_item(&mut self, entries: &mut Vec<ItemEntry>) {
        let loops = entries.iter().find(|entry| &*entry.key == "for_each");
        let key = loops.map(|entry| entry.key_span).unwrap_or_default();
        let Some(over) = get_mut(entries, "for_each") else {
            return;
        };
        let is_name =
            |entry: &ItemEntry| ITEM_NAMES.contains(&&*entry.key) && entry.item.as_text().is_some();
        let mut found = None;
        if let ItemKind::Object(inner) = &mut over.kind {
            let is_known = |key: &str| matches!(key, "items" | "max_parallel");
            self.rename(inner, "`for_each`", FOR_EACH, is_known);
            found = inner.iter().position(is_name).map(|at| inner.remove(at));
        }
        let is_inside = found.is_some();
        // `"loop_control": {"loop_var": "x"}` of Ansible
        if found.is_none()
            && let Some(at) = entries
                .iter()
                .position(|entry| &*entry.key == "loop_control")
            && let Some(inner) = entries.get(at).and_then(|entry| entry.item.as_object())
            && let Some(named) = inner.iter().find(|entry| is_name(entry)).cloned()
        {
            entries.remove(at);
            found = Some(named);
        }
        if found.is_none() {
            let is_synonym = |entry: &ItemEntry| &*entry.key != "as" && is_name(entry);
            let at = entries.iter().position(is_synonym);
            found = at.map(|at| entries.remove(at));
        }
        let Some(mut entry) = found else {
            return;
        };
        let name = entry.item.as_text().and_then(|text| bare_name(text));
        let name = name.unwrap_or_default();
        let written = format!("\"as\": {}", json(&name));
        let (message, help) = if is_inside && &*entry.key == "as" {
            let message = "`as` stands beside `for_each`, and not in it".to_owned();
            (
                message,
                format!("move it out of `for_each`: write `{written}` beside it"),
            )
        } else {
            let key = quote(&entry.key);
            let message =
                format!("the name of a loop's item is `as`, beside `for_each`, found {key}");
            (message, format!("write `{written}` beside `for_each`"))
        };
        let is_free = !name.is_empty() && !has(entries, "as");
        let is_written = is_inside && is_free && key.start < key.end;
        let mut edits: Vec<TextEdit> = removal(self.source, &entry)
            .filter(|_| is_written)
            .into_iter()
            .collect();
        if !edits.is_empty() {
            let written = format!("{written}, ");
            edits.push(TextEdit::new(key.start..key.start, written));
        }
        let diagnostic = Diagnostic::error(Code::UnknownField, message).help(help);
        self.sink.push_at_key(&entry, diagnostic.fixes(edits));
        if !name.is_empty() && !has(entries, "as") {
            entry.key = "as".into();
            entry.item.kind = ItemKind::Text(name.into());
            entries.push(entry);
        }
    }
}

/// The maximum number of combinations of the values in a matrix.
const MAX_COMBINATIONS: usize = 64;

/// The objects with one of the values of each field of `matrix`; `None` if it has others than lists of values.
fn combinations(matrix: &Item) -> Option<Vec<Item>> {
    let mut found: Vec<Vec<ItemEntry>> = vec![Vec::new()];
    for axis in matrix.as_object().filter(|axes| !axes.is_empty())? {
        let values = axis.item.as_list()?;
        let combined = found.iter().flat_map(|fields| {
            values.iter().map(|value| {
                let mut fields = fields.clone();
                fields.push(field(&axis.key, value.kind.clone(), value.place));
                fields
            })
        });
        found = combined.take(MAX_COMBINATIONS + 1).collect();
    }
    let items = found.into_iter().map(|fields| Item {
        kind: ItemKind::Object(fields),
        place: matrix.place,
    });
    let items: Vec<Item> = items.collect();
    (!items.is_empty() && items.len() <= MAX_COMBINATIONS).then_some(items)
}
