//! Guesses of arguments: beside the tool, in a text, or in a list.

use planwright_core::{Code, Diagnostic, Place, SourceText, Span, TextEdit};

use super::words::{GROUPS, ITEM_NAMES, OUTPUT_NAMES, STEP, is_step_field};
use super::{Guesses, field, has, is_for_people};
use crate::document::edits::field_edits;
use crate::document::{Item, ItemEntry, ItemKind, nearest, quote, read_inside};

impl Guesses<'_> {
    /// Reads arguments that stand beside the tool and not in `args`.
    pub(super) fn loose_arguments(&mut self, entries: &mut Vec<ItemEntry>, place: Place) {
        let has_arguments = ["args", "positional", "extract", "plan", "value"];
        if !has(entries, "tool") || has_arguments.iter().any(|word| has(entries, word)) {
            return;
        }
        let is_loose = |entry: &ItemEntry| {
            let key = &*entry.key;
            let is_word = STEP.iter().any(|group| group.words.contains(&key))
                || ITEM_NAMES.contains(&key)
                || OUTPUT_NAMES.contains(key)
                || GROUPS.contains(&key);
            !is_step_field(key) && !is_word && nearest(key, KNOWN.iter().copied()).is_none()
        };
        let (loose, others) = std::mem::take(entries).into_iter().partition(is_loose);
        *entries = others;
        let loose: Vec<ItemEntry> = loose;
        let Some(first) = loose.first() else {
            return;
        };
        let written = Item {
            kind: ItemKind::Object(loose.clone()),
            place,
        };
        let json = written.to_value().to_json();
        let is_shown = json.len() <= MAX_SHOWN && !json.contains('`');
        let cut = quote(&json);
        let written = if is_shown {
            &*json
        } else {
            cut.trim_matches('`')
        };
        if loose
            .iter()
            .any(|entry| is_for_people(&entry.key, &entry.item))
        {
            let help = "an argument stands in `args`, and what is for people in `note`";
            self.unknown(first, help);
        } else {
            let help = format!("arguments stand in `args`: write `\"args\": {written}`");
            let edit = contiguous(self.source, &loose);
            let edit = edit.map(|span| TextEdit::new(span, format!("\"args\": {json}")));
            self.unknown_with(first, &help, edit.into_iter().collect());
        }
        entries.push(field("args", ItemKind::Object(loose), place));
    }

    /// Reads arguments that are JSON in a text, or a list.
    pub(super) fn arguments(&mut self, entries: &mut [ItemEntry]) {
        let has_positional = has(entries, "positional");
        let Some(entry) = entries.iter_mut().find(|entry| &*entry.key == "args") else {
            return;
        };
        match &entry.item.kind {
            ItemKind::Text(text) if text.trim_start().starts_with('{') => {
                let (read, _) = read_inside(self.source, &entry.item, &self.limits);
                if let Some(read) = read.filter(|read| read.as_object().is_some()) {
                    let message = "expected an object in `args`, found text";
                    let diagnostic = Diagnostic::error(Code::WrongFieldType, message);
                    let json = read.to_value().to_json();
                    let shown = quote(&json);
                    let shown = shown.trim_matches('`');
                    let help =
                        format!("write the object itself, without quotes around it: `{shown}`");
                    let edits = field_edits(self.source, entry, "args", Some(json));
                    let diagnostic = diagnostic.help(help).fixes(edits);
                    self.sink.push(entry.item.place, diagnostic);
                    entry.item.kind = read.kind;
                }
            }
            ItemKind::List(items) if items.is_empty() => {}
            ItemKind::List(items) if named_arguments(items).is_some() => {
                let place = entry.item.place;
                let named = named_arguments(items).unwrap_or_default();
                let written = Item {
                    kind: ItemKind::Object(named),
                    place,
                };
                let json = written.to_value().to_json();
                let message = "expected an object in `args`, found a list of names and values";
                let diagnostic = Diagnostic::error(Code::WrongFieldType, message);
                let help = format!("write `\"args\": {}`", quote(&json).trim_matches('`'));
                let edits = field_edits(self.source, entry, "args", Some(json));
                self.sink
                    .push_at_key(entry, diagnostic.help(help).fixes(edits));
                entry.item.kind = written.kind;
            }
            ItemKind::List(_) if !has_positional => {
                let message = "expected an object in `args`, found a list";
                let diagnostic = Diagnostic::error(Code::WrongFieldType, message);
                let help = "write the arguments by name, or `positional` in place of `args`";
                self.sink
                    .push_at_key(entry, diagnostic.help(help).rename("positional"));
                entry.key = "positional".into();
            }
            _ => {}
        }
    }
}

/// The fields of a step, for the search of typing errors.
const KNOWN: [&str; 16] = [
    "id",
    "title",
    "tool",
    "args",
    "positional",
    "after",
    "when",
    "for_each",
    "max_parallel",
    "repeat",
    "writes",
    "on_error",
    "retry",
    "timeout",
    "approval",
    "note",
];

/// The maximum length of arguments in advice, in bytes.
const MAX_SHOWN: usize = 1000;

/// The bytes of the fields `entries` of JSON, if no other field or comment is between them.
fn contiguous(source: &SourceText, entries: &[ItemEntry]) -> Option<Span> {
    let mut found: Option<Span> = None;
    for entry in entries {
        let (start, end) = (entry.key_span.start, source.span(entry.item.place)?.end);
        let written = source.text().get(start..end)?;
        written.starts_with('"').then_some(())?;
        if let Some(before) = found {
            let between = source.text().get(before.end..start)?;
            (between.trim() == ",").then_some(())?;
        }
        let first = found.map_or(start, |found| found.start);
        found = Some(Span::from(first..end));
    }
    found
}

/// The arguments in a list of `{"name": …, "value": …}`; `None` if it has other items.
fn named_arguments(items: &[Item]) -> Option<Vec<ItemEntry>> {
    let entries = items.iter().map(|item| {
        let [_, _] = item.as_object()? else {
            return None;
        };
        let mut names = ["name", "key", "parameter"].iter();
        let name = names.find_map(|word| item.get(word))?.as_text()?;
        let value = item.get("value")?;
        Some(field(name, value.kind.clone(), value.place))
    });
    entries.collect()
}
