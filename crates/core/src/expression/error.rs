//! Errors and limits of expressions.

use std::fmt;

use crate::Value;
use crate::path::with_article;

/// An error in a text between `${` and `}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpressionError {
    /// The fact: one lower-case clause.
    pub message: String,
    /// A hint how to fix the text.
    pub help: Option<String>,
    /// The byte offset in the text.
    pub offset: usize,
    /// The kind of error.
    pub kind: ExpressionErrorKind,
}

/// The kind of an error in a text between `${` and `}`.
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

/// The reason why an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EvaluationError {
    /// A part that the expression reads does not exist. A later alternative may apply.
    Missing(String),
    /// The evaluation exceeds its budget.
    TooCostly {
        /// The allowed units of work.
        limit: u64,
    },
    /// The operation cannot be applied to these values.
    Failed(String),
}

impl EvaluationError {
    pub(super) fn failed(message: impl Into<String>) -> Self {
        Self::Failed(message.into())
    }

    /// Returns the error that the function `name` does not apply to `values`.
    pub(super) fn unsupported(name: &str, values: &[Value]) -> Self {
        let kinds: Vec<&str> = values.iter().map(with_article).collect();
        Self::failed(format!("`{name}` does not work on {}", kinds.join(" and ")))
    }
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

/// Maximum number of characters between `${` and `}`.
pub const MAX_EXPRESSION_CHARS: usize = 4000;

/// Maximum nesting of brackets, arguments and branches, which bounds the recursion of parser and evaluation.
pub const MAX_EXPRESSION_DEPTH: usize = 32;

/// The limits of one evaluation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvaluationLimits {
    /// The budget in units of work: one for each operation, each item, and every eight bytes of text read or written. A
    /// million units take well under a second.
    pub cost: u64,
}

impl Default for EvaluationLimits {
    fn default() -> Self {
        Self { cost: 1_000_000 }
    }
}

/// The remaining budget of an evaluation.
#[derive(Debug)]
pub(super) struct EvaluationBudget {
    limit: u64,
    left: u64,
}

impl EvaluationBudget {
    pub(super) fn new(limits: &EvaluationLimits) -> Self {
        Self {
            limit: limits.cost,
            left: limits.cost,
        }
    }

    pub(super) fn spend(&mut self, units: usize) -> Result<(), EvaluationError> {
        let units = u64::try_from(units).unwrap_or(u64::MAX);
        let left = self.left.checked_sub(units);
        // A spent budget stays spent: `has` and `??` must not continue after it.
        self.left = left.unwrap_or(0);
        left.map(drop)
            .ok_or(EvaluationError::TooCostly { limit: self.limit })
    }

    /// Spends the units for reading or writing `bytes` of text.
    pub(super) fn spend_text(&mut self, bytes: usize) -> Result<(), EvaluationError> {
        self.spend(1 + bytes / 8)
    }
}
