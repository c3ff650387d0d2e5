//! Texts that have the form of a reference without the signs or the names of one.

use std::ops::Range;

use planwright_core::expression::time_form;

use super::{Marker, ReferenceNames, without_words};
use crate::foreign_references::paths::{MAX_MARKER_BYTES, marker_window, split_name};
use crate::native::form_in;

/// The expression that `text` is meant as, if it is several references with `+` between them: `${a.x} + ${b.x}`.
pub(super) fn joined_text(text: &str, references: &[Range<usize>]) -> Option<String> {
    let (first, last) = (references.first()?, references.last()?);
    let is_all = references.len() > 1 && first.start == 0 && last.end == text.len();
    let gaps = references
        .windows(2)
        .all(|pair| matches!(pair, [one, other] if text.get(one.end..other.start) == Some(" + ")));
    let parts = references.iter().map(|range| {
        let inside = text
            .get(range.clone())?
            .strip_prefix("${")?
            .strip_suffix('}')?;
        let is_path = |sign: char| sign.is_alphanumeric() || "_.[]".contains(sign);
        inside.chars().all(is_path).then_some(inside)
    });
    (is_all && gaps).then_some(())?;
    Some(parts.collect::<Option<Vec<_>>>()?.join(" + "))
}

/// The delimiters of a whole text that is a time of another system.
const TIME_DELIMITERS: [(&str, &str); 8] = [
    ("$(", ")"),
    ("${", "}"),
    ("[[", "]]"),
    ("{", "}"),
    ("<", ">"),
    ("[", "]"),
    ("%", "%"),
    ("$", ""),
];

impl ReferenceNames<'_> {
    /// The expression for a time of another system, such as `today - 7 days`, unless its first word names a step or an input.
    pub(in crate::foreign_references) fn time(&self, written: &str) -> Option<String> {
        let written = written.trim();
        let is_of_name = |sign: char| sign.is_alphanumeric() || sign == '_';
        let root = written.split(|sign| !is_of_name(sign)).next()?;
        let is_named = self.steps.contains_key(root) || self.inputs.contains_key(root);
        if !self.is_native || is_named {
            return None;
        }
        match written {
            "now()" => Some(written.to_owned()),
            _ => time_form(written),
        }
    }

    /// The expression that the whole `text` is, if it is a time of another system, and true if it can hardly be anything else. A tool may
    /// take `now-7d`.
    pub(super) fn time_text(&self, text: &str) -> Option<(String, bool)> {
        if text.len() > MAX_MARKER_BYTES {
            return None;
        }
        let inside = TIME_DELIMITERS.iter().find_map(|(open, close)| {
            let inside = text.strip_prefix(open)?.strip_suffix(close)?;
            // `$(date +%F)`
            let command = inside.strip_prefix("date").filter(|_| *open == "$(");
            let format = command.and_then(|rest| match rest.trim() {
                "" => Some("now()".to_owned()),
                rest => time_form(&format!(
                    "now | date: {}",
                    rest.strip_prefix('+')?.replace("%F", "%Y-%m-%d")
                )),
            });
            format.or_else(|| self.time(inside))
        });
        if let Some(meaning) = inside {
            return Some((meaning, true));
        }
        // A plain word may be meant for the tool.
        let is_expression = text.contains([' ', '(']) && text.starts_with(char::is_alphabetic);
        Some((is_expression.then(|| self.time(text))??, false))
    }

    /// The expression that the whole `text` is, if it is a call whose argument is a path of a step: `len(rows.items)`.
    pub(super) fn call_text(&self, text: &str) -> Option<String> {
        let (name, rest) = text.strip_suffix(')')?.split_once('(')?;
        let is_of_name = |sign: char| sign.is_alphanumeric() || "_.".contains(sign);
        let is_call = text.len() <= MAX_MARKER_BYTES
            && name.starts_with(|sign: char| sign.is_alphabetic())
            && name.chars().all(is_of_name);
        let root = rest.split(|sign| !is_of_name(sign)).next()?;
        let (id, path) = split_name(root);
        let is_path = is_call && !path.is_empty() && self.steps.contains_key(id);
        is_path.then(|| form_in(text)).flatten()
    }

    /// The first template in `text` that has the form of a reference, but no step and no input as its root: a typing error, or
    /// a template for the tool.
    pub(super) fn unknown_marker(
        &self,
        text: &str,
        is_apart: impl Fn(usize) -> bool,
    ) -> Option<Marker> {
        let templates = text
            .match_indices("{{")
            .filter(|(start, _)| self.is_native && is_apart(*start));
        for (start, _) in templates {
            let inside = start + 2;
            let Some(length) = marker_window(text, inside).find("}}") else {
                continue;
            };
            let is_dollar_form = text[..start].ends_with('$');
            let range = start - usize::from(is_dollar_form)..inside + length + 2;
            let path = text[inside..inside + length].trim();
            let is_path = path.starts_with(|c: char| c.is_alphabetic() || c == '_')
                && path
                    .chars()
                    .all(|c| c.is_alphanumeric() || "_.[]".contains(c));
            let is_whole = range == (0..text.len());
            if is_path && is_dollar_form && !text[..range.start].ends_with('$') {
                // It is not a reference of this dialect either.
                return Some(Marker::new(range, without_words(path), true));
            }
            if is_path && !text[..range.start].ends_with('$') && (is_whole || path.contains('.')) {
                return Some(Marker::new(range, path.to_owned(), false));
            }
        }
        // Lines and tags are programs or documents, whose own names these may be.
        let is_document = text.contains(['\n', ';', '<', '`']);
        for (start, _) in text.match_indices('{') {
            if is_document {
                break;
            }
            let is_other = text[..start].ends_with(['{', '$', '@', '#', '%']);
            if !self.is_native || is_other || !is_apart(start) {
                continue;
            }
            let Some(length) = marker_window(text, start + 1).find('}') else {
                break;
            };
            let path = &text[start + 1..start + 1 + length];
            let is_name = |part: &str| {
                part.starts_with(|sign: char| sign.is_alphabetic() || sign == '_')
                    && part
                        .chars()
                        .all(|sign| sign.is_alphanumeric() || sign == '_')
            };
            if let Some(meaning) = self.time(path) {
                return Some(Marker::new(start..start + length + 2, meaning, false));
            }
            if path.contains('.') && path.split('.').all(is_name) {
                return Some(Marker::new(
                    start..start + length + 2,
                    path.to_owned(),
                    false,
                ));
            }
        }
        // A statement of a template, `{% if x %}`
        let start = text
            .find("{%")
            .filter(|start| self.is_native && is_apart(*start))?;
        let length = marker_window(text, start).find("%}")?;
        let is_loop = text[start + 2..]
            .trim_start_matches(['-', ' '])
            .starts_with("for");
        let form = if is_loop {
            "LIST.map(x, x.FIELD)"
        } else {
            "CONDITION ? A : B"
        };
        Some(Marker::new(
            start..start + length + 2,
            form.to_owned(),
            false,
        ))
    }
}
