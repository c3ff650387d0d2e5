//! What a single line looks like.

use std::ops::Range;

use crate::lines::{digits, tool_name};

/// The parts of a line that begins a call, in bytes of the line.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) number: Range<usize>,
    pub(super) tool: Range<usize>,
    /// The byte after `(`.
    pub(super) arguments: usize,
}

/// The beginning of a call, where `line` has one: `1. tool(`.
pub(super) fn call(line: &str) -> Option<Call> {
    let number = number(line)?;
    let rest = &line[number.end + 1..];
    let tool = number.end + 1 + (rest.len() - rest.trim_start().len());
    let name = tool_name(&line[tool..]);
    let opens = name > 0 && line[tool + name..].starts_with('(');
    opens.then(|| Call {
        number,
        tool: tool..tool + name,
        arguments: tool + name + 1,
    })
}

/// The number that `line` begins with, where `.` or `)` follows it.
pub(super) fn number(line: &str) -> Option<Range<usize>> {
    let start = line.len() - line.trim_start().len();
    let number = start..start + digits(&line[start..]);
    (!number.is_empty() && line[number.end..].starts_with(['.', ')'])).then_some(number)
}

/// Whether nothing that counts follows a call on its line.
pub(super) fn is_end(rest: &str) -> bool {
    let rest = rest.trim();
    let rest = rest.strip_prefix("<END_OF_PLAN>").unwrap_or(rest).trim();
    rest.is_empty() || rest.starts_with('#')
}
