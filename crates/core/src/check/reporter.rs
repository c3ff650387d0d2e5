//! The reporter: collects the diagnostics of one plan and words suggestions.

use std::cell::Cell;
use std::sync::Arc;

use crate::diagnostic::DiagnosticCounter;
use crate::{Code, Diagnostic, Diagnostics, Place, PointerSegment, Severity, Sources};

/// Maximum number of name comparisons for suggestions, so that they never cost more than the check itself.
const MAX_COMPARISONS: usize = 100_000;

/// Maximum number of names in a list of known names.
const MAX_LISTED: usize = 20;

/// Maximum number of characters of a listed name.
const MAX_LISTED_CHARS: usize = 100;

/// Maximum length of a compared name. Longer names are rarely mistyped, and the cost is quadratic.
const MAX_NAME_BYTES: usize = 64;

/// Minimum length of a name that is searched for inside others.
const MIN_PART_CHARS: usize = 4;

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
        self.at_place(Diagnostic::new(code, severity, message), place)
    }

    pub(super) fn push(&mut self, mut diagnostic: Diagnostic) {
        diagnostic.help = diagnostic.help.map(with_escapes);
        self.found.push(diagnostic);
    }

    /// Counts a diagnostic and returns true if the limit is reached, so that the caller can skip formatting. Otherwise
    /// counts nothing.
    pub(super) fn count_if_full(&mut self, severity: Severity) -> bool {
        self.found.tally.count_if_full(severity)
    }

    pub(super) fn add_all(&mut self, found: DiagnosticBatch) {
        self.found.add_all(found);
    }

    /// Adds the violations of the flow policy, which are worded when a caller reads them, and `more` diagnostics after them.
    pub(super) fn push_violations(&mut self, violations: Diagnostics, more: Vec<Diagnostic>) {
        self.found.violations = violations;
        self.found.after_violations = more;
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

    /// Returns the text at `place`, as it is written.
    pub(super) fn written(&self, place: Place) -> Option<&'a str> {
        let source = self.sources.source_of(place)?;
        let span = source.span(place)?;
        source.text().get(span.start..span.end)
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
        nearest_of(name, known)
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
    tally: DiagnosticCounter,
    /// The violations of the flow policy by a main plan. A plan may have a thousand of them.
    violations: Diagnostics,
    after_violations: Vec<Diagnostic>,
}

impl DiagnosticBatch {
    /// Adds a diagnostic, once for each place: an expression may read the same part several times.
    pub(super) fn push(&mut self, diagnostic: Diagnostic) {
        let mut at_place = self.shown.iter().rev().take_while(|known| {
            known.pointer == diagnostic.pointer && known.source == diagnostic.source
        });
        if at_place.any(|known| *known == diagnostic) {
            return;
        }
        if self.tally.count(diagnostic.severity) {
            self.shown.push(diagnostic);
        }
    }

    pub(super) fn add_all(&mut self, found: Self) {
        let violations = found.violations.into_iter().chain(found.after_violations);
        for diagnostic in found.shown.into_iter().chain(violations) {
            self.push(diagnostic);
        }
        self.tally.add_omitted(found.tally);
    }

    /// Returns the diagnostics in the order in which they were found; the last one mentions the number of omitted ones.
    pub(super) fn finish(mut self) -> Diagnostics {
        self.add_violations();
        self.tally.note_rest_omitted(&mut self.shown);
        self.shown
    }

    /// Returns the diagnostics in the order of the text. Violations are worded when a caller reads the list.
    pub(super) fn finish_in_order(self) -> Diagnostics {
        let sorted = |mut batch: Self| {
            batch.add_violations();
            batch.shown.sort();
            batch.finish()
        };
        if self.violations.is_empty() {
            return sorted(self);
        }
        let severity = if self.tally.has_errors() || self.violations.has_errors() {
            Severity::Error
        } else {
            Severity::Warning
        };
        Diagnostics::deferred(severity, move || sorted(self))
    }

    fn add_violations(&mut self) {
        let violations = std::mem::take(&mut self.violations).into_iter();
        for diagnostic in violations.chain(std::mem::take(&mut self.after_violations)) {
            self.push(diagnostic);
        }
    }
}

