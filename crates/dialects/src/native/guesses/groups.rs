//! Steps that hold other steps: groups, branches and bodies of loops.

use std::sync::Arc;

use planwright_core::{Code, Diagnostic};

use super::texts::expression_of;
use super::words::{GROUPS, STEP, are_steps};
use super::{Guesses, get, has};
use crate::document::{Item, ItemEntry, ItemKind, quote};

impl Guesses<'_> {
    /// Replaces groups of steps by the steps in them.
    pub(super) fn flatten(&mut self, items: &mut Vec<Item>) {
        for item in std::mem::take(items) {
            let Some(word) = group_of(&item) else {
                items.push(item);
                continue;
            };
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
            let loop_over = entries.iter().find(|entry| is_loop(entry));
            let help = match (&*group.key, loop_over) {
                ("then", _) => {
                    let condition = ["if", "condition", "when"];
                    let mut conditions = condition.iter().filter_map(|word| get(&entries, word));
                    let text = conditions.find_map(Item::as_text);
                    let text = text.and_then(|text| expression_of(text));
                    let text = text.unwrap_or_else(|| "…".to_owned());
                    format!("put these steps into `steps`, each with `\"when\": \"${{{text}}}\"`, those of `else` with `\"when\": \"${{!({text})}}\"`")
                }
                (_, Some(_)) => "put these steps into `steps`, each with its own `for_each`".to_owned(),
                _ => "put these steps into `steps`: those that do not refer to each other run in parallel, and `after` puts one behind others".to_owned(),
            };
            let message = format!("a step cannot hold the steps in {}", quote(&group.key));
            let diagnostic = Diagnostic::error(Code::UnknownField, message);
            self.sink.push_at_key(&group, diagnostic.help(help));
            let other = entries.iter().position(|entry| &*entry.key == "else");
            let other = other.map(|at| entries.remove(at));
            let loop_over = entries.into_iter().find(is_loop);
            for list in [Some(group), other].into_iter().flatten() {
                let inner = match list.item.kind {
                    ItemKind::List(inner) => inner,
                    ItemKind::Object(_) => vec![list.item],
                    _ => Vec::new(),
                };
                for mut step in inner {
                    if let (ItemKind::Object(fields), Some(entry)) = (&mut step.kind, &loop_over)
                        && !has(fields, "for_each")
                    {
                        fields.push(entry.clone());
                    }
                    items.push(step);
                }
            }
        }
    }
}

/// The word under which `item` holds other steps and no call of its own.
pub(super) fn group_of(item: &Item) -> Option<Arc<str>> {
    let entries = item.as_object()?;
    let is_call = ["tool", "plan", "value", "extract"];
    if is_call.iter().any(|word| has(entries, word)) {
        return None;
    }
    let is_group = |entry: &&ItemEntry| {
        let is_list = entry.item.as_list().is_some() && are_steps(&entry.item);
        GROUPS.contains(&&*entry.key) && is_list
    };
    let group = entries.iter().find(is_group)?;
    Some(Arc::clone(&group.key))
}
