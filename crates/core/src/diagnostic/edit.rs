//! Edits of a plan's text that fix problems and do not change what the plan does.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Diagnostics;
use crate::Span;

/// A replacement of a part of a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TextEdit {
    /// The bytes that are replaced; an empty span is an insertion.
    pub span: Span,
    /// The new text.
    pub replacement: String,
}

impl TextEdit {
    /// Creates an edit that writes `replacement` in place of the bytes of `span`.
    pub fn new(span: impl Into<Span>, replacement: impl Into<String>) -> Self {
        Self {
            span: span.into(),
            replacement: replacement.into(),
        }
    }
}

impl Diagnostics {
    /// Applies the fixes of all diagnostics about `text`, the plan's own text. Returns `None` if there are none.
    ///
    /// The edits of one diagnostic are applied together or not at all: if one of them overlaps another one, or an edit of an earlier
    /// diagnostic, reading the new text reports the problem again.
    pub fn apply_fixes(&self, text: &str) -> Option<String> {
        // The edits by the bytes at which they start, and the bytes at which they end.
        let mut edits: BTreeMap<usize, &TextEdit> = BTreeMap::new();
        for diagnostic in self.iter().filter(|found| found.source.is_none()) {
            let fixes = diagnostic.fixes.iter();
            let added = fixes
                .take_while(|edit| {
                    let fits = text.get(edit.span.start..edit.span.end).is_some()
                        && is_apart(&edits, edit.span);
                    if fits {
                        edits.insert(edit.span.start, edit);
                    }
                    fits
                })
                .count();
            if added < diagnostic.fixes.len() {
                for edit in diagnostic.fixes.iter().take(added) {
                    edits.remove(&edit.span.start);
                }
            }
        }
        if edits.is_empty() {
            return None;
        }
        let mut fixed = String::with_capacity(text.len());
        let mut at = 0;
        for edit in edits.into_values() {
            fixed.push_str(text.get(at..edit.span.start)?);
            fixed.push_str(&edit.replacement);
            at = edit.span.end;
        }
        fixed.push_str(text.get(at..)?);
        Some(fixed)
    }
}

/// Returns true if `span` touches no bytes of `edits`, and none of them starts at the same place.
fn is_apart(edits: &BTreeMap<usize, &TextEdit>, span: Span) -> bool {
    let before = edits.range(..=span.start).next_back();
    let after = edits.range(span.start..).next();
    before.is_none_or(|(start, edit)| *start < span.start && edit.span.end <= span.start)
        && after.is_none_or(|(start, _)| *start >= span.end && *start > span.start)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Code, Diagnostic};

    type Edit = (usize, usize, &'static str);

    fn check(edits: &[&[Edit]], expected: Option<&str>) {
        let diagnostics = edits.iter().map(|edits| {
            let edits = edits
                .iter()
                .map(|(start, end, text)| TextEdit::new(*start..*end, *text));
            Diagnostic::note(Code::ReadAs, "a note").fixes(edits)
        });
        let diagnostics: Diagnostics = diagnostics.collect();
        let fixed = diagnostics.apply_fixes("abcé");
        assert_eq!(fixed.as_deref(), expected, "{edits:?}");
    }

    #[test]
    fn the_edits_of_a_diagnostic_are_applied_together() {
        check(&[], None);
        check(&[&[]], None);
        check(&[&[(0, 1, "x")]], Some("xbcé"));
        check(&[&[(5, 5, "!"), (0, 0, "<")]], Some("<abcé!"));
        check(&[&[(1, 2, "")], &[(2, 3, "C")]], Some("aCé"));
        // The second diagnostic waits for the next reading.
        check(&[&[(0, 2, "x")], &[(1, 3, "y"), (3, 3, "z")]], Some("xcé"));
        check(&[&[(1, 1, "x")], &[(1, 1, "y")]], Some("axbcé"));
        check(&[&[(0, 2, "x"), (1, 3, "y")], &[(2, 3, "C")]], Some("abCé"));
        // Not at a character boundary, or after the end.
        check(&[&[(4, 5, "e")]], None);
        check(&[&[(3, 9, "e")], &[(0, 1, "x")]], Some("xbcé"));
    }
}
