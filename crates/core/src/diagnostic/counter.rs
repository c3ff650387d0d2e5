//! A counter that limits how many diagnostics are shown.

use super::{Diagnostics, Severity};

/// Counts diagnostics and decides which are shown: the first [`MAX_SHOWN`](DiagnosticCounter::MAX_SHOWN) of each severity. A hostile plan may
/// cause as many diagnostics as it has characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiagnosticCounter {
    errors: usize,
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
            Severity::Warning => self.warnings,
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
            Severity::Warning => &mut self.warnings,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{DiagnosticCounter, Diagnostics, Severity};
    use crate::{Code, Diagnostic};

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
