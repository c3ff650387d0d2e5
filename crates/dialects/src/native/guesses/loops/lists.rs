//! Lists of loops that are numbers or texts: `3`, `1..3`, `range(3)`, `UTC,Asia/Tokyo`, `['a', 'b']`.

use planwright_core::expression::PatternBudget;
use planwright_core::{Code, Diagnostic};

use crate::document::{Item, ItemEntry, ItemKind, article, quote};
use crate::native::foreign_expression::{exact_form, numbers};
use crate::native::guesses::texts::bare_name;
use crate::native::guesses::{Guesses, field, get_mut};
use crate::native::reference::is_readable;

/// The maximum number of items of a list in advice.
const MAX_ITEMS: usize = 30;

impl Guesses<'_> {
    /// Reads a list of a loop that is written as a number or as a text.
    pub(in crate::native::guesses) fn loop_list(&mut self, entries: &mut Vec<ItemEntry>) {
        let Some(over) = get_mut(entries, "for_each") else {
            return;
        };
        let is_inner = over.as_object().is_some();
        let list = if is_inner {
            match &mut over.kind {
                ItemKind::Object(inner) => get_mut(inner, "items"),
                _ => None,
            }
        } else {
            Some(over)
        };
        let Some(list) = list else {
            return;
        };
        let Some((written, meaning, name)) = meant(list) else {
            return;
        };
        let found = match &list.kind {
            ItemKind::Text(text) => format!("the text {}", quote(text)),
            _ => article(list.kind_word()),
        };
        let message = format!("expected a list or one `${{…}}` in `for_each`, found {found}");
        let target = if is_inner { "items" } else { "for_each" };
        let named = name.as_ref().map(|name| format!(", \"as\": \"{name}\""));
        let help = format!(
            "write `\"{target}\": {written}{}`",
            named.unwrap_or_default()
        );
        let diagnostic = Diagnostic::error(Code::WrongFieldType, message);
        self.sink.push(list.place, diagnostic.help(help));
        let place = list.place;
        list.kind = meaning;
        if let Some(name) = name
            && !entries.iter().any(|entry| &*entry.key == "as")
        {
            entries.push(field("as", ItemKind::Text(name.into()), place));
        }
    }
}

/// The list that `item` is meant as: as JSON, as a value, and the name of its item if that is in the text.
fn meant(item: &Item) -> Option<(String, ItemKind, Option<String>)> {
    let expression = |inside: String| {
        let text = format!("${{{inside}}}");
        let written = crate::document::edits::json(&text);
        (written, ItemKind::Text(text.into()))
    };
    let text = match &item.kind {
        ItemKind::Number(number) => {
            let (written, kind) = expression(numbers("0", &number.to_string())?);
            return Some((written, kind, None));
        }
        ItemKind::Text(text) => text.trim(),
        _ => return None,
    };
    // `zone in ${inputs.zones}`
    if let Some((name, list)) = text.split_once(" in ")
        && let Some(inside) = list
            .trim()
            .strip_prefix("${")
            .and_then(|list| list.strip_suffix('}'))
        && !inside.contains("${")
        && let Some(name) = bare_name(name.trim_start_matches("for "))
    {
        let (written, kind) = expression(inside.trim().to_owned());
        return Some((written, kind, Some(name)));
    }
    if text.contains("${") {
        return None;
    }
    let range = text.split_once("...").or_else(|| text.split_once(".."));
    if let Some((from, to)) = range {
        // The end belongs to such a range in most languages.
        let to = to.trim().trim_start_matches('=').parse::<i64>().ok()?;
        let after = to.checked_add(1)?;
        let (written, kind) = expression(numbers(from.trim(), &after.to_string())?);
        return Some((written, kind, None));
    }
    let patterns = &mut PatternBudget::default();
    let own = (text.starts_with('[') && is_readable(text, patterns)).then(|| text.to_owned());
    let form = own.or_else(|| exact_form(text, patterns));
    if let Some(form) = form.filter(|form| form.contains(['[', '('])) {
        let (written, kind) = expression(form);
        return Some((written, kind, None));
    }
    let items: Vec<&str> = text.split([',', ';', '\n']).map(str::trim).collect();
    let are_items = (2..=MAX_ITEMS).contains(&items.len())
        && items.iter().all(|item| !item.is_empty())
        && !text.contains(['(', '[', '{', '`', '"', '\'']);
    are_items.then(|| {
        let texts: Vec<String> = items
            .iter()
            .map(|item| crate::document::edits::json(item))
            .collect();
        let list = items.iter().map(|text| Item {
            kind: ItemKind::Text((*text).into()),
            place: item.place,
        });
        (
            format!("[{}]", texts.join(", ")),
            ItemKind::List(list.collect()),
            None,
        )
    })
}
