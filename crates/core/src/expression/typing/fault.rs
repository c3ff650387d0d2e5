//! The mistakes that type inference finds in expressions.

use crate::Severity;
use crate::plan::{Path, Segment};
use crate::schema::KnownFields;

/// A part of an expression that cannot have a value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TypeFault {
    /// [`Severity::Error`] if the part is certainly wrong, else the run may succeed.
    pub(crate) severity: Severity,
    /// The kind of mistake.
    pub(crate) kind: TypeFaultKind,
    /// A hint how to fix the expression.
    pub(crate) help: Option<String>,
}

/// The kind of a [`TypeFault`].
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TypeFaultKind {
    /// An operation does not apply to its operands; one lower-case clause says why.
    Operation(String),
    /// A path exists in no value of the type.
    Impossible(FailedPath),
    /// A path leads to a field that an open type does not list.
    Unlisted(FailedPath),
}

/// A path that cannot be followed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FailedPath {
    /// The value at which the path begins, for messages.
    pub(crate) base: String,
    /// The path.
    pub(crate) path: Path,
    /// The number of segments that exist.
    pub(crate) matched: usize,
    /// The fields at the place where the path fails.
    pub(crate) known: KnownFields,
}

impl FailedPath {
    /// Returns the segment that fails.
    pub(crate) fn failing(&self) -> Option<&Segment> {
        self.path.get(self.matched)
    }
}
