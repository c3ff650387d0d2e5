//! The alternative of a step with a condition: `else` beside `when`.

use std::sync::Arc;

use planwright_core::TextEdit;

use super::{MAX_SHOWN_STEPS, add_condition, condition_of, meaning_of, steps_in};
use crate::document::edits::removal;
use crate::document::{Item, ItemEntry, ItemKind, quote};
use crate::native::guesses::texts::{UsedIds, without_output_fields};
use crate::native::guesses::units::on_error_word;
use crate::native::guesses::words::{ARGS, TOOL, is_among};
use crate::native::guesses::{Guesses, field, get, has};

/// Words for what is done if the condition of a call does not hold.
const WORDS: &str = "else otherwise iffalse onfalse falsesteps elsesteps elseargs";

/// Words for an alternative that does nothing.
const NOTHING: &str = "none null nothing noop end next";

/// Returns true if `item` is a call with an alternative.
pub(in crate::native::guesses) fn has_alternative(item: &Item) -> bool {
    item.as_object().is_some_and(|entries| {
        is_call(entries) && entries.iter().any(|entry| is_among(WORDS, &entry.key))
    })
}

fn is_call(entries: &[ItemEntry]) -> bool {
    TOOL.iter()
        .chain(&["tool", "plan", "value"])
        .any(|word| has(entries, word))
}

impl Guesses<'_> {
    /// Writes the alternatives of calls as steps of their own, and reports each.
    pub(in crate::native::guesses) fn alternatives(&mut self, items: &mut Vec<Item>) {
        let mut used: UsedIds = self.ids.iter().map(ToString::to_string).collect();
        let mut conditions = Vec::new();
        for mut item in std::mem::take(items) {
            let added = self.alternative(&mut item, &mut used, &mut conditions);
            items.push(item);
            items.extend(added.unwrap_or_default());
        }
        for (id, condition) in conditions {
            let is_named = |item: &&mut Item| item.get("id").and_then(Item::as_text) == Some(&id);
            for item in items.iter_mut().filter(is_named) {
                // A condition that is unreadable is reported for that.
                let _ = add_condition(item, &condition);
            }
        }
    }

    /// The steps of the alternative of `item`; `None` if it has no counterpart. An alternative that is the id of another step is
    /// added to `conditions`.
    fn alternative(
        &mut self,
        item: &mut Item,
        used: &mut UsedIds,
        conditions: &mut Vec<(Arc<str>, String)>,
    ) -> Option<Vec<Item>> {
        let span = self.source.span(item.place);
        let ItemKind::Object(entries) = &mut item.kind else {
            return None;
        };
        is_call(entries).then_some(())?;
        let at = entries
            .iter()
            .position(|entry| is_among(WORDS, &entry.key))?;
        let condition = entries
            .iter()
            .find(|entry| meaning_of(entry) == Some("when"));
        let condition = without_output_fields(&condition_of(condition?)?, &self.ids);
        let negated = format!("!({condition})");
        let entry = entries.get(at)?.clone();
        if let Some(word) = entry.item.as_text()
            && !self.ids.contains(word)
            && (on_error_word(word) == Some("continue") || is_among(NOTHING, word))
        {
            let help =
                "leave it out: a step whose condition is false is skipped, and the report says so";
            let edits = removal(self.source, &entry).into_iter().collect();
            self.unknown_with(&entry, help, edits);
            entries.remove(at);
            return None;
        }
        if let Some(id) = entry.item.as_text() {
            let id = self.ids.get(id)?.clone();
            let help = format!(
                "write `\"when\": \"${{{negated}}}\"` in the step {}",
                quote(&id)
            );
            self.unknown(&entry, &help);
            conditions.push((id, negated));
            entries.remove(at);
            return None;
        }
        let id = get(entries, "id").and_then(Item::as_text).cloned();
        let mut steps = Vec::new();
        for mut step in steps_in(&entry.item) {
            let place = step.place;
            let ItemKind::Object(fields) = &mut step.kind else {
                return None;
            };
            if !is_call(fields) {
                // Only the arguments differ.
                let call = entries.iter().filter(|entry| {
                    TOOL.contains(&&*entry.key) || matches!(&*entry.key, "tool" | "server")
                });
                let arguments = fields.iter().position(|entry| ARGS.contains(&&*entry.key));
                let arguments = match arguments {
                    Some(at) => fields.remove(at).item.kind,
                    None => ItemKind::Object(std::mem::take(fields)),
                };
                fields.is_empty().then_some(())?;
                fields.extend(call.cloned());
                fields.push(field("args", arguments, place));
            }
            if !has(fields, "id") {
                let id = id
                    .as_ref()
                    .map_or("else".to_owned(), |id| format!("{id}_else"));
                let id = used.add_for(&id);
                fields.insert(0, field("id", ItemKind::Text(id.into()), place));
            }
            add_condition(&mut step, &negated)?;
            steps.push(step);
        }
        let written = steps.iter().map(|step| step.to_value().to_json());
        let written = written.collect::<Vec<_>>().join(", ");
        let is_shown = written.len() <= MAX_SHOWN_STEPS && !written.contains('`');
        (is_shown && !steps.is_empty()).then_some(())?;
        let last = steps.last().and_then(|step| step.get("id")?.as_text());
        let names = id.zip(last.cloned()).map_or_else(String::new, |(id, last)| {
            format!("; in place of {}, an `after` or an `output` has `\"{id}\", \"{last}\"`, a reference `${{{id} ?? {last}}}`", quote(&id))
        });
        let help = format!("write a step of its own, `{written}`{names}");
        let edits = removal(self.source, &entry)
            .zip(span)
            .map(|(removal, span)| {
                [
                    removal,
                    TextEdit::new(span.end..span.end, format!(", {written}")),
                ]
            });
        let edits = edits
            .into_iter()
            .flatten()
            .chain(self.output_edit(&steps, entries));
        let edits: Vec<TextEdit> = edits.collect();
        self.unknown_with(&entry, &help, edits);
        entries.remove(at);
        Some(steps)
    }

    /// The edit that adds the last of `steps` behind the step with the fields `entries` to the outputs that the plan selects.
    fn output_edit(&self, steps: &[Item], entries: &[ItemEntry]) -> Option<TextEdit> {
        let id = get(entries, "id")?.as_text()?;
        let end = self.source.span(*self.selected.get(id)?)?.end;
        let last = steps.last()?.get("id")?.to_value().to_json();
        Some(TextEdit::new(end..end, format!(", {last}")))
    }
}
