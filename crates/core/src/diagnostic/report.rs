//! The diagnostic, and the counter that limits how many are shown.

use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};

use super::{Code, Diagnostics, FlowHop, FlowPath, TextEdit};
use crate::{Place, Sources, Span};

/// A diagnostic: a problem of a plan, with its place and a hint.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Diagnostic {
    /// The kind of problem; `docs/codes/` has a page for each.
    pub code: Code,
    /// The severity.
    pub severity: Severity,
    /// The fact: one lower-case clause, user data in backticks, no full stop.
    pub message: String,
    /// The place as a JSON pointer (RFC 6901) into the text. A pointer longer than the limit is truncated and ends in
    /// `…`.
    pub pointer: String,
    /// The place as bytes of the text; `None` if the plan has no text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub span: Option<Span>,
    /// A hint how to fix the problem.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// The path of the value that the diagnostic is about, one place after the other. Empty except for
    /// violations of the flow policy.
    #[serde(rename = "way", skip_serializing_if = "<[FlowHop]>::is_empty")]
    pub path: FlowPath,
    /// The likely correction, as a change of the plan's value. It may change what the plan does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<Fix>,
    /// Edits of the text that, all together, fix the problem and do not change what the plan does.
    #[serde(skip_serializing_if = "<[TextEdit]>::is_empty")]
    pub fixes: Arc<[TextEdit]>,
    /// The name of the text that pointer and span refer to; `None` for the plan itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<Arc<str>>,
}

/// Maximum number of bytes of a message, a hint or a pointer. Each may quote a name that is as long as the whole text.
pub(crate) const MAX_TEXT_BYTES: usize = 4096;

/// The severity of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// A fact about the reading of the plan, which is neither an error nor a warning.
    Note,
    /// The plan runs, but probably not as intended.
    Warning,
    /// The plan does not run.
    Error,
}

/// A change to the plan's text that fixes a problem.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fix {
    /// The place as a JSON pointer.
    pub pointer: String,
    /// The part to replace.
    #[serde(skip_serializing_if = "FixPart::is_value")]
    pub part: FixPart,
    /// The new text: a JSON string without its quotes.
    pub replacement: String,
}

/// The part that a fix replaces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FixPart {
    /// The value at the pointer.
    #[default]
    Value,
    /// The key of that value in its object.
    Key,
}

impl FixPart {
    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde calls it with a reference"
    )]
    fn is_value(&self) -> bool {
        *self == Self::Value
    }
}

impl Diagnostic {
    /// Creates an error: the plan cannot run.
    pub fn error(code: Code, message: impl Into<String>) -> Self {
        Self::new(code, Severity::Error, message)
    }

    /// Creates a warning: the plan can run.
    pub fn warning(code: Code, message: impl Into<String>) -> Self {
        Self::new(code, Severity::Warning, message)
    }

    /// Creates a note: a fact about the reading of the plan.
    pub fn note(code: Code, message: impl Into<String>) -> Self {
        Self::new(code, Severity::Note, message)
    }

    pub(crate) fn new(code: Code, severity: Severity, message: impl Into<String>) -> Self {
        Self {
            code,
            severity,
            message: message.into(),
            pointer: String::new(),
            span: None,
            help: None,
            path: FlowPath::default(),
            fix: None,
            fixes: Arc::default(),
            source: None,
        }
    }

    /// Sets the place of the diagnostic to `place` in `sources`.
    pub fn at(mut self, place: Place, sources: &Sources) -> Self {
        if let Some(source) = sources.source_of(place) {
            let pointer = source.start_of_pointer(place, MAX_TEXT_BYTES);
            self.pointer = pointer.unwrap_or_default();
            self.span = source.span(place);
        }
        self
    }

    /// Sets the place of a diagnostic about a text that is not part of a plan.
    pub fn at_span(mut self, pointer: impl Into<String>, span: impl Into<Span>) -> Self {
        self.pointer = pointer.into();
        self.span = Some(span.into());
        self
    }

