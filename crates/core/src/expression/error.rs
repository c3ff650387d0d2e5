//! What can be wrong with the text of an expression, and what can go wrong in computing it.

use std::fmt;

/// What is wrong with a text between `${` and `}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpressionError {
    /// What is the matter: one lower-case clause.
    pub message: String,
    /// The way out, where there is one.
    pub help: Option<String>,
    /// Where: a byte of the text.
    pub offset: usize,
    /// Which kind of mistake it is.
    pub kind: ExpressionErrorKind,
}

/// The kinds of mistakes in a text between `${` and `}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpressionErrorKind {
    /// A path or an alternative is malformed.
    Reference,
    /// A computation is malformed.
    Expression,
    /// The text is too long or nested too deeply.
    TooLarge,
}

impl ExpressionError {
    pub(super) fn new(message: impl Into<String>, offset: usize) -> Self {
        Self {
            message: message.into(),
            help: None,
            offset,
            kind: ExpressionErrorKind::Expression,
        }
    }

    pub(super) fn reference(message: impl Into<String>, offset: usize) -> Self {
        Self {
            kind: ExpressionErrorKind::Reference,
            ..Self::new(message, offset)
        }
    }

    pub(super) fn too_large(message: impl Into<String>, offset: usize) -> Self {
        Self {
            kind: ExpressionErrorKind::TooLarge,
            ..Self::new(message, offset)
        }
    }

    pub(super) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

impl fmt::Display for ExpressionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ExpressionError {}

/// Why an expression gave no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EvaluationError {
    /// A part that it reads does not exist. A later alternative may serve.
    Missing(String),
    /// It asks for more work than it is allowed.
    TooCostly {
        /// The units of work that were allowed.
        limit: u64,
    },
    /// It cannot be computed from these values.
    Failed(String),
}

impl fmt::Display for EvaluationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(message) | Self::Failed(message) => f.write_str(message),
            Self::TooCostly { limit } => {
                write!(f, "the expression needs more than {limit} units of work")
            }
        }
    }
}

impl std::error::Error for EvaluationError {}

impl From<crate::path::PathError> for EvaluationError {
    fn from(error: crate::path::PathError) -> Self {
        Self::Missing(error.message)
    }
}
