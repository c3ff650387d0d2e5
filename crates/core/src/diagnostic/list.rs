//! The list of all diagnostics about a plan.

use std::fmt;
use std::sync::{Arc, LazyLock};

use serde::{Serialize, Serializer};

use super::{Diagnostic, Severity};

/// Suffixes after the number of omitted diagnostics, for several and for one.
const OMITTED_SUFFIXES: [&str; 2] = [
    " further diagnostics are not shown",
    " further diagnostic is not shown",
];

/// A list of diagnostics, in the order in which they were reported. Clones share it.
///
/// The diagnostics of a large plan may be worded when the list is first read: a caller that only asks whether there are errors
/// does not pay for the words.
#[derive(Clone, Default)]
#[must_use = "unread diagnostics are lost"]
pub struct Diagnostics {
    worded: Arc<Vec<Diagnostic>>,
    /// In place of `worded`, diagnostics that are worded when they are read.
    deferred: Option<Arc<Deferred>>,
}

/// At least one diagnostic.
struct Deferred {
    /// The highest severity among them.
    severity: Severity,
    list: LazyLock<Vec<Diagnostic>, Words>,
}

type Words = Box<dyn FnOnce() -> Vec<Diagnostic> + Send + Sync>;

impl Diagnostics {
    /// Creates an empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a list, which is not empty, of diagnostics that `word` words when they are read. `severity` is the highest one
    /// among them.
    pub(crate) fn deferred(
        severity: Severity,
        word: impl FnOnce() -> Diagnostics + Send + Sync + 'static,
    ) -> Self {
        let word: Words = Box::new(|| word().into_iter().collect());
        let list = LazyLock::new(word);
        Self {
            worded: Arc::default(),
            deferred: Some(Arc::new(Deferred { severity, list })),
        }
    }

    fn list(&self) -> &[Diagnostic] {
        match &self.deferred {
            Some(deferred) => &deferred.list,
            None => &self.worded,
        }
    }

    fn list_mut(&mut self) -> &mut Vec<Diagnostic> {
        if let Some(mut deferred) = self.deferred.take() {
            self.worded = Arc::new(match Arc::get_mut(&mut deferred) {
                Some(own) => std::mem::take(LazyLock::force_mut(&mut own.list)),
                None => deferred.list.to_vec(),
            });
        }
        Arc::make_mut(&mut self.worded)
    }

    fn severity(&self) -> Option<Severity> {
        match &self.deferred {
            Some(deferred) => Some(deferred.severity),
            None => self.worded.iter().map(|found| found.severity).max(),
        }
    }

    /// Adds a diagnostic, with its texts truncated.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        // Every way into the list truncates, so that no reader has to.
        self.list_mut().push(diagnostic.with_truncated_texts());
    }

    /// Adds all diagnostics of `other`.
    pub fn extend(&mut self, other: Diagnostics) {
        if self.is_empty() {
            *self = other;
        } else {
            self.list_mut().extend(other);
        }
    }

    /// Turns all warnings into errors. Notes stay notes.
    pub fn raise(&mut self) {
        for diagnostic in self.iter_mut().filter(|found| !found.is_note()) {
            diagnostic.severity = Severity::Error;
        }
    }

    /// Returns true if the list contains an error.
    pub fn has_errors(&self) -> bool {
        self.severity() == Some(Severity::Error)
    }

    /// Returns true if the list contains an error or a warning.
    pub fn has_problems(&self) -> bool {
        self.severity() > Some(Severity::Note)
    }

    /// Returns true if the list is empty.
    pub fn is_empty(&self) -> bool {
        self.deferred.is_none() && self.worded.is_empty()
    }

    /// Returns the number of diagnostics.
    pub fn len(&self) -> usize {
        self.list().len()
    }

    /// Iterates over the diagnostics.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.list().iter()
    }

    /// Iterates over the diagnostics, mutably.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, Diagnostic> {
        self.list_mut().iter_mut()
    }

    /// Adds to the hint of the last diagnostic that `more` (a number or a phrase) diagnostics were omitted.
    pub fn note_omitted(&mut self, more: impl fmt::Display) {
        if let Some(last) = self.list_mut().last_mut() {
            let mut more = more.to_string();
            let [several, only] = OMITTED_SUFFIXES;
            more.push_str(if more == "1" { only } else { several });
            last.help = Some(match last.help.take() {
                Some(help) => format!("{help}; {more}"),
                None => more,
            });
        }
    }

    /// Returns true if a diagnostic mentions [omitted ones](Self::note_omitted).
    pub fn mentions_omitted(&self) -> bool {
        self.list().iter().any(mentions_omitted)
    }

    /// Sorts by place in the text, errors before warnings at the same place. Diagnostics in other texts come last.
    pub fn sort(&mut self) {
        // The sort is stable, so diagnostics at the same place keep the order of the passes.
        self.list_mut().sort_by(|a, b| {
            let start = |found: &Diagnostic| found.span.map(|span| span.start);
            a.source
                .cmp(&b.source)
                .then_with(|| start(a).cmp(&start(b)))
                .then_with(|| b.severity.cmp(&a.severity))
        });
    }
}

