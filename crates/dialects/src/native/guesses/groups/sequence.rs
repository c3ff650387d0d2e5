//! Steps in the form of systems that run them from top to bottom: numbered ones, tasks with `register`, and those with `uses`.

use planwright_core::{Code, Diagnostic, TextEdit};

use crate::document::edits::json;
use crate::document::{Item, ItemEntry, ItemKind};
use crate::foreign_text::only_reads;
use crate::native::guesses::words::STEP;
use crate::native::guesses::{Guesses, get, has};

/// The largest plan whose order is compared, in steps.
const MAX_STEPS: usize = 100;

/// The maximum depth of texts that are searched for references.
const MAX_DEPTH: usize = 32;

/// The form of `items` that says that each runs after the one before, if they have one.
pub(in crate::native::guesses) fn sequence(items: &[Item]) -> Option<&'static str> {
    if items.len() < 2 || MAX_STEPS < items.len() {
        return None;
    }
    let words = STEP.iter().filter(|group| group.field == "after");
    let words: Vec<&str> = words
        .flat_map(|group| group.words.iter().chain([&group.field]))
        .copied()
        .collect();
    let waits = |item: &Item| words.iter().any(|word| item.has(word));
    let is_numbered = |(at, item): (usize, &Item)| {
        let number = ["step", "step_number", "stepNumber", "order"]
            .iter()
            .find_map(|word| item.get(word));
        let number = number.map(|number| number.to_value().to_inserted_text());
        number.is_some_and(|number| number == (at + 1).to_string())
    };
    if items.iter().any(|item| item.has("register")) {
        Some("tasks with `register` run")
    } else if items.iter().any(|item| item.has("uses")) {
        Some("steps with `uses` run")
    } else if items.iter().enumerate().all(is_numbered) && !items.iter().any(waits) {
        Some("numbered steps run")
    } else {
        None
    }
}

impl Guesses<'_> {
    /// Warns of each step with effects in `items` that does not wait for the one with effects before it, although steps of the form
    /// `sequence` run one after the other.
    pub(in crate::native::guesses) fn warn_of_sequence(&mut self, items: &[Item], sequence: &str) {
        let ids: Vec<Option<&str>> = items
            .iter()
            .map(|item| item.get("id")?.as_text().map(|id| &**id))
            .collect();
        // For each step those that it waits for.
        let mut before: Vec<Vec<usize>> = Vec::new();
        let mut effect: Option<usize> = None;
        for (at, item) in items.iter().enumerate() {
            let mut waits: Vec<usize> = (0..at)
                .filter(|on| {
                    let id = ids.get(*on).copied().flatten();
                    id.is_some_and(|id| names_step(item, id, 0))
                })
                .collect();
            add_inherited(&mut waits, &before);
            let fields = item.as_object().unwrap_or_default();
            let tool = get(fields, "tool").and_then(Item::as_text);
            if tool.is_none_or(|tool| only_reads(tool)) {
                before.push(waits);
                continue;
            }
            if let Some(on) = effect
                && !waits.contains(&on)
                && let (Some(Some(other)), Some(Some(id))) = (ids.get(on), ids.get(at))
                && !(has(fields, "when") && items.get(on).is_some_and(|item| item.has("when")))
            {
                self.warn_of_order(item, (id, other), sequence);
                waits.push(on);
                add_inherited(&mut waits, &before);
            }
            before.push(waits);
            effect = Some(at);
        }
    }

    fn warn_of_order(&mut self, item: &Item, (id, other): (&str, &str), sequence: &str) {
        let message = format!(
            "`{id}` does not wait for `{other}`: {sequence} one after the other, and steps of a plan at once"
        );
        let diagnostic = Diagnostic::warning(Code::UnorderedCalls, message);
        let fields = item.as_object().unwrap_or_default();
        let name = json(other);
        if has(fields, "after") {
            let help = format!("add `{name}` to the `after` of `{id}`");
            self.sink.push(item.place, diagnostic.help(help));
            return;
        }
        let field = format!("\"after\": [{name}]");
        let edit = self.field_behind_tool(fields, &field);
        let help = format!("write `{field}` in `{id}`");
        self.sink
            .push(item.place, diagnostic.help(help).fixes(edit));
    }

    /// The edit that puts `field` behind the tool of a step in JSON.
    fn field_behind_tool(&self, fields: &[ItemEntry], field: &str) -> Option<TextEdit> {
        let tool = fields.iter().find(|entry| &*entry.key == "tool")?;
        let text = self.source.text();
        let key = text.get(tool.key_span.start..tool.key_span.end)?;
        let end = self.source.span(tool.item.place)?.end;
        let is_json = key.starts_with('"') && text.get(..end)?.ends_with('"');
        is_json.then(|| TextEdit::new(end..end, format!(", {field}")))
    }
}

/// Adds the steps that those in `waits` wait for.
fn add_inherited(waits: &mut Vec<usize>, before: &[Vec<usize>]) {
    let inherited: Vec<usize> = waits
        .iter()
        .flat_map(|on| before.get(*on).into_iter().flatten().copied())
        .collect();
    waits.extend(inherited);
    waits.sort_unstable();
    waits.dedup();
}

/// Returns true if a text in `item` is `id`, or has it as a name in a reference.
fn names_step(item: &Item, id: &str, depth: usize) -> bool {
    let is_of_name = |sign: char| sign.is_alphanumeric() || sign == '_' || sign == '-';
    match &item.kind {
        ItemKind::Text(text) => {
            let may_refer = text.contains(['$', '{', '<', '@', '#']);
            **text == *id
                || may_refer
                    && text.match_indices(id).any(|(at, _)| {
                        !text[..at].ends_with(is_of_name)
                            && !text[at + id.len()..].starts_with(is_of_name)
                    })
        }
        ItemKind::List(items) => {
            depth < MAX_DEPTH && items.iter().any(|item| names_step(item, id, depth + 1))
        }
        ItemKind::Object(entries) => {
            let mut others = entries
                .iter()
                .filter(|entry| depth > 0 || !matches!(&*entry.key, "id" | "tool" | "title"));
            depth < MAX_DEPTH && others.any(|entry| names_step(&entry.item, id, depth + 1))
        }
        ItemKind::Number(number) => depth > 1 && number.to_string() == id,
        ItemKind::Null | ItemKind::Bool(_) => false,
    }
}
