//! The reporter: collects the diagnostics of one plan and words suggestions.

use std::cell::Cell;
use std::sync::Arc;

use super::suggestion::nearest_with_distance;
use crate::diagnostic::Tally;
use crate::{Code, Diagnostic, Diagnostics, Place, PointerSegment, Severity, Sources};

/// Maximum number of name comparisons for suggestions, so that they never cost more than the check itself.
const MAX_COMPARISONS: usize = 100_000;

/// Maximum number of names in a list of known names.
const MAX_LISTED: usize = 20;

/// Maximum number of characters of a listed name.
const MAX_LISTED_CHARS: usize = 100;

/// The diagnostics of one plan.
pub(super) struct Reporter<'a> {
    sources: &'a Sources,
    /// The name of the text; `None` for the plan that is checked itself.
    text: Option<Arc<str>>,
    found: DiagnosticBatch,
    comparisons_left: Cell<usize>,
}

impl<'a> Reporter<'a> {
    /// Creates a reporter for a plan whose places are in `sources`.
    pub(super) fn new(sources: &'a Sources, text: Option<Arc<str>>) -> Self {
        Self {
            sources,
            text,
            found: DiagnosticBatch::default(),
            comparisons_left: Cell::new(MAX_COMPARISONS),
        }
    }

    pub(super) fn error(&self, code: Code, place: Place, message: impl Into<String>) -> Diagnostic {
        self.at_place(Diagnostic::error(code, message), place)
    }

    pub(super) fn warning(
        &self,
        code: Code,
        place: Place,
        message: impl Into<String>,
    ) -> Diagnostic {
        self.at_place(Diagnostic::warning(code, message), place)
    }

    pub(super) fn with_severity(
        &self,
        severity: Severity,
        code: Code,
        place: Place,
        message: String,
    ) -> Diagnostic {
        match severity {
            Severity::Error => self.error(code, place, message),
            Severity::Warning => self.warning(code, place, message),
        }
    }

    pub(super) fn push(&mut self, diagnostic: Diagnostic) {
        self.found.push(diagnostic);
    }

    /// Counts a diagnostic and returns true if the limit is reached, so that the caller can skip formatting. Otherwise
    /// counts nothing.
    pub(super) fn only_counts(&mut self, severity: Severity) -> bool {
        self.found.tally.only_counts(severity)
    }

    pub(super) fn add_all(&mut self, found: DiagnosticBatch) {
        self.found.add_all(found);
    }

    pub(super) fn has_errors(&self) -> bool {
        self.found.tally.has_errors()
    }

    pub(super) fn finish(self) -> DiagnosticBatch {
        self.found
    }

    /// Returns the place of the part of `place` at `path`.
    pub(super) fn descend(&self, place: Place, path: &[PointerSegment]) -> Place {
        self.sources.descend(place, path)
    }

    /// Returns the JSON pointer of `place`, for messages that name a second place.
    pub(super) fn pointer(&self, place: Place) -> Option<String> {
        self.sources.pointer(place)
    }

    /// Returns the known name that `name` was probably meant to be.
    pub(super) fn nearest<'n>(
        &self,
        name: &str,
        known: impl IntoIterator<Item = &'n str>,
    ) -> Option<&'n str> {
        self.nearest_with_distance(name, known)
            .map(|(_, near)| near)
    }

    /// Returns the known name that `name` was probably meant to be, with its distance.
    pub(super) fn nearest_with_distance<'n>(
        &self,
        name: &str,
        known: impl IntoIterator<Item = &'n str>,
    ) -> Option<(usize, &'n str)> {
        // After the budget is spent, names are no longer compared.
        let known = known.into_iter().map_while(|known| {
            let left = self.comparisons_left.get().checked_sub(1)?;
            self.comparisons_left.set(left);
            Some(known)
        });
        nearest_with_distance(name, known)
    }

    /// Returns the nearest known name if no other one is near.
    pub(super) fn unambiguous_nearest<'n>(
        &self,
        name: &str,
        known: impl IntoIterator<Item = &'n str>,
    ) -> Option<&'n str> {
        let known: Vec<&str> = known.into_iter().collect();
        let near = self.nearest(name, known.iter().copied())?;
        // A second candidate makes the suggestion ambiguous.
        let others = known.into_iter().filter(|other| *other != near);
        self.nearest(name, others).is_none().then_some(near)
    }

    /// Suggests the nearest known name, or else lists the known names.
    pub(super) fn advice<'n>(
        &self,
        name: &str,
        kinds: &str,
        known: impl IntoIterator<Item = &'n str>,
    ) -> Option<String> {
        let left = self.comparisons_left.get();
        let known: Vec<&str> = known.into_iter().take(left).collect();
        self.comparisons_left
            // Collecting and sorting a name counts as an eighth of a comparison.
            .set(left.saturating_sub(known.len() / 8));
        match self.nearest(name, known.iter().copied()) {
            Some(near) => Some(format!("did you mean `{near}`?")),
            None => name_list(kinds, known),
        }
    }

    fn at_place(&self, diagnostic: Diagnostic, place: Place) -> Diagnostic {
        // The diagnostic is dropped anyway, and its place is costly to compute.
        if self.found.tally.is_full(diagnostic.severity) {
            return diagnostic;
        }
        let mut diagnostic = diagnostic.at(place, self.sources);
        diagnostic.source.clone_from(&self.text);
        diagnostic
    }
}

/// Diagnostics up to the limit, and a counter of all.
#[derive(Default)]
pub(super) struct DiagnosticBatch {
    shown: Diagnostics,
    tally: Tally,
}

impl DiagnosticBatch {
    fn push(&mut self, diagnostic: Diagnostic) {
        if self.tally.count(diagnostic.severity) {
            self.shown.push(diagnostic);
        }
    }

    pub(super) fn add_all(&mut self, found: Self) {
        for diagnostic in found.shown {
            self.push(diagnostic);
        }
        self.tally.add_omitted(found.tally);
    }

    pub(super) fn sort(&mut self) {
        self.shown.sort();
    }

    /// Returns the diagnostics; the last one mentions the number of omitted ones.
    pub(super) fn finish(mut self) -> Diagnostics {
        self.tally.tell_rest(&mut self.shown);
        self.shown
    }
}

/// Formats `the KINDS are ...`, sorted, or `the only KIND is ...`. Returns `None` without names.
pub(super) fn name_list<'n>(
    kinds: &str,
    known: impl IntoIterator<Item = &'n str>,
) -> Option<String> {
    let mut known: Vec<&str> = known.into_iter().collect();
    known.sort_unstable();
    known.dedup();
    let more = known.len().saturating_sub(MAX_LISTED);
    let mut names: Vec<String> = known
        .iter()
        .take(MAX_LISTED)
        .map(|name| match name.char_indices().nth(MAX_LISTED_CHARS) {
            Some((end, _)) => format!("`{}…`", name.get(..end).unwrap_or_default()),
            None => format!("`{name}`"),
        })
        .collect();
    if names.is_empty() {
        return None;
    }
    if more > 0 {
        names.push(format!("{more} more"));
    }
    if let [only] = names.as_slice() {
        let kind = kinds.strip_suffix('s').unwrap_or(kinds);
        return Some(format!("the only {kind} is {only}"));
    }
    Some(format!("the {kinds} are {}", names.join(", ")))
}
