//! Markers that are phrases in brackets.

use super::{Marker, ReferenceNames};
use crate::foreign_references::paths::{
    marker_window, path_length, split_name, strip_prefix_any_case,
};
use crate::foreign_references::phrases::{is_certain_phrase, numbered, phrase};

/// Words before the number of a call.
const NUMBERED: [&str; 8] = [
    "tool_call_",
    "toolcall_",
    "call_",
    "step_",
    "observation_",
    "observation",
    "result_",
    "output_",
];

/// Returns true if `text` names the output of the call 0, so that the first call has that number.
pub(in crate::foreign_references) fn names_call_zero(text: &str) -> bool {
    if !text.contains('0') {
        return false;
    }
    let is_end = |rest: &str| !rest.starts_with(|sign: char| sign.is_alphanumeric() || sign == '_');
    NUMBERED.iter().any(|word| {
        let zero = format!("{word}0");
        let mut found = text.match_indices(&zero);
        found.any(|(at, _)| {
            text[..at].ends_with(['{', '$', '<', '[']) && is_end(&text[at + zero.len()..])
        })
    })
}

impl ReferenceNames<'_> {
    /// The first phrase in `text` that names the output of a step, such as `<output of step 1>`.
    pub(super) fn phrase_marker(
        &self,
        text: &str,
        is_apart: impl Fn(usize) -> bool,
    ) -> Option<Marker> {
        if let Some(found) = numbered(text, &is_apart) {
            let range = found.range;
            if let Some(output) = self.output_of(found.number) {
                let meaning = match found.field {
                    Some(field) => format!("{output}.{field}"),
                    None => output,
                };
                let is_whole = range == (0..text.len());
                let is_certain = found.is_output || found.field.is_some() || is_whole;
                return Some(Marker::new(range, meaning, is_certain));
            }
            if self.is_native && found.is_certain_output {
                let mut marker = Marker::new(range, "ID".to_owned(), true);
                marker.is_unresolved = true;
                return Some(marker);
            }
        }
        let (mut range, name, field) = phrase(text)?;
        let output = self.output_of(name)?;
        let meaning = field.map_or(output.clone(), |field| format!("{output}.{field}"));
        let is_call = is_certain_phrase(&text[range.clone()]);
        // `<output of a>.txt` may be the name of a file.
        let behind = &text[range.end..];
        let length = path_length(behind);
        let rest = if is_call || behind[..length].contains('[') {
            length
        } else {
            0
        };
        let meaning = meaning + &text[range.end..range.end + rest];
        range.end += rest;
        let is_named = self.steps.contains_key(name);
        let is_certain = is_call || is_named || field.is_some() || range == (0..text.len());
        is_apart(range.start).then(|| Marker::new(range, meaning, is_certain))
    }

    /// The first field of a step in square brackets, `Dear [contact.name]`, unless it is the text of a link or of an item.
    pub(super) fn bracketed_field(
        &self,
        text: &str,
        is_apart: impl Fn(usize) -> bool,
    ) -> Option<Marker> {
        let mut openings = text
            .match_indices('[')
            .filter(|(start, _)| self.is_native && is_apart(*start));
        openings.find_map(|(start, _)| {
            let before = text[..start].chars().next_back();
            let is_item =
                before.is_some_and(|sign| sign.is_alphanumeric() || "_])}[".contains(sign));
            let window = marker_window(text, start + 1);
            let inside = &window[..window.find(']')?];
            let (id, path) = split_name(inside);
            let is_field = path.len() > 1 && path_length(path) == path.len();
            let end = start + inside.len() + 2;
            let is_link = text.get(end..)?.starts_with(['(', ']', ':']);
            let output = self.steps.get(id).filter(|_| is_field)?;
            let is_certain = id.contains(|sign: char| sign.is_ascii_digit() || sign == '_');
            (!is_item && !is_link)
                .then(|| Marker::new(start..end, format!("{output}{path}"), is_certain))
        })
    }

    /// The path of the output of a call that is named by its number, `tool_call_1.x`, and is before the searched step.
    pub(super) fn numbered_call(&self, written: &str) -> Option<String> {
        let (root, rest) = split_name(written);
        if !self.is_native || self.steps.contains_key(root) || self.inputs.contains_key(root) {
            return None;
        }
        let number = NUMBERED
            .iter()
            .find_map(|word| strip_prefix_any_case(root, word))?;
        let number = number.parse::<usize>().ok()?;
        let position = if self.counts_from_zero {
            number
        } else {
            number.checked_sub(1)?
        };
        let id = self
            .order
            .get(position)
            .filter(|_| position < self.position)?;
        self.step(&format!("{id}{rest}"), true)
    }

    /// The path of the output of the step `name`, which may be its number from 1 on.
    fn output_of(&self, name: &str) -> Option<String> {
        if let Some(output) = self.steps.get(name) {
            return Some(output.to_string());
        }
        let position = name.parse::<usize>().ok()?.checked_sub(1)?;
        Some(self.steps.get(self.order.get(position)?)?.to_string())
    }
}
