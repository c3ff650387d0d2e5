//! Names that a plan introduces in other ways than by ids, and the references to them.

use std::sync::Arc;

use planwright_core::Place;

use crate::document::template::{QUOTES, end_of_marker};
use crate::document::{Item, ItemEntry, ItemKind};

/// The paths that stand for names in references.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// The names, and the paths of the outputs.
    names: Vec<(Arc<str>, String)>,
    /// The titles of steps by which other systems refer to them, and the ids.
    titles: Vec<(Arc<str>, String)>,
}

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
        self.names.push((name, path));
    }

    /// Adds the title of the step `id`: `$node["Title"]` and `$('Title')` of n8n.
    pub(super) fn add_title(&mut self, title: &str, id: &str) {
        if !id.contains(['\'', '"', '\\']) {
            self.titles.push((title.into(), format!("steps['{id}']")));
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.names.is_empty() && self.titles.is_empty()
    }

    /// Replaces the names in the references of all texts of `entries`; those with a dollar alone are added to `found`.
    pub(super) fn replace_in(&self, entries: &mut [ItemEntry], found: &mut Vec<DollarName>) {
        for entry in entries {
            self.replace(&mut entry.item, found);
        }
    }

    /// Replaces the names in all texts of `item`, and writes `{{name.field}}` in the form of this dialect. Returns true if there was one.
    pub(super) fn write_in(&self, item: &mut Item) -> bool {
        match &mut item.kind {
            ItemKind::Text(text) => {
                let Some(replaced) = self.replaced(text) else {
                    return false;
                };
                *text =
                    with_own_signs(&replaced, self.names.iter().map(|(_, path)| &**path)).into();
                true
            }
            ItemKind::List(items) => {
                let found = items.iter_mut().map(|item| self.write_in(item));
                found.fold(false, |any, found| any | found)
            }
            ItemKind::Object(entries) => {
                let found = entries
                    .iter_mut()
                    .map(|entry| self.write_in(&mut entry.item));
                found.fold(false, |any, found| any | found)
            }
            ItemKind::Null | ItemKind::Bool(_) | ItemKind::Number(_) => false,
        }
    }

    fn replace(&self, item: &mut Item, found: &mut Vec<DollarName>) {
        match &mut item.kind {
            ItemKind::Text(text) if text.contains('$') || text.contains("{{") => {
                if let Some(replaced) = self.replaced(text) {
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
        let mut replaced = text.to_owned();
        for (title, path) in &self.titles {
            for quote in ['"', '\''] {
                for (open, close) in [
                    ("$node[", "]"),
                    ("$(", ")"),
                    ("nodes[", "]"),
                    ("steps[", "]"),
                ] {
                    let written = format!("{open}{quote}{title}{quote}{close}");
                    // The item of a node is its only output.
                    for selection in [".first()", ".last()", ".item", ""] {
                        replaced = replaced.replace(&format!("{written}{selection}"), path);
                    }
                }
            }
        }
        (replaced != text).then_some(replaced)
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
            let mut names = self.names.iter();
            let meant = names
                .find(|(name, _)| **name == path[..end])
                .filter(|_| !is_escaped);
            replaced.push_str(&rest[..at]);
            if let Some((_, root)) = meant {
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

    /// `text` with the paths in place of the names; `None` if it has none of them.
    fn replaced(&self, text: &str) -> Option<String> {
        let mut replaced = String::new();
        let mut is_changed = false;
        let mut rest = text;
        let opening = |rest: &str| {
            [rest.find("${"), rest.find("{{")]
                .into_iter()
                .flatten()
                .min()
        };
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
            let mut inside = rest[open + 2..close].to_owned();
            for (name, path) in &self.names {
                if let Some(changed) = replace_root(&inside, name, path) {
                    inside = changed;
                    is_changed = true;
                }
            }
            replaced.push_str(&inside);
            rest = &rest[close..];
        }
        replaced.push_str(rest);
        is_changed.then_some(replaced)
    }
}

/// `text` with `${path}` in place of `{{path}}`, where that begins with one of `roots`.
fn with_own_signs<'a>(text: &str, roots: impl Iterator<Item = &'a str>) -> String {
    let roots: Vec<&str> = roots.collect();
    let mut written = String::new();
    let mut rest = text;
    while let Some(open) = rest.find("{{") {
        let inside = &rest[open + 2..];
        let Some(close) = inside.find("}}") else {
            break;
        };
        let path = inside[..close].trim();
        written.push_str(&rest[..open]);
        let is_root = |root: &&str| {
            let after = path.strip_prefix(*root);
            after.is_some_and(|after| !after.starts_with(is_of_name))
        };
        if roots.iter().any(is_root) && !rest[..open].ends_with('$') {
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

/// `expression` with `path` in place of the name `name` where a path begins with it.
fn replace_root(expression: &str, name: &str, path: &str) -> Option<String> {
    let mut replaced = String::new();
    let mut at = 0;
    let mut quote = None;
    let mut before = ' ';
    for (start, sign) in expression.char_indices() {
        let is_apart = !is_of_name(before) && before != '.';
        match quote {
            // What follows a backslash does not close the text.
            Some(_) if before == '\\' => {
                before = ' ';
                continue;
            }
            Some(open) if sign == open => quote = None,
            None if matches!(sign, '"' | '\'') => quote = Some(sign),
            Some(_) | None => {}
        }
        before = sign;
        let after = expression[start..].strip_prefix(name);
        let is_name = after.is_some_and(|after| !after.starts_with(|c| is_of_name(c) || c == '('));
        if quote.is_none() && is_apart && is_name && start >= at {
            replaced.push_str(&expression[at..start]);
            replaced.push_str(path);
            at = start + name.len();
        }
    }
    replaced.push_str(&expression[at..]);
    (at > 0).then_some(replaced)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_replaced_where_a_path_begins() {
        let mut names = Names::default();
        names.add("now".into(), "t".into());
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(names.replaced(text).as_deref(), expected, "{text}");
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
