//! Limits: the size of an expression, and the work of one evaluation, counted in units.

use super::EvaluationError;

/// The most characters between `${` and `}`.
pub const LONGEST_TEXT: usize = 4000;

/// The most brackets, arguments and branches inside of each other.
pub const MAX_EXPRESSION_DEPTH: usize = 32;

/// What one evaluation is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvaluationLimits {
    /// Units of work: one for each operation, for each item and for every eight bytes of text that is looked at or
    /// made. A million take well under a second.
    pub cost: u64,
}

impl Default for EvaluationLimits {
    fn default() -> Self {
        Self { cost: 1_000_000 }
    }
}

/// What is left of the allowance.
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
        self.left = left.unwrap_or(0);
        left.map(drop)
            .ok_or(EvaluationError::TooCostly { limit: self.limit })
    }

    /// Spends for looking at or making `bytes` of text.
    pub(super) fn spend_text(&mut self, bytes: usize) -> Result<(), EvaluationError> {
        self.spend(1 + bytes / 8)
    }
}
