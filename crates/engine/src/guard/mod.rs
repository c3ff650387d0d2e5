//! Guards against runaway runs: bounds on calls, bytes, time and rates.
//!
//! They are as pure as the scheduler: callers pass the time. Each attempt is counted before it is sent, so concurrent
//! calls cannot exceed a budget together.
//!
//! Design: [Budgets and limits](https://github.com/planwright/planwright/blob/main/docs/design/budgets.md).

mod budgets;
mod guards;

pub use guards::{Bound, Guards, Rate, WrittenMeter};
pub(crate) use guards::{MAX_LEVELS, WrittenBudget, written_bytes};

pub(crate) use budgets::BudgetGuard;

#[cfg(test)]
mod tests;