    /// Sets the hint.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Adds a correction that replaces the value at the pointer.
    pub fn fix(self, replacement: impl Into<String>) -> Self {
        self.with_fix(FixPart::Value, replacement.into())
    }

    /// Adds a correction that replaces the key at the pointer.
    pub fn rename(self, replacement: impl Into<String>) -> Self {
        self.with_fix(FixPart::Key, replacement.into())
    }

    /// Sets the edits of the text that fix the problem and do not change what the plan does.
    pub fn fixes(mut self, edits: impl IntoIterator<Item = TextEdit>) -> Self {
        self.fixes = edits.into_iter().collect();
        self
    }

    fn with_fix(mut self, part: FixPart, replacement: String) -> Self {
        self.fix = Some(Fix {
            pointer: self.pointer.clone(),
            part,
            replacement,
        });
        self
    }

    /// Truncates message, hint and pointer to [`MAX_TEXT_BYTES`].
    pub(super) fn with_truncated_texts(mut self) -> Self {
        truncate(&mut self.message);
        if let Some(help) = &mut self.help {
            truncate(help);
        }
        if truncate(&mut self.pointer) {
            // A truncated pointer leads to another value, so the fix must not be applied there.
            self.fix = None;
        }
        self
    }

    /// Returns true if the diagnostic is an error.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// Returns true if the diagnostic is a note.
    pub fn is_note(&self) -> bool {
        self.severity == Severity::Note
    }
}

/// Truncates `text` to the limit and returns true if it was longer.
fn truncate(text: &mut String) -> bool {
    let is_long = MAX_TEXT_BYTES < text.len();
    if is_long {
        text.truncate(text.floor_char_boundary(MAX_TEXT_BYTES));
        text.push('…');
    }
    is_long
}

impl fmt::Display for Diagnostic {
    /// Writes one line for a model: code, place, message, hint.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.code)?;
        if !self.pointer.is_empty() {
            write!(f, " at {}", self.pointer)?;
        }
        if let Some(source) = &self.source {
            write!(f, " of `{source}`")?;
        }
        write!(f, ": {}", self.message)?;
        if let Some(help) = &self.help {
            write!(f, " ({help})")?;
        }
        Ok(())
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Counts diagnostics and decides which are shown: the first [`MAX_SHOWN`](DiagnosticCounter::MAX_SHOWN) of each severity. A hostile plan may
/// cause as many diagnostics as it has characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiagnosticCounter {
    errors: usize,
    /// Warnings and notes.
    warnings: usize,
}

impl DiagnosticCounter {
    /// Maximum number of errors, and of warnings, that are shown.
    pub const MAX_SHOWN: usize = 1_000;

    /// Counts one more diagnostic and returns true if it is to be shown.
    #[must_use = "a diagnostic beyond the limit need not be stored"]
    pub fn count(&mut self, severity: Severity) -> bool {
        let is_shown = !self.is_full(severity);
        *self.counter(severity) += 1;
        is_shown
    }

    /// Counts a diagnostic and returns true if the [limit is reached](Self::is_full), so that callers can skip
    /// formatting. Otherwise counts nothing and returns false.
    #[must_use = "a diagnostic that was not counted is still to be reported"]
    pub fn count_if_full(&mut self, severity: Severity) -> bool {
        self.is_full(severity) && !self.count(severity)
    }

    /// Returns true if the limit for `severity` is reached.
    pub fn is_full(&self, severity: Severity) -> bool {
        let counted = match severity {
            Severity::Error => self.errors,
            Severity::Warning | Severity::Note => self.warnings,
        };
        counted >= Self::MAX_SHOWN
    }

    /// Adds the diagnostics of `other` beyond its limit.
    pub fn add_omitted(&mut self, other: Self) {
        self.errors += other.errors.saturating_sub(Self::MAX_SHOWN);
        self.warnings += other.warnings.saturating_sub(Self::MAX_SHOWN);
    }

    /// Returns true if an error was counted.
    pub fn has_errors(&self) -> bool {
        self.errors > 0
    }

