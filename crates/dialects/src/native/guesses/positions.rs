//! Positions of steps in place of their ids: `"after": [0]`.

use std::collections::HashSet;

use planwright_core::{Code, Diagnostic, TextEdit};

use super::Guesses;
use crate::document::edits::json;
use crate::document::{Item, ItemKind};

impl Guesses<'_> {
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
