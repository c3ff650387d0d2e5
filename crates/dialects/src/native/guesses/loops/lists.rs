//! Loop lists written as a number or a text: `3`, `1..3`, `range(3)`, `UTC,Asia/Tokyo`, `['a', 'b']`.

use planwright_core::expression::PatternBudget;
use planwright_core::{Code, Diagnostic};

use crate::document::{Item, ItemEntry, ItemKind, quote, with_article};
use crate::native::foreign_expression::{exact_form, numbers};
use crate::native::guesses::texts::bare_name;
use crate::native::guesses::{Guesses, field, get_mut};
use crate::native::reference::is_readable;

/// The maximum number of list items that advice spells out.
const MAX_ITEMS: usize = 30;

impl Guesses<'_> {
    /// Replaces the list of a loop that is written as a number or a text, and reports it.
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
        let Some(loop_list) = parse_loop_list(list) else {
            return;
        };
        let found = match &list.kind {
            ItemKind::Text(text) => format!("the text {}", quote(text)),
            _ => with_article(list.kind_word()),
        };
        let message = format!("expected a list or one `${{…}}` in `for_each`, found {found}");
        let target = if is_inner { "items" } else { "for_each" };
        let ListGuess { json, kind, name } = loop_list;
        let named = name.as_ref().map(|name| format!(", \"as\": \"{name}\""));
        let help = format!("write `\"{target}\": {json}{}`", named.unwrap_or_default());
        let diagnostic = Diagnostic::error(Code::WrongFieldType, message);
        self.sink.push(list.place, diagnostic.help(help));
        let place = list.place;
        list.kind = kind;
        if let Some(name) = name
            && !entries.iter().any(|entry| &*entry.key == "as")
        {
            entries.push(field("as", ItemKind::Text(name.into()), place));
        }
    }
}

/// A list read from a number or a text.
struct ListGuess {
    /// The list as JSON, for the advice.
    json: String,
    kind: ItemKind,
    /// The name of the item, if the text has one: `zone` in `zone in ${inputs.zones}`.
    name: Option<String>,
}

/// Reads the number or text of `item` as a list; `None` if it is neither a range, nor an expression, nor items with separators.
fn parse_loop_list(item: &Item) -> Option<ListGuess> {
    let expression = |inside: &str, name: Option<String>| {
        let text = format!("${{{inside}}}");
        Some(ListGuess {
            json: crate::document::edits::json(&text),
            kind: ItemKind::Text(text.into()),
            name,
        })
    };
    let text = match &item.kind {
        ItemKind::Number(number) => {
            return expression(&numbers("0", &number.to_string())?, None);
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
        return expression(inside.trim(), Some(name));
    }
    if text.contains("${") {
        return None;
    }
    let range = text.split_once("...").or_else(|| text.split_once(".."));
    if let Some((from, to)) = range {
        // Most languages include the end of such a range.
        let to = to.trim().trim_start_matches('=').parse::<i64>().ok()?;
        let after = to.checked_add(1)?;
        return expression(&numbers(from.trim(), &after.to_string())?, None);
    }
    let patterns = &mut PatternBudget::default();
    let native = (text.starts_with('[') && is_readable(text, patterns)).then(|| text.to_owned());
    let form = native.or_else(|| exact_form(text, patterns));
    if let Some(form) = form.filter(|form| form.contains(['[', '('])) {
        return expression(&form, None);
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
        ListGuess {
            json: format!("[{}]", texts.join(", ")),
            kind: ItemKind::List(list.collect()),
            name: None,
        }
    })
}
