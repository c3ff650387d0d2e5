//! Edits that give a step another id, with the references after it.

use std::ops::Range;

use planwright_core::{Code, Diagnostic, Diagnostics, TextEdit};

/// The bytes at which the steps begin whose ids are taken, with the id.
pub(super) fn starts(diagnostics: &Diagnostics) -> Vec<(usize, String)> {
    let found = diagnostics.iter().filter_map(|found| {
        let (id, _) = names(found)?;
        Some((found.span?.start, id.to_owned()))
    });
    found.collect()
}

/// The id of the step that `found` is about, and the one that its advice proposes.
fn names(found: &Diagnostic) -> Option<(&str, &str)> {
    let id = found.message.strip_prefix("two steps have the id `")?;
    let (_, other) = found.help.as_deref()?.split_once(", such as `")?;
    let (other, _) = other.split_once('`')?;
    (found.code == Code::DuplicateStep).then_some((id.strip_suffix('`')?, other))
}

/// The edits of a JSON `text` for `found`, if it is about a step whose id is taken; `starts` are those of all such steps.
pub(super) fn edits(
    found: &Diagnostic,
    starts: &[(usize, String)],
    text: &str,
) -> Option<Vec<TextEdit>> {
    let (id, other) = names(found)?;
    let span = found.span?;
    let step = text.get(span.start..span.end)?;
    step.starts_with('{').then_some(())?;
    let key = ["\"id\"", "id"].iter().find_map(|key| step.find(key))?;
    let value = key + step.get(key..)?.find(':')? + 1;
    let quoted = format!("\"{id}\"");
    let rest = step.get(value..)?;
    let at = span.start + value + (rest.len() - rest.trim_start().len());
    text.get(at..)?.starts_with(&quoted).then_some(())?;
    let mut edits = vec![TextEdit::new(at..at + quoted.len(), format!("\"{other}\""))];
    let next = starts
        .iter()
        .filter(|(start, name)| name == id && *start > span.start);
    let end = next.map(|(start, _)| *start).min().unwrap_or(text.len());
    let later = span.end..end;
    edits.extend(
        references(text, later.clone(), id)
            .into_iter()
            .chain(waits(text, later, id))
            .map(|range| TextEdit::new(range, other)),
    );
    Some(edits)
}

/// The places of the name `id` in the references within `part`.
fn references(text: &str, part: Range<usize>, id: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = part.start;
    while let Some(open) = text.get(at..part.end).and_then(|rest| rest.find("${")) {
        let start = at + open + 2;
        let Some(length) = text.get(start..part.end).and_then(|rest| rest.find('}')) else {
            break;
        };
        let is_part = |sign: char| sign.is_alphanumeric() || "_.\"'".contains(sign);
        let inside = text.get(start..start + length).unwrap_or_default();
        found.extend(inside.match_indices(id).filter_map(|(within, _)| {
            let before = inside.get(..within)?;
            let after = inside.get(within + id.len()..)?;
            let is_name = !before.ends_with(is_part)
                && !after.starts_with(|sign: char| sign.is_alphanumeric() || "_(".contains(sign));
            is_name.then(|| start + within..start + within + id.len())
        }));
        at = start + length;
    }
    found
}

/// The places of the name `id` in the lists of steps that others wait for, within `part`.
fn waits(text: &str, part: Range<usize>, id: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = part.start;
    while let Some(key) = text
        .get(at..part.end)
        .and_then(|rest| rest.find("\"after\""))
    {
        let start = at + key + "\"after\"".len();
        let rest = text.get(start..part.end).unwrap_or_default();
        let is_list = rest.trim_start_matches([':', ' ', '\n']).starts_with('[');
        let end = rest
            .find(if is_list { ']' } else { ',' })
            .unwrap_or(rest.len());
        let list = rest.get(..end).unwrap_or_default();
        let quoted = format!("\"{id}\"");
        found.extend(list.match_indices(&quoted).map(|(within, _)| {
            let name = start + within + 1;
            name..name + id.len()
        }));
        at = start + end;
    }
    found
}

#[cfg(test)]
mod tests {
    use planwright_core::{Code, Diagnostic, Diagnostics};

    use super::{edits, starts};

    #[test]
    fn references_after_a_step_move_with_its_id() {
        let text = r#"{"steps": [
  {"id": "read", "tool": "t"}, {"id": "one", "tool": "t", "args": {"x": "${read}"}},
  {"id": "read", "tool": "t", "args": {"x": "${read}"}},
  {"id": "two", "tool": "t", "args": {"x": "${read.a} ${size(read)} ${b.read} ${read_1} read"}, "after": ["one", "read"]}
]}"#;
        let step = text.rfind(r#"{"id": "read""#).unwrap();
        let end = step + text.get(step..).unwrap().find("}}").unwrap() + 2;
        let found = Diagnostic::error(Code::DuplicateStep, "two steps have the id `read`")
            .help("the first is at `/steps/0`: give this one another id, such as `read_2`, also in the steps after it that mean this one (`two`)")
            .at_span("/steps/2", step..end);
        let diagnostics: Diagnostics = [found.clone()].into_iter().collect();
        let edits = edits(&found, &starts(&diagnostics), text).unwrap();
        let fixed = Diagnostics::from_iter([found.fixes(edits)]).apply_fixes(text);
        assert_eq!(
            fixed.as_deref(),
            Some(
                r#"{"steps": [
  {"id": "read", "tool": "t"}, {"id": "one", "tool": "t", "args": {"x": "${read}"}},
  {"id": "read_2", "tool": "t", "args": {"x": "${read}"}},
  {"id": "two", "tool": "t", "args": {"x": "${read_2.a} ${size(read_2)} ${b.read} ${read_1} read"}, "after": ["one", "read_2"]}
]}"#
            )
        );
    }
}
