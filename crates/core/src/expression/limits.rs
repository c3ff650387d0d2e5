//! Limits on the size of expressions, and the budget of an evaluation.

use super::EvaluationError;

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
