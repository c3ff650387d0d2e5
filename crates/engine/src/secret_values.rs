//! Values of `env` and `secrets` references: texts that go into calls and appear nowhere else. They are redacted in
//! everything that a run reports.

use std::fmt;
use std::sync::Arc;

use indexmap::IndexMap;
use planwright_core::plan::ExternalValue;

use crate::run::MASK;

/// Values of `env` and `secrets` references: texts that go into calls and appear nowhere else. They are redacted in
/// everything that a run reports.
#[derive(Clone, Default)]
pub struct SecretValues {
    texts: IndexMap<(ExternalValue, Arc<str>), Arc<str>>,
    /// True if a name without a value resolves to `[redacted]`.
    is_masked: bool,
}

impl SecretValues {
    /// Creates an empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a set that resolves every name to `[redacted]`, for runs that call no tool.
    pub fn masked() -> Self {
        Self {
            is_masked: true,
            ..Self::default()
        }
    }

    /// Adds a text. It replaces an earlier one of the same name.
    #[must_use]
    pub fn with(
        mut self,
        what: ExternalValue,
        name: impl Into<Arc<str>>,
        text: impl Into<Arc<str>>,
    ) -> Self {
        self.texts.insert((what, name.into()), text.into());
        self
    }

    /// The text of that name.
    pub(crate) fn get(&self, what: ExternalValue, name: &str) -> Option<Arc<str>> {
        let found = self.texts.get(&(what, Arc::from(name))).map(Arc::clone);
        found.or_else(|| self.is_masked.then(|| Arc::from(MASK)))
    }

    /// All texts.
    pub(crate) fn texts(&self) -> impl Iterator<Item = Arc<str>> {
        let mask = self.is_masked.then(|| Arc::from(MASK));
        self.texts.values().cloned().chain(mask)
    }
}

impl fmt::Debug for SecretValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.texts.keys();
        f.debug_list()
            .entries(names.map(|(what, name)| format!("{what}.{name}")))
            .finish()
    }
}
