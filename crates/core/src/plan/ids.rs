//! Names that must not be mistaken for any other text.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

/// A step's id: unique within its plan, any text but a blank one.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct StepId(Arc<str>);

impl StepId {
    /// The id that is written `text`.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    /// The id as it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The id as shared text.
    pub fn text(&self) -> &Arc<str> {
        &self.0
    }
}

impl fmt::Display for StepId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for StepId {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl std::borrow::Borrow<str> for StepId {
    fn borrow(&self) -> &str {
        &self.0
    }
}