    /// Returns the number of diagnostics counted.
    pub fn total(&self) -> usize {
        self.errors + self.warnings
    }

    /// Adds the number of omitted diagnostics to the last of those in `shown`.
    pub fn note_rest_omitted(&self, shown: &mut Diagnostics) {
        let mut omitted = Self::default();
        omitted.add_omitted(*self);
        if omitted.total() > 0 {
            shown.note_omitted(omitted.total());
        }
    }

    fn counter(&mut self, severity: Severity) -> &mut usize {
        match severity {
            Severity::Error => &mut self.errors,
            Severity::Warning | Severity::Note => &mut self.warnings,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Code, Diagnostic, DiagnosticCounter, Diagnostics, MAX_TEXT_BYTES, Severity};

    #[test]
    fn diagnostics_are_truncated() {
        let check = |letter: &str, count: usize, expected: &str| {
            let text = letter.repeat(count);
            let diagnostic = Diagnostic::error(Code::UnknownTool, text.as_str())
                .help(text.as_str())
                .at_span(text, 0..1)
                .fix("known");
            let mut pushed = Diagnostics::new();
            pushed.push(diagnostic.clone());
            let collected = Diagnostics::from_iter([diagnostic]);
            assert_eq!(pushed, collected);
            for diagnostic in &pushed {
                assert_eq!(diagnostic.message, expected);
                assert_eq!(diagnostic.help.as_deref(), Some(expected));
                assert_eq!(diagnostic.pointer, expected);
                // A truncated pointer leads elsewhere, so the fix is dropped.
                assert_eq!(
                    diagnostic.fix.is_some(),
                    count * letter.len() <= MAX_TEXT_BYTES
                );
            }
        };
        let whole = "x".repeat(MAX_TEXT_BYTES);
        check("x", MAX_TEXT_BYTES, &whole);
        check("x", MAX_TEXT_BYTES + 1, &format!("{whole}…"));
        check(
            "東",
            MAX_TEXT_BYTES,
            &format!("{}…", "東".repeat(MAX_TEXT_BYTES / 3)),
        );
    }

    fn tally(errors: usize, warnings: usize) -> (DiagnosticCounter, usize) {
        let severities = std::iter::repeat_n(Severity::Error, errors)
            .chain(std::iter::repeat_n(Severity::Warning, warnings));
        let mut tally = DiagnosticCounter::default();
        let shown = severities.filter(|severity| tally.count(*severity)).count();
        (tally, shown)
    }

    fn check(errors: usize, warnings: usize, shown: usize, rest: Option<&str>) {
        let (tally, counted) = tally(errors, warnings);
        assert_eq!(counted, shown);
        assert_eq!(tally.total(), errors + warnings);
        assert_eq!(tally.has_errors(), errors > 0);
        let only = Diagnostic::warning(Code::UnknownTool, "`a` is unknown");
        let mut diagnostics: Diagnostics = [only].into_iter().collect();
        tally.note_rest_omitted(&mut diagnostics);
        let help = diagnostics.iter().next().and_then(|it| it.help.as_deref());
        assert_eq!(help, rest);
        assert_eq!(diagnostics.mentions_omitted(), rest.is_some());
    }

    #[test]
    fn each_severity_is_shown_up_to_its_limit() {
        check(0, 0, 0, None);
        check(1, 1000, 1001, None);
        check(0, 1001, 1000, Some("1 further diagnostic is not shown"));
        check(
            1002,
            1003,
            2000,
            Some("5 further diagnostics are not shown"),
        );
    }

    #[test]
    fn omitted_diagnostics_are_only_counted() {
        let (mut full, _) = tally(1000, 0);
        assert!(full.count_if_full(Severity::Error));
        assert!(!full.count_if_full(Severity::Warning));
        assert_eq!(full.total(), 1001);
        let (other, _) = tally(1, 1007);
        full.add_omitted(other);
        assert_eq!(full.total(), 1008);
    }
}
