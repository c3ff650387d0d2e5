//! What a single line looks like.

use std::ops::Range;

use crate::lines::digits;

/// What a line about reasons begins with.
const PLAN: &str = "Plan:";

/// The parts of a line that begins a step, in bytes of the line.
#[derive(Debug)]
pub(super) struct Evidence {
    /// The words of a plan on the same line.
    pub(super) plan: Option<Range<usize>>,
    /// `E1`
    pub(super) id: Range<usize>,
    /// The byte after `=`.
    pub(super) call: usize,
}

/// The beginning of a step, where `line` has one: `#E1 =`, alone or behind `Plan:`.
pub(super) fn evidence(line: &str) -> Option<Evidence> {
    let begin = line.len() - line.trim_start().len();
    if line[begin..].starts_with('#') {
        return evidence_at(line, begin, None);
    }
    let plan = begin + plan(line)?;
    line.match_indices("#E")
        .find_map(|(at, _)| evidence_at(line, at, Some(plan..at)))
}

fn evidence_at(line: &str, at: usize, plan: Option<Range<usize>>) -> Option<Evidence> {
    let number = line[at..].strip_prefix("#E").map(digits)?;
    let end = at + 2 + number;
    let rest = &line[end..];
    let equals = rest.trim_start().starts_with('=');
    (number > 0 && equals).then(|| Evidence {
        plan,
        id: at + 1..end,
        call: end + (rest.len() - rest.trim_start().len()) + 1,
    })
}

/// Where the words of a plan begin, counted from the first letter of `line`.
pub(super) fn plan(line: &str) -> Option<usize> {
    line.trim_start().starts_with(PLAN).then_some(PLAN.len())
}

/// Whether `line` is meant to begin a step, though it may not look like one.
pub(super) fn seems_evidence(line: &str) -> bool {
    let rest = line.trim_start().strip_prefix("#E");
    rest.is_some_and(|rest| !rest.starts_with(char::is_alphabetic))
}
