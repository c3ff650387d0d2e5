//! Operators as objects: `{"$concat": [{"$ref": "a"}, "text"]}`, `{"$join": [[…], ", "]}`.

use planwright_core::Value;

use super::markers::ReferenceNames;
use crate::document::{Item, ItemEntry, ItemKind};

/// The maximum nesting of operators.
const MAX_DEPTH: usize = 8;

/// The operator that the key of an object names.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operator {
    /// The parts one after the other.
    Concat,
    /// The items of a list with a text between them.
    Join,
    /// The first value that is not missing.
    First,
}

fn operator(key: &str) -> Option<Operator> {
    Some(match key {
        "$concat" | "$concatenate" | "$strcat" | "concat" | "$cat" | "Fn::Concat" => {
            Operator::Concat
        }
        "$join" | "join" | "Fn::Join" => Operator::Join,
        "$coalesce" | "$ifNull" | "$default" | "$first_of" | "$or_else" => Operator::First,
        _ => return None,
    })
}

impl ReferenceNames<'_> {
    /// The expression in this dialect of an object with one operator, if it names a step or an input.
    pub(super) fn operator_object(&self, entries: &[ItemEntry], depth: usize) -> Option<String> {
        let [entry] = entries else {
            return None;
        };
        let operator = operator(&entry.key).filter(|_| depth < MAX_DEPTH)?;
        let mut names_any = false;
        let mut operand = |item: &Item| {
            let (written, is_reference) = self.operand(item, depth)?;
            names_any |= is_reference;
            Some((written, is_reference))
        };
        // A value that is no text is reported when the expression is checked.
        let as_text = |(written, _): (String, bool)| written;
        let items = entry.item.as_list();
        let written = match operator {
            Operator::Concat => {
                let parts = items?.iter().map(|item| operand(item).map(as_text));
                parts.collect::<Option<Vec<_>>>()?.join(" + ")
            }
            Operator::First => {
                let parts = items?
                    .iter()
                    .map(|item| operand(item).map(|(part, _)| part));
                parts.collect::<Option<Vec<_>>>()?.join(" ?? ")
            }
            Operator::Join => {
                let [one, other] = items? else {
                    return None;
                };
                // CloudFormation has the separator first.
                let (list, separator) = match (&one.kind, &other.kind) {
                    (ItemKind::Text(_), ItemKind::List(_) | ItemKind::Object(_)) => (other, one),
                    (_, ItemKind::Text(_)) => (one, other),
                    _ => return None,
                };
                let (separator, _) = operand(separator)?;
                let list = match list.as_list() {
                    Some(items) => {
                        let parts = items.iter().map(|item| operand(item).map(as_text));
                        format!("[{}]", parts.collect::<Option<Vec<_>>>()?.join(", "))
                    }
                    None => operand(list).filter(|(_, is_reference)| *is_reference)?.0,
                };
                format!("{list}.join({separator})")
            }
        };
        names_any.then_some(written)
    }

    /// The expression of an operand, and whether it is a reference.
    fn operand(&self, item: &Item, depth: usize) -> Option<(String, bool)> {
        match &item.kind {
            ItemKind::Text(text) => {
                let inside = text
                    .strip_prefix("${")
                    .and_then(|text| text.strip_suffix('}'));
                if let Some(inside) = inside.filter(|inside| !inside.contains(['{', '}'])) {
                    return Some((inside.to_owned(), true));
                }
                if let Some(marker) = self.marker(text) {
                    let is_whole = marker.range == (0..text.len())
                        && marker.is_certain
                        && marker.kept_text(text).is_empty();
                    return is_whole.then_some((marker.meaning, true));
                }
                let is_plain = !text.contains("${") && !text.contains(['\'', '\\']);
                let escaped = text.replace('\n', "\\n").replace('\t', "\\t");
                is_plain.then(|| (format!("'{escaped}'"), false))
            }
            ItemKind::Number(_) => Some((
                Value::text(item.to_value().to_json())
                    .to_json()
                    .replace('"', "'"),
                false,
            )),
            ItemKind::Object(entries) => {
                if let [entry] = &entries[..]
                    && let Some(text) = entry.item.as_text()
                    && let Some(path) = self.keyed_reference(&entry.key, text)
                {
                    return Some((path, true));
                }
                let found = self.path_object(entries);
                let found = found.or_else(|| self.operator_object(entries, depth + 1));
                found.map(|written| (written, true))
            }
            ItemKind::Null | ItemKind::Bool(_) | ItemKind::List(_) => None,
        }
    }
}
