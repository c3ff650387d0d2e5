//! Loops inside of arguments, `{"for_each": "${list}", "value": {…}}`: the part of the arguments is a list, each item mapped to a value.

use planwright_core::{Code, Diagnostic, TextEdit};

use super::super::texts::expression_of;
use super::super::words::ITEM_NAMES;
use super::super::{Guesses, has};
use crate::document::edits::json;
use crate::document::template::{Piece, QUOTES, split};
use crate::document::{Item, ItemEntry, ItemKind};

/// Words for the list of a loop.
const LISTS: [&str; 10] = [
    "for_each", "forEach", "foreach", "for", "map", "items", "list", "over", "each", "loop",
];

/// Words for the value of each item.
const VALUES: [&str; 11] = [
    "value",
    "template",
    "map",
    "yield",
    "do",
    "expression",
    "body",
    "emit",
    "select",
    "return",
    "to",
];

/// The maximum depth of arguments.
pub(in crate::native::guesses) const MAX_DEPTH: usize = 8;

impl Guesses<'_> {
    /// Reads loops inside of the arguments of a step that is no loop itself.
    pub(in crate::native::guesses) fn loops_in_arguments(&mut self, entries: &mut [ItemEntry]) {
        if has(entries, "for_each") {
            return;
        }
        if let Some(entry) = entries.iter_mut().find(|entry| &*entry.key == "args")
            && let ItemKind::Object(arguments) = &mut entry.item.kind
        {
            for argument in arguments {
                self.loop_in(&mut argument.item, MAX_DEPTH);
            }
        }
    }

    fn loop_in(&mut self, item: &mut Item, depth: usize) {
        // A list with one loop is that of the loop.
        let found = match &item.kind {
            ItemKind::List(items) if items.len() == 1 => items.first().and_then(mapped),
            _ => mapped(item),
        };
        if let Some((word, text)) = found {
            let message = format!("a part of the arguments cannot be a loop, as with `{word}`");
            let written = json(&text);
            let help = format!("write `{written}`");
            let edit = self.source.span(item.place);
            let edits = edit.map(|span| TextEdit::new(span, written));
            let diagnostic = Diagnostic::error(Code::UnknownField, message).help(help);
            let diagnostic = diagnostic.fixes(edits.into_iter().collect::<Vec<_>>());
            self.sink.push(item.place, diagnostic);
            item.kind = ItemKind::Text(text.into());
            return;
        }
        let Some(depth) = depth.checked_sub(1) else {
            return;
        };
        match &mut item.kind {
            ItemKind::List(items) => items.iter_mut().for_each(|item| self.loop_in(item, depth)),
            ItemKind::Object(fields) => {
                for field in fields {
                    self.loop_in(&mut field.item, depth);
                }
            }
            ItemKind::Null | ItemKind::Bool(_) | ItemKind::Number(_) | ItemKind::Text(_) => {}
        }
    }
}

/// Returns true if there is a loop in `item`, down to `depth`.
pub(in crate::native::guesses) fn has_loop(item: &Item, depth: usize) -> bool {
    let Some(depth) = depth.checked_sub(1) else {
        return false;
    };
    match &item.kind {
        ItemKind::List(items) => items.iter().any(|item| has_loop(item, depth)),
        ItemKind::Object(fields) => {
            mapped(item).is_some() || fields.iter().any(|field| has_loop(&field.item, depth))
        }
        ItemKind::Null | ItemKind::Bool(_) | ItemKind::Number(_) | ItemKind::Text(_) => false,
    }
}

/// The word for the list of the loop `item`, and the reference that is its list of values; `None` if it is no loop.
fn mapped(item: &Item) -> Option<(String, String)> {
    let entries = item.as_object()?;
    let (mut list, mut value, mut name) = (None, None, None);
    for entry in entries {
        let key = &*entry.key;
        let place = if ITEM_NAMES.contains(&key) {
            &mut name
        } else if list.is_none() && LISTS.contains(&key) {
            &mut list
        } else if VALUES.contains(&key) {
            &mut value
        } else {
            return None;
        };
        if place.replace(entry).is_some() {
            return None;
        }
    }
    let (list, value) = (list?, value?);
    let name = name.map_or(Some("item"), |name| name.item.as_text().map(|name| &**name))?;
    let is_name = name
        .chars()
        .all(|sign| sign.is_alphanumeric() || sign == '_')
        && name.starts_with(char::is_alphabetic);
    is_name.then_some(())?;
    let over = match &list.item.kind {
        ItemKind::Text(text) => match &split(text, QUOTES)[..] {
            [Piece::Marker(inside, _)] => inside.trim().to_owned(),
            [Piece::Literal(_)] => expression_of(text)?,
            _ => return None,
        },
        _ => written(&list.item)?,
    };
    let is_path = |sign: char| sign.is_alphanumeric() || "_.[]()'".contains(sign);
    let over = if over.chars().all(is_path) || over.starts_with('[') {
        over
    } else {
        format!("({over})")
    };
    let each = written(&value.item)?;
    // Without the item, it is data that only looks like a loop; the position of the item has no name there.
    let has_word = |word: &str| {
        let mut words = each.split(|sign: char| !sign.is_alphanumeric() && sign != '_');
        words.any(|part| part == word)
    };
    let is_loop = has_word(name) && !has_word("index");
    is_loop.then(|| {
        let text = format!("${{{over}.map({name}, {each})}}");
        (list.key.to_string(), text)
    })
}

/// `item` as an expression; `None` if a text in it has no such form.
fn written(item: &Item) -> Option<String> {
    Some(match &item.kind {
        ItemKind::Null | ItemKind::Bool(_) | ItemKind::Number(_) => item.to_value().to_json(),
        ItemKind::Text(text) => match &split(text, QUOTES)[..] {
            [] => "''".to_owned(),
            [Piece::Marker(inside, _)] => inside.trim().to_owned(),
            pieces => {
                let parts = pieces.iter().map(|piece| match piece {
                    Piece::Literal(text) => literal(text),
                    Piece::Marker(inside, _) => Some(format!("string({})", inside.trim())),
                    Piece::Unclosed(_) => None,
                });
                parts.collect::<Option<Vec<_>>>()?.join(" + ")
            }
        },
        ItemKind::List(items) => {
            let items = items.iter().map(written);
            format!("[{}]", items.collect::<Option<Vec<_>>>()?.join(", "))
        }
        ItemKind::Object(fields) => {
            let fields = fields.iter().map(|field| {
                let key = literal(&field.key)?;
                Some(format!("{key}: {}", written(&field.item)?))
            });
            format!("{{{}}}", fields.collect::<Option<Vec<_>>>()?.join(", "))
        }
    })
}

/// `text` in quotes; `None` if it has signs that an expression or a message cannot show as they are.
fn literal(text: &str) -> Option<String> {
    let is_plain = !text.contains(['\'', '\\', '{', '}', '`', '\n', '\r', '\t']);
    is_plain.then(|| format!("'{text}'"))
}