/// The hint `help` with escapes in place of the line breaks and tabs in the texts of its expressions: a page shows them as blanks.
fn with_escapes(help: String) -> String {
    if !help.contains(['\n', '\t', '\r']) {
        return help;
    }
    let mut written = String::with_capacity(help.len());
    let mut quote = None;
    for sign in help.chars() {
        match (quote, sign) {
            (Some(_), '\n') => written.push_str("\\n"),
            (Some(_), '\t') => written.push_str("\\t"),
            (Some(_), '\r') => written.push_str("\\r"),
            (_, sign) => written.push(sign),
        }
        quote = match (quote, sign) {
            (None, '\'' | '"') => Some(sign),
            (Some(open), sign) if open == sign => None,
            (quote, _) => quote,
        };
    }
    written
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

/// Returns the known name that `name` was probably meant to be, with its distance. At most a third of the letters
/// differ, or one name contains the other; then the distance is the difference of their lengths.
fn nearest_of<'a>(
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<(usize, &'a str)> {
    if name.len() > MAX_NAME_BYTES {
        return None;
    }
    let lower = name.to_lowercase();
    let length = lower.chars().count();
    // In names of one or two letters any difference is too much.
    let allowed = match length {
        0..=2 => 0,
        more => more / 3,
    };
    let mut best: Option<(usize, &str)> = None;
    for candidate in known {
        if candidate.len() > MAX_NAME_BYTES {
            continue;
        }
        let other = candidate.to_lowercase();
        // The distance is at least the difference of the lengths, so it need not be computed.
        let distance = if other.chars().count().abs_diff(length) <= allowed {
            strsim::osa_distance(&lower, &other)
        } else {
            usize::MAX
        };
        let is_part = length >= MIN_PART_CHARS
            && other.len() >= MIN_PART_CHARS
            && (other.contains(&lower) || lower.contains(&other));
        let rank = if distance <= allowed {
            distance
        } else if is_part {
            // A contained name has a larger distance than any name with few differing letters.
            other.len().abs_diff(lower.len())
        } else {
            continue;
        };
        if best.is_none_or(|(known, _)| rank < known) {
            best = Some((rank, candidate));
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::{nearest_of, with_escapes};

    #[test]
    fn line_breaks_in_texts_are_escaped() {
        fn check(help: &str, expected: &str) {
            assert_eq!(with_escapes(help.to_owned()), expected);
        }

        check("write `${a.join('\n')}`", "write `${a.join('\\n')}`");
        check(
            "write `${a +\n\"\t'\r\" + '\\n'}`",
            "write `${a +\n\"\\t'\\r\" + '\\n'}`",
        );
    }

    #[test]
    fn the_nearest_name_is_found() {
        fn check(name: &str, known: &[&str], expected: Option<&str>) {
            let near = nearest_of(name, known.iter().copied());
            assert_eq!(near.map(|(_, near)| near), expected, "{name}");
        }

        check(
            "get_wether",
            &["get_weather", "get_time"],
            Some("get_weather"),
        );
        check("GetWeather", &["getweather"], Some("getweather"));
        check("totl", &["rows", "total"], Some("total"));
        check("alpah", &["zeta", "alpha"], Some("alpha"));
        check(
            "weather",
            &["get_weather", "weather_report_long"],
            Some("get_weather"),
        );
        check("x", &["y", "long"], None);
        check("X", &["y", "x"], Some("x"));
        check("abc", &["abd"], Some("abd"));
        check("ghost", &["alpha", "zeta"], None);
        check("", &["alpha"], None);
        check(&"a".repeat(100), &["a"], None);
        // Names at the maximum length are compared, longer ones are not.
        let (longest, longer) = ("a".repeat(64), "a".repeat(65));
        check(&longest, &[&longest], Some(&longest));
        check(&longest, &[&longer], None);
        check(&longer, &[&longer], None);
        // The nearest name wins; among equally near ones, the first.
        check("abcdef", &["abxyef", "abcdeg", "abcdeh"], Some("abcdeg"));
        check(
            "weather",
            &["weather_in_town", "weather_here"],
            Some("weather_here"),
        );
    }
}
