//! Calls in a list, or in a pipeline.

use std::collections::HashSet;

use super::statement::{CallStatement, StatementCall};
use super::values::{split, split_at};
use crate::lowering::lines::tool_name_length;

/// The lines of a list of calls, `[tool(name=value), tool(name=value)]`; otherwise `None`.
pub(super) fn list_of_calls(text: &str) -> Option<Vec<String>> {
    let inside = text.trim().strip_prefix('[')?.strip_suffix(']')?;
    let mut ids = HashSet::new();
    let mut lines = Vec::new();
    for part in split(inside)? {
        let statement = CallStatement::call(part, &ids)?;
        let (found, own) = statement.lines(&ids);
        ids.extend(own);
        lines.extend(found);
    }
    (!lines.is_empty()).then_some(lines)
}

/// The lines of a pipe of calls that each take the output of the previous one, `f(x) | g | h(y=1)`; otherwise `None`.
pub(super) fn pipeline(text: &str) -> Option<Vec<String>> {
    let text = text.trim().trim_end_matches(';');
    let parts = split_at_pipes(text)?;
    let mut ids = HashSet::new();
    let mut lines = Vec::new();
    let mut before: Option<String> = None;
    for part in parts {
        let is_name = !part.is_empty() && tool_name_length(part) == part.len();
        let mut statement = if is_name && before.is_some() {
            CallStatement {
                calls: vec![StatementCall {
                    id: None,
                    tool: part.to_owned(),
                    arguments: String::new(),
                }],
                ..CallStatement::default()
            }
        } else {
            CallStatement::call(part, &ids).filter(CallStatement::is_single_call)?
        };
        if let (Some(before), Some(call)) = (&before, statement.calls.first_mut()) {
            let separator = if call.arguments.is_empty() { "" } else { ", " };
            call.arguments = format!("${{{before}}}{separator}{}", call.arguments);
        }
        let (found, own) = statement.lines(&ids);
        before = own.first().cloned();
        ids.extend(own);
        lines.extend(found);
    }
    (lines.len() > 1).then_some(lines)
}

/// The parts of the single line `text` between `|` or `|>` that are in no brackets and no text.
fn split_at_pipes(text: &str) -> Option<Vec<&str>> {
    if text.contains('\n') || text.contains("||") {
        return None;
    }
    let parts = split_at(text, '|')?.into_iter().enumerate();
    // The first part is before all pipes.
    let after = |(index, part): (usize, _)| match index {
        0 => part,
        _ => str::strip_prefix(part, '>').map_or(part, str::trim),
    };
    Some(parts.map(after).collect())
}