/// The sentence that a model reads in place of violations of the flow policy. It names neither values nor paths, so that an
/// attacker who speaks through the model learns nothing from it.
pub const FLOW_REFUSAL: &str = "the flow policy of the owner of these tools forbids this use of their data; the owner can see the reason";

impl Diagnostics {
    /// Returns the diagnostics that a model may read, and whether [`FLOW_REFUSAL`] takes the place of errors among the
    /// others.
    pub fn for_model(&self) -> (impl Iterator<Item = &Diagnostic>, bool) {
        let all = self.list().iter();
        let is_refused = all
            .clone()
            .any(|found| found.code.is_flow() && found.is_error());
        (all.filter(|found| !found.code.is_flow()), is_refused)
    }
}

impl fmt::Display for Diagnostics {
    /// Writes one line per diagnostic, for a model.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (shown, is_refused) = self.for_model();
        let mut separator = "";
        for diagnostic in shown {
            write!(f, "{separator}{diagnostic}")?;
            separator = "\n";
        }
        if is_refused {
            write!(f, "{separator}{FLOW_REFUSAL}")?;
        }
        Ok(())
    }
}

impl IntoIterator for Diagnostics {
    type Item = Diagnostic;
    type IntoIter = std::vec::IntoIter<Diagnostic>;

    fn into_iter(mut self) -> Self::IntoIter {
        std::mem::take(self.list_mut()).into_iter()
    }
}

impl<'a> IntoIterator for &'a mut Diagnostics {
    type Item = &'a mut Diagnostic;
    type IntoIter = std::slice::IterMut<'a, Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

impl<'a> IntoIterator for &'a Diagnostics {
    type Item = &'a Diagnostic;
    type IntoIter = std::slice::Iter<'a, Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.list().iter()
    }
}

impl FromIterator<Diagnostic> for Diagnostics {
    fn from_iter<T: IntoIterator<Item = Diagnostic>>(diagnostics: T) -> Self {
        let diagnostics = diagnostics
            .into_iter()
            .map(Diagnostic::with_truncated_texts);
        Self {
            worded: Arc::new(diagnostics.collect()),
            deferred: None,
        }
    }
}

impl PartialEq for Diagnostics {
    fn eq(&self, other: &Self) -> bool {
        self.list() == other.list()
    }
}

impl fmt::Debug for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.list()).finish()
    }
}

impl Serialize for Diagnostics {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.list().serialize(serializer)
    }
}

fn mentions_omitted(diagnostic: &Diagnostic) -> bool {
    let help = diagnostic.help.as_deref();
    help.is_some_and(|help| OMITTED_SUFFIXES.iter().any(|suffix| help.ends_with(suffix)))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::{Diagnostic, Diagnostics, Severity};
    use crate::Code;

    #[test]
    fn deferred_diagnostics_are_worded_once_when_they_are_read() {
        let counter = Arc::new(AtomicUsize::new(0));
        let worded = Arc::clone(&counter);
        let warning = || Diagnostic::warning(Code::UnknownTool, "`a` is unknown");
        let list = Diagnostics::deferred(Severity::Warning, move || {
            worded.fetch_add(1, Ordering::Relaxed);
            [warning()].into_iter().collect()
        });
        let mut raised = list.clone();
        assert!(!list.is_empty() && list.has_problems() && !list.has_errors());
        assert_eq!(counter.load(Ordering::Relaxed), 0);
        assert_eq!(list, [warning()].into_iter().collect());
        raised.raise();
        raised.push(warning());
        assert!(raised.has_errors());
        assert_eq!((list.len(), raised.len()), (1, 2));
        assert_eq!(counter.load(Ordering::Relaxed), 1);
    }
}
