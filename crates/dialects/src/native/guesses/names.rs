//! Names that a plan introduces in other ways than by ids, and the references to them.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use planwright_core::Place;

use crate::document::template::{QUOTES, end_of_marker};
use crate::document::{Item, ItemEntry, ItemKind};

/// The paths that stand for names in references.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// The paths of the outputs by the names.
    by_name: HashMap<Arc<str>, String>,
    /// The paths in `by_name`.
    paths: HashSet<String>,
    /// The paths of the outputs by the titles of steps, by which other systems refer to them.
    by_title: HashMap<Arc<str>, String>,
}

/// The maximum length of a title, and of a path in a template, in bytes; a longer one is not replaced.
const MAX_NAME_BYTES: usize = 256;

/// A name with a dollar before it in a text, which is not a reference here.
#[derive(Debug)]
pub(super) struct DollarName {
    pub(super) place: Place,
    pub(super) written: String,
    /// The path of the output that it names.
    pub(super) meaning: String,
}

impl Names {
    pub(super) fn add(&mut self, name: Arc<str>, path: String) {
        self.paths.insert(path.clone());
        self.by_name.entry(name).or_insert(path);
    }

    /// Adds the title of the step `id`: `$node["Title"]` and `$('Title')` of n8n.
    pub(super) fn add_title(&mut self, title: &str, id: &str) {
        if !id.contains(['\'', '"', '\\']) {
            let path = format!("steps['{id}']");
            self.by_title.entry(title.into()).or_insert(path);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_name.is_empty() && self.by_title.is_empty()
    }

    /// Replaces the names in the references of all texts of `entries`; those with a dollar alone are added to `found`.
    pub(super) fn replace_in(&self, entries: &mut [ItemEntry], found: &mut Vec<DollarName>) {
        for entry in entries {
            self.replace(&mut entry.item, found);
        }
    }

    /// Replaces the names in all texts of `item`, and writes `{{name.field}}` in the form of this dialect. The names are added to `used`.
    pub(super) fn write_in(&self, item: &mut Item, used: &mut HashSet<Arc<str>>) {
        match &mut item.kind {
            ItemKind::Text(text) => {
                let Some(replaced) = self.replaced(text, used) else {
                    return;
                };
                *text = with_own_signs(&replaced, &self.paths).into();
            }
            ItemKind::List(items) => items.iter_mut().for_each(|item| self.write_in(item, used)),
            ItemKind::Object(entries) => {
                for entry in entries {
                    self.write_in(&mut entry.item, used);
                }
            }
            ItemKind::Null | ItemKind::Bool(_) | ItemKind::Number(_) => {}
        }
    }

    /// Returns true if a reference in a text of `item` begins with one of the names.
    pub(super) fn are_in(&self, item: &Item) -> bool {
        match &item.kind {
            ItemKind::Text(text) => self.replaced(text, &mut HashSet::new()).is_some(),
            ItemKind::List(items) => items.iter().any(|item| self.are_in(item)),
            ItemKind::Object(entries) => entries.iter().any(|entry| self.are_in(&entry.item)),
            ItemKind::Null | ItemKind::Bool(_) | ItemKind::Number(_) => false,
        }
    }

    fn replace(&self, item: &mut Item, found: &mut Vec<DollarName>) {
        match &mut item.kind {
            ItemKind::Text(text) if text.contains('$') || text.contains("{{") => {
                if let Some(replaced) = self.replaced(text, &mut HashSet::new()) {
                    *text = replaced.into();
                }
                if let Some(replaced) = self.without_titles(text) {
                    *text = replaced.into();
                }
                if let Some(replaced) = self.without_dollar_names(text, item.place, found) {
                    *text = replaced.into();
                }
            }
            ItemKind::List(items) => items.iter_mut().for_each(|item| self.replace(item, found)),
            ItemKind::Object(entries) => self.replace_in(entries, found),
            ItemKind::Text(_) | ItemKind::Null | ItemKind::Bool(_) | ItemKind::Number(_) => {}
        }
    }

    /// `text` with the ids of steps in place of their titles; `None` if it has none of them.
    fn without_titles(&self, text: &str) -> Option<String> {
        if self.by_title.is_empty() {
            return None;
        }
        let marks = [
            ("$node[", ']'),
            ("$(", ')'),
            ("nodes[", ']'),
            ("steps[", ']'),
        ];
        let mut replaced = String::new();
        let mut done = 0;
        for (at, _) in text.match_indices(['[', '(']) {
            let mut marks = marks.iter();
            let Some((open, close)) = marks.find(|(open, _)| text[..=at].ends_with(open)) else {
                continue;
            };
            let (start, inside) = (at + 1 - open.len(), &text[at + 1..]);
            let Some(quote) = inside
                .chars()
                .next()
                .filter(|sign| matches!(sign, '"' | '\'') && start >= done)
            else {
                continue;
            };
            let window = &inside[1..inside.floor_char_boundary(MAX_NAME_BYTES)];
            let found = window
                .find(&format!("{quote}{close}"))
                .and_then(|length| Some((length, self.by_title.get(&window[..length])?)));
            let Some((length, path)) = found else {
                continue;
            };
            let end = at + 2 + length + 2;
            // The item of a node is its only output.
            let selections = [".first()", ".last()", ".item"];
            let selection = selections
                .iter()
                .find(|word| text[end..].starts_with(**word));
            replaced.push_str(&text[done..start]);
            replaced.push_str(path);
            done = end + selection.map_or(0, |word| word.len());
        }
        replaced.push_str(&text[done..]);
        (done > 0).then_some(replaced)
    }

    /// `text` with references in place of names such as `$name.field`, which are added to `found`; `None` if it has none.
    fn without_dollar_names(
        &self,
        text: &str,
        place: Place,
        found: &mut Vec<DollarName>,
    ) -> Option<String> {
        let mut replaced = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('$') {
            let is_escaped = rest[..at].ends_with('$') || replaced.ends_with('$');
            let inside = &rest[at + 1..];
            let length = inside.find(|c: char| !(c.is_alphanumeric() || "_-.[]".contains(c)));
            let path = inside[..length.unwrap_or(inside.len())].trim_end_matches(['.', '-']);
            let end = path.find(['.', '[']).unwrap_or(path.len());
            let meant = self.by_name.get(&path[..end]).filter(|_| !is_escaped);
            replaced.push_str(&rest[..at]);
            if let Some(root) = meant {
                let meaning = format!("{root}{}", &path[end..]);
                replaced.extend(["${", &meaning, "}"]);
                found.push(DollarName {
                    place,
                    written: format!("${path}"),
                    meaning,
                });
                rest = &inside[path.len()..];
            } else {
                replaced.push('$');
                rest = inside;
            }
        }
        replaced.push_str(rest);
        (replaced != text).then_some(replaced)
    }

    /// `text` with paths in place of names; these names are added to `used`; `None` if it has none of them.
    fn replaced(&self, text: &str, used: &mut HashSet<Arc<str>>) -> Option<String> {
        let mut replaced = String::new();
        let mut is_changed = false;
        let mut rest = text;
        while let Some(open) = opening(rest) {
            let close = if rest[open..].starts_with("{{") {
                rest[open..].find("}}").map(|length| open + length)
            } else {
                end_of_marker(rest, open + 2, QUOTES)
            };
            let Some(close) = close else {
                break;
            };
            replaced.push_str(&rest[..open + 2]);
            let inside = &rest[open + 2..close];
            if let Some(changed) = self.with_paths(inside, used) {
                replaced.push_str(&changed);
                is_changed = true;
            } else {
                replaced.push_str(inside);
            }
            rest = &rest[close..];
        }
        replaced.push_str(rest);
        is_changed.then_some(replaced)
    }
}

/// The start of the first `${` or `{{` in `text`.
fn opening(text: &str) -> Option<usize> {
    text.match_indices('{').find_map(|(at, _)| {
        let is_reference = text[..at].ends_with('$');
        let is_template = text[at + 1..].starts_with('{');
        (is_reference || is_template).then(|| at - usize::from(is_reference))
    })
}

/// `text` with `${path}` in place of `{{path}}`, if `path` begins with one of `roots`.
fn with_own_signs(text: &str, roots: &HashSet<String>) -> String {
    let mut written = String::new();
    let mut rest = text;
    while let Some(open) = rest.find("{{") {
        let inside = &rest[open + 2..];
        let Some(close) = inside.find("}}") else {
            break;
        };
        let path = inside[..close].trim();
        written.push_str(&rest[..open]);
        let begins_with_root = path.len() <= MAX_NAME_BYTES
            && path
                .char_indices()
                .filter(|(_, sign)| !is_of_name(*sign))
                .map(|(end, _)| end)
                .chain([path.len()])
                .any(|end| roots.contains(&path[..end]));
        if begins_with_root && !rest[..open].ends_with('$') {
            written.extend(["${", path, "}"]);
        } else {
            written.push_str(&rest[open..open + close + 4]);
        }
        rest = &inside[close + 2..];
    }
    written.push_str(rest);
    written
}

fn is_of_name(sign: char) -> bool {
    sign.is_alphanumeric() || sign == '_' || sign == '-'
}

impl Names {
    /// `expression` with paths in place of the names at the start of its paths; these names are added to `used`; `None` if it has
    /// none.
    fn with_paths(&self, expression: &str, used: &mut HashSet<Arc<str>>) -> Option<String> {
        let mut replaced = String::new();
        let mut at = 0;
        let mut quote = None;
        let mut before = ' ';
        for (start, sign) in expression.char_indices() {
            let is_apart = !is_of_name(before) && before != '.';
            match quote {
                // A quote after a backslash does not close the text.
                Some(_) if before == '\\' => {
                    before = ' ';
                    continue;
                }
                Some(open) if sign == open => quote = None,
                None if matches!(sign, '"' | '\'') => quote = Some(sign),
                Some(_) | None => {}
            }
            before = sign;
            if quote.is_some() || !is_apart || !is_of_name(sign) {
                continue;
            }
            let rest = &expression[start..];
            let length = rest.find(|sign| !is_of_name(sign)).unwrap_or(rest.len());
            let found = self.by_name.get_key_value(&rest[..length]);
            if let Some((name, path)) = found.filter(|_| !rest[length..].starts_with('(')) {
                used.insert(Arc::clone(name));
                replaced.push_str(&expression[at..start]);
                replaced.push_str(path);
                at = start + length;
            }
        }
        replaced.push_str(&expression[at..]);
        (at > 0).then_some(replaced)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_replaced_where_a_path_begins() {
        let mut names = Names::default();
        names.add("now".into(), "t".into());
        let check = |text: &str, expected: Option<&str>| {
            let found = names.replaced(text, &mut HashSet::new());
            assert_eq!(found.as_deref(), expected, "{text}");
        };
        check("${now}", Some("${t}"));
        check(
            "at ${now.datetime}, ${ now [0] }",
            Some("at ${t.datetime}, ${ t [0] }"),
        );
        check("${a + now}", Some("${a + t}"));
        check("now ${a.now}", None);
        check("${nowhere} ${\"now\"} ${now(1)}", None);
        check("${x == 'a now b' + now}", Some("${x == 'a now b' + t}"));
        check("${'\\' now' == x}", None);
        check("${now", None);
        check("{{now.datetime}} {{ x }}", Some("{{t.datetime}} {{ x }}"));
        check("{{now", None);
    }
}
